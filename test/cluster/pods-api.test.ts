import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { metricValues } from "../../src/lib/base/fixtures.ts";
import { hasGrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import type { ApiObject } from "./fake-api.ts";
import { PodsApiClient, type PodWatchClient } from "./pods-api-client.ts";

async function startWithPodsApi(t: TestContext) {
  const cluster = await TestCluster.start(t, { gates: new FeatureGates({ PodsAPI: true }) });
  await cluster.startAgent();
  const client = new PodsApiClient(join(cluster.dir, "root"));
  t.after(() => client.close());
  return { cluster, client };
}

const isSynced = (watch: PodWatchClient) =>
  waitFor(() => assert.ok(watch.events.some(({ type }) => type === "INITIAL_SYNC_COMPLETE")));

/** Sets a label, as kubectl label does. */
function label(cluster: TestCluster, name: string, state: string): void {
  const pod = cluster.api.pod(name)!;
  const metadata = { ...pod.metadata, labels: { state } };
  cluster.api.put("pods", { ...pod, metadata } as unknown as ApiObject);
}

async function droppedOf(cluster: TestCluster): Promise<number> {
  const values = await metricValues(cluster.agent.metrics, "kubelet_pod_watch_events_dropped_total");
  return Object.values(values)[0] ?? 0;
}

// parity: gate PodsAPI=false
test("the Pods API is not served without its feature gate", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  assert.ok(existsSync(join(cluster.dir, "root/pod-resources/kubelet.sock")));
  assert.ok(!existsSync(join(cluster.dir, "root/pods-api")));
});

// parity: endpoint socket pods-api/pods-api.sock v1alpha1.Pods, gate PodsAPI=true
test("List and Get return pods by UID, with the current status of the agent", async (t) => {
  const { cluster, client } = await startWithPodsApi(t);
  const resources = { limits: { cpu: "250m", memory: "64Mi" } };
  const added = ["web", "db", "cache"].map((name) =>
    cluster.addPod(name, { containers: [container({ resources })] }),
  );
  for (const { metadata } of added) await cluster.runs(metadata.name);
  const listed = await client.list();
  assert.deepEqual(
    listed.map(({ metadata }) => metadata.uid),
    added.map(({ metadata }) => metadata.uid).sort((a, b) => (a < b ? -1 : 1)),
  );
  const { uid } = added[0]!.metadata;
  const got = await client.get(uid);
  assert.deepEqual(
    got,
    listed.find(({ metadata }) => metadata.uid === uid),
  );
  assert.equal(got.metadata.name, "web");
  assert.equal(got.status?.phase, "Running");
  assert.equal(got.status?.containerStatuses?.[0]?.ready, true);
  assert.deepEqual(got.spec.containers[0]?.resources?.limits, resources.limits);
  assert.equal(got.spec.containers[0]?.image, added[0]!.spec.containers[0]?.image);
  await assert.rejects(
    client.get("none"),
    (error: Error) => hasGrpcCode(error, "NOT_FOUND") && /pod with UID none not found$/.test(error.message),
  );
});

test("pods are served while the API server is unavailable", async (t) => {
  const { cluster, client } = await startWithPodsApi(t);
  const { uid } = cluster.addPod("web").metadata;
  await cluster.runs("web");
  cluster.api.goDown();
  const watch = client.watch();
  await isSynced(watch);
  cluster.runtime.exit(cluster.runningOf(uid)[0]!.id, 0);
  await waitFor(async () =>
    assert.equal((await client.get(uid)).status?.containerStatuses?.[0]?.restartCount, 1),
  );
  await waitFor(() =>
    assert.equal(watch.of(uid).at(-1)?.pod?.status?.containerStatuses?.[0]?.restartCount, 1),
  );
});

test("a watch receives ADDED, then each change of metadata and status, then DELETED, and nothing after it", async (t) => {
  const { cluster, client } = await startWithPodsApi(t);
  const { uid: existing } = cluster.addPod("existing").metadata;
  await cluster.runs("existing");
  const watch = client.watch();
  await isSynced(watch);
  assert.deepEqual(
    watch.events.map(({ type, pod }) => [type, pod?.metadata.uid]),
    [
      ["ADDED", existing],
      ["INITIAL_SYNC_COMPLETE", undefined],
    ],
  );

  const { uid } = cluster.addPod("web", { terminationGracePeriodSeconds: 1 }).metadata;
  await cluster.runs("web");
  for (const state of ["one", "two"]) {
    label(cluster, "web", state);
    await waitFor(() => assert.equal(watch.of(uid).at(-1)?.pod?.metadata.labels?.state, state));
  }
  cluster.api.deletePod("web", 1);
  await cluster.isGone("web");
  await waitFor(() => assert.equal(watch.of(uid).at(-1)?.type, "DELETED"));

  const events = watch.of(uid);
  const types = events.map(({ type }) => type);
  assert.deepEqual(types, ["ADDED", ...types.slice(2).map(() => "MODIFIED"), "DELETED"]);
  const changes = events.slice(0, -1).map(({ pod }) => pod as Pod);
  assert.deepEqual(
    [...new Set(changes.map(({ status }) => status?.phase))],
    ["Pending", "Running", "Succeeded"],
  );
  const terminating = changes.map(({ metadata }) => metadata.deletionTimestamp !== undefined);
  assert.ok(terminating.includes(true));
  assert.ok(
    !terminating.slice(terminating.indexOf(true)).includes(false),
    "an event has no deletion timestamp after one that has",
  );
  assert.deepEqual(events.at(-1)?.pod?.metadata, { name: "web", namespace: "default", uid });
  // Another pod's event arrives after all events of this one.
  label(cluster, "existing", "last");
  await waitFor(() => assert.equal(watch.of(existing).at(-1)?.pod?.metadata.labels?.state, "last"));
  assert.equal(watch.of(uid).length, events.length);
});

test("a watch receives DELETED once for a pod that has completed, which is listed until it is deleted", async (t) => {
  const { cluster, client } = await startWithPodsApi(t);
  const watch = client.watch();
  await isSynced(watch);
  const containers = [container({ command: ["true"] })];
  const { uid } = cluster.addPod("job", { restartPolicy: "Never", containers }).metadata;
  await waitFor(() => assert.equal(watch.of(uid).at(-1)?.type, "DELETED"));
  assert.equal(watch.of(uid).at(-2)?.pod?.status?.phase, "Succeeded");
  assert.equal((await client.get(uid)).status?.phase, "Succeeded");
  const later = client.watch();
  await isSynced(later);
  label(cluster, "job", "over");
  cluster.api.deletePod("job", 0);
  await waitFor(() => assert.equal(later.of(uid).at(-1)?.type, "DELETED"));
  assert.deepEqual(
    later.of(uid).map(({ type }) => type),
    ["ADDED", "DELETED"],
  );
  assert.equal(watch.of(uid).filter(({ type }) => type === "DELETED").length, 1);
  await assert.rejects(client.get(uid), (error) => hasGrpcCode(error, "NOT_FOUND"));
});

test("static pods are watched and listed, and their mirror pods are not", async (t) => {
  const { cluster, client } = await startWithPodsApi(t);
  const watch = client.watch();
  await isSynced(watch);
  await cluster.placeManifest("fixed");
  const name = `fixed-${nodeName}`;
  await cluster.runs(name);
  const [staticPod, ...others] = await client.list();
  assert.equal(staticPod?.metadata.name, name);
  assert.deepEqual(others, []);
  assert.notEqual(staticPod?.metadata.uid, cluster.api.pod(name)?.metadata.uid);
  await cluster.removeManifest("fixed");
  await waitFor(() => assert.equal(watch.events.at(-1)?.type, "DELETED"));
  assert.ok(watch.events.every(({ pod }) => !pod || pod.metadata.uid === staticPod?.metadata.uid));
  assert.deepEqual(await client.list(), []);
});

// parity: metric /metrics kubelet_pod_watch_events_dropped_total
test("the watch of a client that does not read is closed and counted, and other watches continue", async (t) => {
  const { cluster, client } = await startWithPodsApi(t);
  const { uid } = cluster.addPod("web").metadata;
  await cluster.runs("web");
  const slow = client.watch();
  await isSynced(slow);
  slow.stream.pause();
  const other = new PodsApiClient(join(cluster.dir, "root"));
  t.after(() => other.close());
  const reading = other.watch();
  await isSynced(reading);
  assert.equal(await droppedOf(cluster), 0);
  let round = 0;
  for (; (await droppedOf(cluster)) === 0; round++) {
    assert.ok(round < 2000, "the slow client was never dropped");
    const state = `${round}-${"x".repeat(20_000)}`;
    label(cluster, "web", state);
    await waitFor(() => assert.equal(reading.of(uid).at(-1)?.pod?.metadata.labels?.state, state));
  }
  assert.equal(await droppedOf(cluster), 1);
  slow.stream.resume();
  await waitFor(() => assert.ok(slow.error));
  assert.ok(slow.error?.code === status.RESOURCE_EXHAUSTED, String(slow.error));
  assert.match(String(slow.error?.details), /^watch client channel closed$/);
  label(cluster, "web", "last");
  await waitFor(() => assert.equal(reading.of(uid).at(-1)?.pod?.metadata.labels?.state, "last"));
});

test("only root can open the socket", async (t) => {
  const { cluster } = await startWithPodsApi(t);
  const dir = join(cluster.dir, "root/pods-api");
  assert.equal((await stat(dir)).mode & 0o777, 0o750);
  assert.equal((await stat(join(dir, "pods-api.sock"))).mode & 0o022, 0);
});
