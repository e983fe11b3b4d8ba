import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, it, type TestContext } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid, ResourceRequirements } from "../../../lib/model/pod.ts";
import { Allocation } from "./allocation.ts";
import { decodeCheckpoint } from "./checkpoint.ts";

const small: ResourceRequirements = { requests: { cpu: "100m", memory: "16Mi" }, limits: { memory: "64Mi" } };
const large: ResourceRequirements = {
  requests: { cpu: "200m", memory: "16Mi" },
  limits: { memory: "128Mi" },
};
const podWith = (resources: ResourceRequirements, generation = 1): Pod =>
  fakePod({ metadata: { generation }, spec: { containers: [{ name: "c", resources }] } });

describe("the allocation of pods", () => {
  let rootDir = "";
  beforeEach((t) => {
    rootDir = mkdtempSync(join(tmpdir(), "allocation-"));
    (t as TestContext).after(() => rmSync(rootDir, { recursive: true }));
  });
  const start = async (gates = { podLevel: true, initContainers: true }) => {
    const allocation = new Allocation({
      rootDir,
      gates,
      logger: silentLogger,
    });
    await allocation.start();
    return allocation;
  };
  const entryOf = (file: string, { metadata }: Pod) =>
    decodeCheckpoint(readFileSync(join(rootDir, file), "utf8")).get(metadata.uid);

  it("is what their spec had when they were admitted, regardless of later changes, even after a restart", async () => {
    const first = await start();
    const pod = podWith(small);
    assert.equal(first.allocatedPod(pod), pod);
    first.admitted(pod);
    assert.deepEqual(first.allocatedPod(podWith(large, 2)).spec.containers[0]?.resources, small);
    await first.flushed();
    const second = await start();
    assert.deepEqual(second.allocatedPod(podWith(large, 2)).spec.containers[0]?.resources, small);
    assert.equal(second.differs(podWith(large, 2)), true);
    const same = { ...small, requests: { cpu: "0.1", memory: "16Mi" } };
    assert.equal(second.differs(podWith(same, 3)), false);
  });

  it("may change: containers keep what they were given until they are resized or started", async () => {
    const allocation = await start();
    allocation.admitted(podWith(small));
    const resized = podWith(large, 2);
    const [container] = resized.spec.containers;
    allocation.allocate(resized);
    assert.equal(allocation.allocatedPod(resized), resized);
    assert.equal(allocation.actionFor(resized, container!, false), "update");
    assert.deepEqual(allocation.actuated(resized.metadata.uid, "c"), small);
    await allocation.resized(resized, [container!]);
    assert.equal(allocation.actionFor(resized, container!, false), "none");
    assert.deepEqual(entryOf("actuated_pods_state", resized)?.containers.get("c"), large);
    allocation.allocate(podWith(small, 3));
    await allocation.containerStarts(podWith(small, 3), podWith(small, 3).spec.containers[0]!);
    assert.deepEqual(entryOf("actuated_pods_state", resized)?.containers.get("c"), small);
  });

  it("remembers a resize from before its first write until it has succeeded", async () => {
    const first = await start();
    const resized = podWith(large, 2);
    const { uid } = resized.metadata;
    first.admitted(podWith(small));
    first.allocate(resized);
    await first.resizeStarts(resized);
    // The agent is killed here.
    const second = await start();
    assert.deepEqual([second.isResizing(uid), second.needsPodResize(resized)], [true, true]);
    assert.equal(second.differs(resized), false, "the allocation is on disk too");
    await second.resized(resized, resized.spec.containers);
    assert.deepEqual([second.isResizing(uid), second.needsPodResize(resized)], [false, false]);
    second.admitted(fakePod({ metadata: { uid: "other" as PodUid } }));
    await second.resizeStarts(fakePod({ metadata: { uid: "other" as PodUid } }));
    assert.equal((await start()).isResizing(uid), false);
  });

  it("repeats the resize of every pod if the record of resizes cannot be read", async () => {
    const first = await start();
    first.admitted(podWith(small));
    await first.flushed();
    writeFileSync(join(rootDir, "resizing_pods_state"), "{");
    assert.equal((await start()).isResizing(podWith(small).metadata.uid), true);
  });

  it("counts what a pod that shrinks still uses", async () => {
    const allocation = await start();
    allocation.admitted(podWith(large));
    const shrunk = podWith(small, 2);
    allocation.allocate(shrunk);
    const requests = (pod: Pod) => allocation.accountedPod(pod).spec.containers[0]?.resources?.requests;
    assert.deepEqual(requests(shrunk), large.requests);
    await allocation.resized(shrunk, shrunk.spec.containers);
    assert.deepEqual(requests(shrunk), small.requests);
  });

  it("is written for the reference kubelet: pod-level limits are those of containers without one", async () => {
    const allocation = await start();
    const resources = { requests: { cpu: "1" }, limits: { cpu: "2", memory: "96Mi" } };
    const pod = fakePod({ spec: { resources, containers: [{ name: "c", resources: small }] } });
    allocation.admitted(pod);
    await allocation.flushed();
    assert.deepEqual(entryOf("allocated_pods_state", pod), {
      containers: new Map([["c", small]]),
      pod: resources,
    });
    const actuated = { ...small, limits: { cpu: "2", memory: "64Mi" } };
    assert.deepEqual(entryOf("actuated_pods_state", pod), {
      containers: new Map([["c", actuated]]),
      pod: resources,
    });
  });

  it("keeps what containers were started with until they are started again", async () => {
    const { uid } = podWith(small).metadata;
    const first = await start();
    first.admitted(podWith(small));
    await first.flushed();
    // The reference kubelet has allocated more since, and has not actuated it.
    rmSync(join(rootDir, "allocated_pods_state"));
    const allocation = await start();
    const now = podWith(large);
    allocation.admitted(now);
    assert.deepEqual(allocation.actuated(uid, "c"), small);
    allocation.containerStarted(now, now.spec.containers[0]!);
    assert.deepEqual(allocation.actuated(uid, "c"), large);
  });

  // parity: gate InPlacePodVerticalScalingInitContainers=true as initContainers
  it("has the resources of init containers if they can be resized", async () => {
    const allocation = await start({ podLevel: false, initContainers: true });
    const initContainers = [{ name: "i" }, { name: "s", restartPolicy: "Always" as const }];
    const pod = fakePod({ spec: { initContainers, containers: [{ name: "c" }] } });
    allocation.admitted(pod);
    await allocation.flushed();
    const { containers } = entryOf("allocated_pods_state", pod)!;
    assert.deepEqual(new Set(containers.keys()), new Set(["i", "s", "c"]));
  });

  // parity: gate InPlacePodVerticalScalingInitContainers=false as initContainers
  it("omits resources that cannot be resized, and unknown pods", async () => {
    const allocation = await start({ podLevel: false, initContainers: false });
    const initContainers = [{ name: "i" }, { name: "s", restartPolicy: "Always" as const }];
    const pod = fakePod({ spec: { initContainers, containers: [{ name: "c" }] } });
    const other = fakePod({ metadata: { uid: "other" as PodUid } });
    allocation.admitted(other);
    allocation.admitted(pod);
    allocation.keepOnly((uid) => uid === pod.metadata.uid);
    allocation.containerStarted(pod, pod.spec.containers[0]!);
    allocation.admitted(pod);
    await allocation.flushed();
    assert.deepEqual([...(entryOf("allocated_pods_state", pod)?.containers.keys() ?? [])], ["c", "s"]);
    assert.equal(entryOf("actuated_pods_state", other), undefined);
  });

  it("may be any amount that the API server accepts", async () => {
    const allocation = await start();
    const pod = podWith({ requests: { cpu: "1m" }, limits: { cpu: "1e1002", memory: "1e-1002" } });
    allocation.admitted(pod);
    assert.equal(allocation.allocatedPod(pod), pod);
    allocation.containerStarted(pod, pod.spec.containers[0]!);
    assert.equal(allocation.actionFor(pod, pod.spec.containers[0]!, false), "none");
  });

  it("fails to start with a corrupt file, and names it", async () => {
    const path = join(rootDir, "allocated_pods_state");
    writeFileSync(path, '{"data":"{}","checksum":1}');
    await assert.rejects(start(), {
      message: `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "${path}" before restarting Kubelet`,
    });
  });
});
