import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeApi } from "../../../../test/cluster/fake-api.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { ApiSource } from "./api-source.ts";

/** /pods has them, and server-side apply shows in them what was chosen explicitly. */
const managedFields = [
  {
    manager: "kubectl",
    operation: "Apply",
    apiVersion: "v1",
    time: "2026-01-02T03:04:05Z",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:spec": { "f:dnsPolicy": {} } },
  },
];
const podOn = (nodeName: string, name: string, more: object = {}) => ({
  metadata: { namespace: "default", name, uid: `uid-${name}`, managedFields, ...more },
  spec: { nodeName, containers: [{ name: "c" }] },
});

async function sourceOn(t: TestContext, api: FakeApi, after = Promise.resolve()) {
  const clock = new FakeClock();
  const sets: Pod[][] = [];
  const changed: string[] = [];
  const source = new ApiSource({
    transport: api,
    nodeName: "n1",
    after,
    clock,
    logger: silentLogger,
    onPod: (pod) => changed.push(pod.metadata.name),
  });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await source.done;
  });
  await source.start(stop.signal, (pods) => sets.push(pods));
  /** Runs everything that is pending now. */
  const settle = async () => {
    for (let i = 0; i < 20; i++) await turn();
  };
  return { source, sets, changed, clock, stop, settle };
}
const names = (pods: Pod[] | undefined) => pods?.map(({ metadata }) => metadata.name).sort();

test("the pods of this node, and of no other, are emitted as one set when the list is complete", async (t) => {
  const api = new FakeApi();
  for (const name of ["a", "b"]) api.put("pods", podOn("n1", name));
  api.put("pods", podOn("n2", "c"));
  const { sets, settle } = await sourceOn(t, api);
  await settle();
  assert.equal(sets.length, 1);
  assert.deepEqual(names(sets[0]), ["a", "b"]);
  assert.deepEqual(
    sets[0]?.map(({ kind, apiVersion, metadata }) => [kind, apiVersion, metadata.managedFields]),
    [
      ["Pod", "v1", managedFields],
      ["Pod", "v1", managedFields],
    ],
  );
});

test("a node without pods emits an empty set; an unreachable server none", async (t) => {
  const api = new FakeApi();
  api.goDown();
  const { sets, clock, settle } = await sourceOn(t, api);
  await settle();
  await clock.advance(10_000);
  await settle();
  assert.deepEqual(sets, []);
  api.recover();
  await clock.advance(30_000);
  await settle();
  assert.deepEqual(sets, [[]]);
});

test("nothing is requested before the node is known", async (t) => {
  const api = new FakeApi();
  const node = Promise.withResolvers<void>();
  const { sets, settle } = await sourceOn(t, api, node.promise);
  await settle();
  assert.deepEqual([api.watches, sets], [[], []]);
  node.resolve();
  await settle();
  assert.deepEqual([api.watches, sets], [["pods"], [[]]]);
});

test("changes that arrive together are emitted once, and unchanged pods are the same objects", async (t) => {
  const api = new FakeApi();
  api.put("pods", podOn("n1", "a"));
  const { sets, changed, settle } = await sourceOn(t, api);
  await settle();
  for (const name of ["b", "c", "d"]) api.put("pods", podOn("n1", name));
  await settle();
  assert.deepEqual(names(sets.at(-1)), ["a", "b", "c", "d"]);
  assert.ok(sets.length <= 3, `${sets.length} sets`);
  assert.equal(sets.at(-1)?.[0], sets[0]?.[0]);
  assert.deepEqual(changed, ["a", "b", "c", "d"]);
});

test("a deleted pod leaves the set; one that cannot be decoded is kept", async (t) => {
  const api = new FakeApi();
  for (const name of ["a", "b"]) api.put("pods", podOn("n1", name));
  const { sets, settle } = await sourceOn(t, api);
  await settle();
  api.deletePod("a", 0);
  api.put("pods", { ...podOn("n1", "b", { labels: { x: "1" } }), spec: { nodeName: "n1" } });
  await settle();
  assert.deepEqual(names(sets.at(-1)), ["b"]);
  assert.equal(sets.at(-1)?.[0]?.metadata.labels, undefined);
});

test("a stopped source emits nothing more", async (t) => {
  const api = new FakeApi();
  const { sets, stop, source, settle } = await sourceOn(t, api);
  await settle();
  api.put("pods", podOn("n1", "a"));
  stop.abort();
  await source.done;
  await settle();
  assert.deepEqual(sets, [[]]);
});

const uid = "5b8c1e0e-3c1f-4a53-9a39-2a9b8a6c8f10";
const malformed: readonly [string, (pod: ReturnType<typeof podOn>) => object][] = [
  ["whose UID is a path", (pod) => ({ ...pod, metadata: { ...pod.metadata, uid: "../../outside" } })],
  ["whose UID is the parent directory", (pod) => ({ ...pod, metadata: { ...pod.metadata, uid: ".." } })],
  ["whose name is a path", (pod) => ({ ...pod, metadata: { ...pod.metadata, name: "a/../../b" } })],
  ["whose namespace is a path", (pod) => ({ ...pod, metadata: { ...pod.metadata, namespace: "../x" } })],
  ...(["containers", "initContainers", "ephemeralContainers", "volumes"] as const).map(
    (list): (typeof malformed)[number] => [
      `with a path as a name in ${list}`,
      (pod) => ({ ...pod, spec: { ...pod.spec, [list]: [{ name: "../../../etc" }] } }),
    ],
  ),
  ["with a volume without a name", (pod) => ({ ...pod, spec: { ...pod.spec, volumes: [{}] } })],
  ["with null as a container", (pod) => ({ ...pod, spec: { ...pod.spec, containers: [null] } })],
  ["with a number as volumes", (pod) => ({ ...pod, spec: { ...pod.spec, volumes: 5 } })],
  [
    "with an object as a quantity",
    (pod) => ({
      ...pod,
      spec: { ...pod.spec, containers: [{ name: "c", resources: { limits: { cpu: {} } } }] },
    }),
  ],
  ["with a text as its status", (pod) => ({ ...pod, status: "Running" })],
  ["that is of another kind", (pod) => ({ ...pod, kind: "Secret" })],
];
for (const [which, change] of malformed)
  test(`a pod ${which} is not emitted, and the others are`, async (t) => {
    const api = new FakeApi();
    const pod = podOn("n1", "bad", { uid });
    assert.notDeepEqual(change(pod), pod);
    api.put("pods", change(pod) as typeof pod);
    api.put("pods", podOn("n1", "good"));
    const { sets, settle } = await sourceOn(t, api);
    await settle();
    assert.deepEqual(names(sets.at(-1)), ["good"]);
  });

test("fields of a status that only a newer API server knows are kept, other unknown fields are not", async (t) => {
  const api = new FakeApi();
  const status = { phase: "Running", newField: { a: 1 }, hostIP: null };
  api.put("pods", { ...podOn("n1", "a"), status, newPart: 1 });
  const { sets, settle } = await sourceOn(t, api);
  await settle();
  const [pod] = sets.at(-1) ?? [];
  assert.deepEqual(pod?.status, { phase: "Running", newField: { a: 1 } });
  assert.ok(pod && !("newPart" in pod));
});
