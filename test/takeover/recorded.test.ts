import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { decodeCheckpoint, encodeCheckpoint } from "../../src/kubelet/resources/allocation/checkpoint.ts";
import { makeStaticPod } from "../../src/lib/model/static-pod.ts";
import { nodeName, TestCluster } from "../cluster/cluster-node.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { busyboxName } from "../node/test-node.ts";
import { recorded } from "./recorded.ts";
import { manifestSource, restoreRecorded } from "./recorded-node.ts";
import { manifests } from "./takeover-pods.ts";

test("the reference kubelet's state files can be read, and are encoded identically", () => {
  for (const text of [recorded.snapshot.allocated!, recorded.snapshot.actuated!])
    assert.equal(encodeCheckpoint(decodeCheckpoint(text)), text);
});

for (const [file, manifest] of Object.entries(manifests))
  test(`the pod of ${file} has the reference kubelet's UID`, () => {
    const origin = { source: "file" as const, path: join(recorded.manifests, file) };
    const decoded = makeStaticPod(manifest, { nodeName, origin });
    assert.ok("pod" in decoded);
    const { podUid } = recorded.snapshot.containers.find(({ pod }) => pod === decoded.pod.metadata.name)!;
    assert.equal(decoded.pod.metadata.uid, podUid);
  });

test("an agent that takes over the reference kubelet's pods creates and stops nothing, and all pods stay ready", async (t) => {
  const exec = () => ({ exitCode: 0 });
  const cluster = await TestCluster.start(t, {}, {}, { images: { [busyboxName]: {} }, exec: exec as never });
  const { pods, ids } = await restoreRecorded(cluster);
  const unready: string[] = [];
  cluster.api.onRequest = (call) => {
    if (!/^(PATCH|PUT) pods\/?status|^PATCH pods/.test(call)) return;
    for (const { metadata } of pods) {
      const current = cluster.api.pod(metadata.name, metadata.namespace)?.status?.conditions;
      if (current?.find(({ type }) => type === "Ready")?.status !== "True") unready.push(metadata.name);
    }
  };
  const callsBefore = cluster.runtime.calls.length;
  await cluster.startAgent({ sources: () => [manifestSource()] });
  await waitFor(() => {
    assert.equal(cluster.agent.overview.rows().length, pods.length);
    for (const row of cluster.agent.overview.rows()) assert.match(row.phase, /Running/, row.name);
  });
  // When a new pod runs, the others have been synced.
  cluster.addPod("new", { containers: [{ name: "c", image: busyboxName }] });
  await cluster.runs("new");
  const changes = cluster.runtime.calls
    .slice(callsBefore)
    .filter(({ method }) => /^(RunPodSandbox|Create|Start|Stop|Remove)/.test(method));
  assert.deepEqual(
    changes.map(({ method }) => method),
    ["RunPodSandbox", "CreateContainer", "StartContainer"],
    "there are calls besides those of the new pod",
  );
  assert.deepEqual(unready, []);
  for (const { metadata, status } of pods) {
    const current = cluster.api.pod(metadata.name, metadata.namespace)!.status!;
    assert.deepEqual(
      current.containerStatuses!.map(({ containerID, restartCount }) => [containerID, restartCount]),
      status!.containerStatuses!.map(({ containerID = "", restartCount }) => {
        const [, id = ""] = containerID.split("://");
        return [`fake://${ids.get(id)}`, restartCount];
      }),
    );
    // The time of a static pod changes with each agent, as in the reference kubelet.
    const isMirror = metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
    const since = (of: typeof status) =>
      of?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
    if (!isMirror) assert.equal(since(current), since(status), metadata.name);
  }
  await cluster.stopAgent();
  const file = (name: string) => readFileSync(join(cluster.dir, "root", name), "utf8");
  const before = decodeCheckpoint(recorded.snapshot.actuated!);
  const after = decodeCheckpoint(file("actuated_pods_state"));
  for (const { metadata } of pods)
    if (!metadata.annotations) assert.deepEqual(after.get(metadata.uid), before.get(metadata.uid));
});

test("a corrupt state file prevents startup, with the reference kubelet's message", async (t) => {
  const cluster = await TestCluster.start(t);
  await restoreRecorded(cluster, []);
  const path = join(cluster.dir, "root", "actuated_pods_state");
  writeFileSync(path, recorded.snapshot.actuated!.replace("64Mi", "65Mi"));
  await assert.rejects(cluster.startAgent(), {
    message: `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "${path}" before restarting Kubelet`,
  });
});
