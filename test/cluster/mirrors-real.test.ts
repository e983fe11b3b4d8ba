import assert from "node:assert/strict";
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { annotationMirror } from "../../src/lib/model/pod.ts";
import { manifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { nodeName } from "./cluster-node.ts";
import { NodeWithApi } from "./node-with-api.ts";

const mirror = `web-${nodeName}`;
const content = manifest({ name: "web" });

describeOnContainerd("mirrors on a real runtime", (version) => {
  let apiNode: NodeWithApi;

  before(async () => {
    apiNode = await NodeWithApi.start(version);
  });

  after(async () => {
    await apiNode?.destroy();
  });

  test("a manifest that is deleted and written again immediately restarts its pod", async () => {
    const file = join(apiNode.node.manifests, "web.yaml");
    writeFileSync(file, content);
    const first = await apiNode.runs(mirror);
    const [old] = await apiNode.containersOf(mirror);
    assert.ok(old);

    writeFileSync(join(apiNode.node.manifests, ".web.tmp"), content);
    renameSync(join(apiNode.node.manifests, ".web.tmp"), file);
    unlinkSync(file);
    writeFileSync(file, content);

    const again = await waitFor(async () => {
      const pod = await apiNode.pod(mirror);
      const [status] = pod.status?.containerStatuses ?? [];
      assert.notEqual(pod.metadata.uid, first.metadata.uid, "the mirror was not replaced");
      assert.equal(pod.status?.phase, "Running");
      assert.ok(status?.state?.running, JSON.stringify(pod.status));
      assert.equal(status?.restartCount, 1);
      return pod;
    }, 60_000);
    assert.equal(
      again.metadata.annotations?.[annotationMirror],
      first.metadata.annotations?.[annotationMirror],
    );
    const containers = await apiNode.containersOf(mirror);
    assert.deepEqual(
      containers.map(({ id, attempt }) => [id === old.id, attempt]),
      [[false, 1]],
    );
    assert.match(
      again.status?.containerStatuses?.[0]?.lastState?.terminated?.containerID ?? "",
      new RegExp(old.id),
    );

    renameSync(file, `${file}~`);
    writeFileSync(file, content);
    unlinkSync(`${file}~`);
    writeFileSync(join(apiNode.node.manifests, "control.yaml"), manifest({ name: "control" }));
    await apiNode.runs(`control-${nodeName}`);
    assert.deepEqual(
      await apiNode.containersOf(mirror),
      containers,
      "an editor that moves the file away restarted the pod",
    );

    unlinkSync(file);
    await apiNode.isGone(mirror);
    const remaining = await apiNode.runtime.listContainers();
    assert.deepEqual(
      remaining.filter(({ labels }) => labels["io.kubernetes.pod.name"] === mirror),
      [],
      "a container of the first pod is left",
    );
  });
});
