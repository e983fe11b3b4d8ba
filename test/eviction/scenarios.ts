import assert from "node:assert/strict";
import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";

/** A node on which pressure is created, with an API server. On this machine or in a guest. */
export interface EvictionNode {
  /** Adds a pod to this node without a scheduler, which would hold the pod back while the node is tainted. */
  addPod(name: string, container: Partial<Container>, spec?: Partial<PodSpec>): Promise<unknown>;
  pod(name: string): Promise<Pod | undefined>;
  deletePod(name: string): Promise<unknown>;
  /** The status of a condition of the node. */
  condition(type: string): Promise<string | undefined>;
  /** Messages of events with this reason: of the pod, or of the node without a name. */
  events(reason: string, pod?: string): Promise<string[]>;
  /** IDs of the running containers of a pod, from the runtime. */
  running(pod: string): Promise<string[]>;
  /** An image that no pod uses, of this size. */
  importImage(name: string, bytes: number): Promise<void>;
  images(): Promise<string[]>;
  waitFor<T>(check: () => Promise<T> | T): Promise<T>;
  killAgent(): Promise<void>;
  startAgent(): Promise<void>;
  /** The content of a file in the agent's root directory; "" if it does not exist. */
  rootFile(name: string): Promise<string>;
}

const mi = 2 ** 20;

/** The disk of the node that the scenarios need. */
export const disk = { bytes: 480 * mi, inodes: 16_384 };
/** Memory of all pods together. */
export const podsMemory = 400 * mi;
/** How many more processes than now the node may have. */
const moreProcesses = 1000;

/** The configuration of the agent, for a machine with this much memory and this many process IDs left. */
export function evictionConfig(machine: { readonly memoryBytes: number; readonly freePids: number }) {
  return {
    enforceNodeAllocatable: ["pods"],
    systemReserved: { memory: String(machine.memoryBytes - podsMemory) },
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "150Mi",
      "nodefs.inodesFree": "4000",
      "pid.available": String(machine.freePids - moreProcesses),
    },
    evictionPressureTransitionPeriod: "15s",
    imageMinimumGCAge: "1s",
    volumeStatsAggPeriod: "2s",
    nodeStatusUpdateFrequency: "5s",
    podPidsLimit: 4000,
  };
}

const script = (text: string): Partial<Container> => ({
  command: ["sh", "-c", `trap 'exit 0' TERM; ${text}; while true; do sleep 1000 & wait; done`],
});
const emptyDir = () => ({
  spec: { volumes: [{ name: "data", emptyDir: {} }] },
  mount: { volumeMounts: [{ name: "data", mountPath: "/data" }] },
});
/** A volume in memory is limited to what a single pod can request: two use more than that. */
const memoryFiller = {
  container: {
    ...script("for v in a b; do dd if=/dev/zero of=/$v/x bs=1M count=165; done"),
    volumeMounts: ["a", "b"].map((name) => ({ name, mountPath: `/${name}` })),
  },
  spec: { volumes: ["a", "b"].map((name) => ({ name, emptyDir: { medium: "Memory" } })) },
};
const steady = { resources: { requests: { memory: "64Mi", "ephemeral-storage": "50Mi" } } };

async function runs(node: EvictionNode, name: string): Promise<string> {
  return node.waitFor(async () => {
    assert.equal((await node.pod(name))?.status?.phase, "Running");
    const [id] = await node.running(name);
    assert.ok(id);
    return id;
  });
}

/** Runs the scenario alongside a pod that stays within its requests, and checks that this pod is not affected. */
async function alongsideSteadyPod(node: EvictionNode, act: () => Promise<void>): Promise<void> {
  await node.addPod("steady", { ...script("true"), ...steady });
  const id = await runs(node, "steady");
  await act();
  assert.deepEqual(await node.running("steady"), [id], "the other pod keeps running");
  await node.deletePod("steady");
}

async function isEvicted(node: EvictionNode, name: string, message: RegExp): Promise<Pod> {
  const pod = await node.waitFor(async () => {
    const found = await node.pod(name);
    assert.equal(found?.status?.phase, "Failed", JSON.stringify(found?.status));
    return found;
  });
  assert.equal(pod?.status?.reason, "Evicted");
  assert.match(pod?.status?.message ?? "", message);
  assert.deepEqual(await node.running(name), []);
  await node.waitFor(async () => assert.equal((await node.events("Evicted", name)).length, 1));
  return pod!;
}

function isDisrupted({ status }: Pod): void {
  const found = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  assert.deepEqual([found?.status, found?.reason], ["True", "TerminationByKubelet"]);
  assert.equal(found?.message, status?.message);
}

/** The node has the condition, rejects such a pod, and accepts it again when the transition period is over. */
async function rejectsUntilRecovered(
  node: EvictionNode,
  condition: string,
  rejected: Partial<Container> = {},
) {
  await node.waitFor(async () => assert.equal(await node.condition(condition), "True"));
  await node.addPod("late", { ...script("true"), ...rejected });
  await node.waitFor(async () => {
    const { status } = (await node.pod("late")) ?? {};
    assert.deepEqual([status?.phase, status?.reason], ["Failed", "Evicted"], JSON.stringify(status));
    assert.equal(status?.message, `Pod was rejected: The node had condition: [${condition}]. `);
  });
  await node.deletePod("late");
  await node.waitFor(async () => assert.equal(await node.condition(condition), "False"));
  await node.addPod("later", { ...script("true"), ...rejected });
  await runs(node, "later");
  await node.deletePod("later");
}

async function remove(node: EvictionNode, ...names: string[]): Promise<void> {
  for (const name of names) await node.deletePod(name);
  for (const name of [...names, "steady", "late", "later"])
    await node.waitFor(async () => assert.equal(await node.pod(name), undefined));
}

/** Pods use almost all memory that they may have together: the one that requests none has to go. */
export async function memoryHog(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    await node.addPod("hog", memoryFiller.container, memoryFiller.spec);
    const message =
      /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \d+(Ki|Mi|)\. Container c was using \d+Ki?, request is 0, has larger consumption of memory\. $/;
    isDisrupted(await isEvicted(node, "hog", message));
    await node.addPod("burstable", { ...script("true"), ...steady });
    await rejectsUntilRecovered(node, "MemoryPressure");
    await runs(node, "burstable");
    assert.match((await node.events("EvictionThresholdMet")).join(), /Attempting to reclaim memory/);
    // Its containers are removed by now; the status still has how they terminated.
    const [ended] = (await node.pod("hog"))?.status?.containerStatuses ?? [];
    assert.ok(ended?.state?.terminated?.containerID, JSON.stringify(ended));
  });
  await remove(node, "hog", "burstable");
}

/** The agent is killed after it has decided to evict: the pod does not run again, and no other is evicted. */
export async function killedInEviction(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    await node.addPod("last-hog", memoryFiller.container, memoryFiller.spec);
    const { metadata } = await node.waitFor(async () => {
      const pod = await node.pod("last-hog");
      assert.ok(pod?.metadata.uid);
      return pod;
    });
    await node.waitFor(async () =>
      assert.match(await node.rootFile("evicted-pods.json"), new RegExp(metadata.uid)),
    );
    await node.killAgent();
    await node.startAgent();
    await node.waitFor(async () => {
      const { status } = (await node.pod("last-hog")) ?? {};
      assert.deepEqual([status?.phase, status?.reason], ["Failed", "Evicted"], JSON.stringify(status));
    });
    assert.deepEqual(await node.running("last-hog"), []);
    await node.waitFor(async () => assert.equal(await node.condition("MemoryPressure"), "False"));
    assert.deepEqual(await node.running("last-hog"), []);
  });
  await remove(node, "last-hog");
  await node.waitFor(async () => assert.match(await node.rootFile("evicted-pods.json"), /"pods": \[\]/));
}

/** A pod fills the disk with a volume. */
export async function diskFiller(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    const { spec, mount } = emptyDir();
    await node.addPod("filler", { ...script("dd if=/dev/zero of=/data/x bs=1M count=350"), ...mount }, spec);
    const message =
      /^The node was low on resource: ephemeral-storage\. Threshold quantity: 150Mi, available: \d+Ki?\. /;
    isDisrupted(await isEvicted(node, "filler", message));
    await rejectsUntilRecovered(node, "DiskPressure", steady);
  });
  await remove(node, "filler");
}

/** A pod fills the disk with empty files. */
export async function inodeFiller(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    const { spec, mount } = emptyDir();
    const fill = "i=0; while [ $i -lt 13000 ]; do : > /data/$i; i=$((i+1)); done";
    await node.addPod("file-filler", { ...script(fill), ...mount }, spec);
    const message = /^The node was low on resource: inodes\. Threshold quantity: 4k, available: \d+\. $/;
    isDisrupted(await isEvicted(node, "file-filler", message));
    await rejectsUntilRecovered(node, "DiskPressure");
  });
  await remove(node, "file-filler");
}

/** A pod has too many processes. */
export async function forkBomb(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    const fork = "i=0; while [ $i -lt 1700 ]; do sleep 1000 & i=$((i+1)); done";
    await node.addPod("bomb", script(fork));
    const message = /^The node was low on resource: pids\. Threshold quantity: \d+k?, available: \d+\. $/;
    isDisrupted(await isEvicted(node, "bomb", message));
    await rejectsUntilRecovered(node, "PIDPressure", steady);
  });
  await remove(node, "bomb");
}

/** Images that no pod uses fill the disk: they are removed, and no pod is evicted. */
export async function imageStore(node: EvictionNode): Promise<void> {
  const [old, young] = ["localhost/unused:1", "localhost/unused:2"] as const;
  await node.importImage(old, 130 * mi);
  // An image has a minimum age, which starts when an agent first sees it: at its start, and every 5 minutes.
  await node.killAgent();
  await node.startAgent();
  await alongsideSteadyPod(node, async () => {
    assert.ok((await node.images()).includes(old));
    await node.importImage(young, 50 * mi);
    await node.waitFor(async () => assert.equal(await node.condition("DiskPressure"), "True"));
    await node.waitFor(async () => assert.ok(!(await node.images()).includes(old)));
    await node.waitFor(async () => assert.equal(await node.condition("DiskPressure"), "False"));
    assert.deepEqual(await node.events("Evicted", "steady"), []);
    assert.ok((await node.images()).includes(young), "a new image is kept");
  });
  await remove(node);
}

/** A volume grows over its own limit, while the node has enough. */
export async function volumeLimit(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    const { mount } = emptyDir();
    const volumes = [{ name: "data", emptyDir: { sizeLimit: "10Mi" } }];
    await node.addPod(
      "grower",
      { ...script("dd if=/dev/zero of=/data/x bs=1M count=20"), ...mount },
      { volumes },
    );
    await isEvicted(node, "grower", /^Usage of EmptyDir volume "data" exceeds the limit "10Mi"\. $/);
    assert.equal(await node.condition("DiskPressure"), "False");
  });
  await remove(node, "grower");
}

/** A container writes more to its termination message file than it may store, while the node has enough. */
export async function messageFileLimit(node: EvictionNode): Promise<void> {
  await alongsideSteadyPod(node, async () => {
    const limited = { resources: { limits: { "ephemeral-storage": "10Mi" } } };
    await node.addPod("writer", {
      ...script("dd if=/dev/zero of=/dev/termination-log bs=1M count=20"),
      ...limited,
    });
    await isEvicted(
      node,
      "writer",
      /^Pod ephemeral local storage usage exceeds the total limit of containers 10Mi\. $/,
    );
    assert.equal(await node.condition("DiskPressure"), "False");
  });
  await remove(node, "writer");
}
