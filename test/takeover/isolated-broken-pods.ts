// Runs on an isolated host: starts the reference kubelet, whose executable KUBELET_REFERENCE names, with broken pods, and prints what the API server has of
// each once its problem was reported.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SchedulerNode } from "../../src/cli/unscheduled-pods.ts";
import { type PodEvent, podFromApi } from "../../src/cli/why/pod-from-api.ts";
import { explainPod } from "../../src/kubelet/explain/explain-pod.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { brokenPods, objects, taint } from "../cluster/broken-pods.ts";
import { BrokenRegistry } from "../cluster/broken-registry.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { KillableApi } from "../cluster/killable-api.ts";
import { AgentProcess, freePort } from "../e2e/agent-process.ts";
import { sleeper } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { busyboxName, startTestNode } from "../node/test-node.ts";
import { observedConfig } from "./compare/observed-node.ts";
import { addAddress, address } from "./isolated-kubelets-host.ts";
import { Kubelets } from "./kubelet-kinds.ts";

export interface RecordedBrokenPods {
  readonly at: string;
  readonly node: SchedulerNode;
  readonly pods: readonly Pod[];
  readonly events: readonly PodEvent[];
}

const withinMs = 240_000;
/** Some causes are not known to the API server: those of the others are reported after this time. */
const settledWithinMs = 60_000;

async function main(): Promise<RecordedBrokenPods> {
  addAddress();
  execFileSync("mount", ["--make-rshared", "/"]);
  const node = await startTestNode({ containerd: "2.x" });
  mkdirSync("/run/containerd", { recursive: true });
  symlinkSync(node.endpoint.replace("unix://", ""), "/run/containerd/containerd.sock");
  const api = await KillableApi.create(nodeName);
  api.start();
  const admin = await api.admin();
  const [port, readOnlyPort] = [await freePort(), await freePort()];
  const config = {
    ...observedConfig,
    serializeImagePulls: false,
    allowedUnsafeSysctls: ["net.*"],
    port,
    readOnlyPort,
    containerRuntimeEndpoint: node.endpoint,
  };
  const agent = await AgentProcess.create(node, config);
  const flags = [
    `--kubeconfig=${api.nodeKubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${address}`,
    `--cert-dir=${join(node.rootDir, "pki")}`,
    `--register-with-taints=${taint}`,
  ];
  const kubelets = new Kubelets(agent, flags, process.env.KUBELET_REFERENCE);
  const namespace = "/api/v1/namespaces/default";
  const create = (path: string, body: object) => admin.request({ method: "POST", path, body });
  await waitFor(
    () => admin.request({ method: "GET", path: `${namespace}/serviceaccounts/default` }),
    withinMs,
  );
  const registry = await BrokenRegistry.start(node);
  mkdirSync(join(node.rootDir, "seccomp"), { recursive: true });
  writeFileSync(join(node.rootDir, "seccomp/broken.json"), "{ nothing");
  for (const { path, body } of objects(registry.hosts.http ?? "")) await create(path, body);
  await kubelets.start("reference");
  const addPod = (name: string, container: object = {}, spec: object = {}) =>
    create(`${namespace}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        nodeName,
        tolerations: [{ operator: "Exists" }],
        terminationGracePeriodSeconds: 0,
        containers: [
          { name: "c", image: busyboxName, imagePullPolicy: "Never", command: sleeper, ...container },
        ],
        ...spec,
      },
    });
  const list = async <T>(resource: string) =>
    (await admin.request<{ items: T[] }>({ method: "GET", path: `/api/v1/${resource}` })).items;
  await addPod("holder", { ports: [{ containerPort: 80, hostPort: 18080 }] });
  await waitFor(async () => {
    const [holder] = await list<Pod>("pods");
    assert.equal(holder?.status?.phase, "Running");
  }, withinMs);
  const broken = new Map(brokenPods(registry.hosts).map((one) => [one.name, one]));
  for (const { name, container, spec } of broken.values()) await addPod(name, container, spec);
  let recorded: RecordedBrokenPods | undefined;
  await waitFor(async () => {
    const [pods, events] = [await list<Pod>("pods"), await list<PodEvent>("events")];
    const [node] = await list<SchedulerNode>("nodes");
    assert.ok(node);
    const now = Date.now();
    recorded = { at: new Date(now).toISOString(), node, pods, events };
    const unnamed = pods.filter((pod) => {
      const ofPod = events.filter(({ involvedObject }) => involvedObject.uid === pod.metadata.uid);
      const cause = explainPod(podFromApi(pod, ofPod, now, node)).cause ?? "";
      return broken.get(pod.metadata.name)?.names.test(cause) === false;
    });
    assert.deepEqual(
      unnamed.map(({ metadata }) => metadata.name),
      [],
    );
  }, settledWithinMs).catch((error: Error) => console.error(`Not all causes are known: ${error.message}`));
  assert.ok(recorded, kubelets.log("reference").slice(-3000));
  await kubelets.stop();
  await agent.destroy();
  await api.destroy();
  registry.stop();
  const pods = recorded.pods.filter(({ metadata }) => broken.has(metadata.name));
  const withoutManagedFields = <T extends object>(object: T) =>
    JSON.parse(JSON.stringify(object, (key, value) => (key === "managedFields" ? undefined : value))) as T;
  return withoutManagedFields({ ...recorded, pods });
}

process.stdout.write(JSON.stringify(await main()));
