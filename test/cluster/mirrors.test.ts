import assert from "node:assert/strict";
import { cp, readFile, rename, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { annotationMirror, annotationSource } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";

const mirror = `web-${nodeName}`;

test("a static pod has a mirror with its status; deleting the mirror does not affect the pod", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("web");
  await cluster.startAgent();
  const first = await cluster.runs(mirror);
  const uid = first.metadata.annotations?.[annotationMirror] ?? "";
  const [running] = cluster.runningOf(uid);
  assert.ok(running, "the pod does not run under the UID of the manifest");
  assert.deepEqual(
    [...cluster.runtime.pods.sandboxes.values()].map((s) => s.config.metadata?.uid),
    [uid],
    "the mirror itself runs",
  );
  const owner = (first.metadata.ownerReferences ?? [])[0];
  assert.equal(owner?.uid, cluster.api.get("nodes", "", nodeName)?.metadata.uid);

  cluster.api.deletePod(mirror, 0);
  await waitFor(() =>
    assert.notEqual(cluster.api.pod(mirror)?.metadata.uid ?? first.metadata.uid, first.metadata.uid),
  );
  const second = await cluster.runs(mirror);
  cluster.api.deletePod(mirror);
  await waitFor(() =>
    assert.ok(![undefined, second.metadata.uid].includes(cluster.api.pod(mirror)?.metadata.uid)),
  );
  await cluster.runs(mirror);
  assert.deepEqual(
    cluster.containersOf(uid).map(({ id }) => id),
    [running.id],
  );

  await cluster.removeManifest("web");
  await cluster.isGone(mirror);
  assert.equal(cluster.containersOf(uid).length, 0, "the mirror was deleted before its pod had terminated");
});

test("an applied pod has a mirror until it is deleted, as any static pod", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const spec = { terminationGracePeriodSeconds: 5, containers: [container()] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec };
  const put = await onSocket(cluster, "PUT", JSON.stringify(pod));
  assert.equal(put.status, 201, put.body);
  const shown = await cluster.runs(mirror);
  assert.equal(shown.metadata.annotations?.[annotationSource], "applied");
  const uid = shown.metadata.annotations?.[annotationMirror] ?? "";
  assert.match(put.body, new RegExp(uid));
  assert.equal(cluster.runningOf(uid).length, 1);
  assert.equal((await onSocket(cluster, "DELETE")).status, 200);
  await cluster.isGone(mirror);
  assert.equal(cluster.containersOf(uid).length, 0);
});

function onSocket(cluster: TestCluster, method: string, body?: string) {
  const socketPath = join(cluster.dir, "root", "kubelet.sock");
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const call = request({ socketPath, method, path: "/manifests/web" }, (response) => {
      text(response).then((output) => resolve({ status: response.statusCode ?? 0, body: output }), reject);
    });
    call.on("error", reject);
    call.end(body);
  });
}

test("a changed manifest gets a new mirror", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("web");
  await cluster.startAgent();
  const before = await cluster.runs(mirror);
  await cluster.placeManifest("web", { terminationGracePeriodSeconds: 3 });
  await waitFor(() => {
    const now = cluster.api.pod(mirror);
    assert.equal(now?.spec.terminationGracePeriodSeconds, 3);
    assert.notEqual(now?.metadata.uid, before.metadata.uid);
  });
  await cluster.runs(mirror);
});

test("a manifest that is deleted and written again restarts its pod; renamed over, it does not", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("web", { terminationGracePeriodSeconds: 1 });
  await cluster.startAgent();
  const first = await cluster.runs(mirror);
  const uid = first.metadata.annotations?.[annotationMirror] ?? "";
  const file = join(cluster.manifests, "web.json");
  await writeFile(join(cluster.manifests, ".web.tmp"), await readFile(file));
  await rename(join(cluster.manifests, ".web.tmp"), file);
  const before = await cluster.runs(mirror);
  assert.equal(before.metadata.uid, first.metadata.uid);
  assert.equal(before.status?.containerStatuses?.[0]?.restartCount, 0);
  const [old] = cluster.runningOf(uid);
  const started = Date.parse(before.status?.startTime ?? "");
  await waitFor(() => assert.ok(Date.now() > started + 2000));
  await cluster.removeManifest("web");
  await cluster.placeManifest("web", { terminationGracePeriodSeconds: 1 });
  const after = await cluster.waitForPod(mirror, ({ metadata, status }) => {
    assert.notEqual(metadata.uid, before.metadata.uid, "the mirror is the same");
    assert.equal(metadata.annotations?.[annotationMirror], uid, "the mirror is of another pod");
    assert.equal(status?.phase, "Running");
    assert.ok(status?.containerStatuses?.[0]?.state?.running, JSON.stringify(status));
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 1);
  });
  assert.ok(Date.parse(after.status?.startTime ?? "") > started, "the pod was not started again");
  assert.equal(after.status?.containerStatuses?.[0]?.lastState?.terminated?.containerID, `fake://${old?.id}`);
  assert.deepEqual(
    cluster.runningOf(uid).map(({ id }) => id === old?.id),
    [false],
    "the container was not replaced",
  );
});

// parity: event FailedValidation
test("a second manifest with the name of a static pod is an event about its pod, and does not run", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.placeManifest("web");
  await cp(join(cluster.manifests, "web.json"), join(cluster.manifests, "web-copy.json"));
  await cluster.startAgent();
  await waitFor(() => assert.ok(cluster.api.pod(mirror)), 20_000);
  await waitFor(() => {
    const [message, ...others] = cluster.events(mirror, "FailedValidation");
    assert.match(
      message ?? "",
      /^Error validating pod web-node-a_default\(\w+\) from file due to duplicate pod name "web-node-a", ignoring$/,
    );
    assert.deepEqual(others, []);
  }, 20_000);
});
