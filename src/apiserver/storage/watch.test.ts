import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import type { WatchEvent } from "./change-event.ts";
import { isStoreError } from "./errors.ts";
import { anObject, brief, memoryStore, pod, take } from "./fixtures.ts";
import type { ApiObject } from "./object.ts";
import type { Store } from "./store.ts";
import { type WatchParameters, type WatchStart, watchStart } from "./watch-start.ts";

const pods = { resource: "pods" };
const after = (version: number): WatchStart => ({ kind: "after", version });
const isExpired = (error: unknown) => isStoreError(error, "Expired");

const add = (store: Store, name: string, fields = {}) => store.create(pod(name), anObject(pod(name), fields));
const touch = (store: Store, name: string, fields = {}) =>
  store.update(pod(name), {}, (current) => ({ ...current, touched: store.currentVersion, ...fields }));

test("a watch from a version shows every change after it, with the state before", async () => {
  const store = memoryStore();
  await add(store, "a");
  const watch = store.watch(pods, { start: after(1) });
  await touch(store, "a", { n: 1 });
  await store.delete(pod("a"));
  const first = (await watch.next()).value as WatchEvent & { type: "MODIFIED" };
  assert.deepEqual(
    [first.type, first.object.value.n, first.previous?.version, first.previous?.value.n],
    ["MODIFIED", 1, 1, undefined],
  );
  const second = (await watch.next()).value as WatchEvent & { type: "DELETED" };
  assert.deepEqual([second.type, second.version], ["DELETED", 3]);
  assert.deepEqual([second.object.value.n, second.object.value.metadata.resourceVersion], [1, "3"]);
  assert.equal(second.previous?.version, 2);
  store.close();
  assert.equal((await watch.next()).done, true);
});

test("the start of a watch", async () => {
  const table: [WatchStart | undefined, string[]][] = [
    [undefined, ["ADDED a@1", "ADDED b@3", "ADDED c@4", "DELETED c@5"]],
    [
      { kind: "state", notOlderThan: 0, markEnd: true },
      ["ADDED a@1", "ADDED b@3", "BOOKMARK @3 end", "ADDED c@4"],
    ],
    [
      { kind: "state", notOlderThan: 4, markEnd: true },
      ["ADDED a@1", "ADDED b@3", "ADDED c@4", "BOOKMARK @4 end"],
    ],
    [{ kind: "now" }, ["ADDED c@4", "DELETED c@5"]],
    [after(2), ["MODIFIED b@3", "ADDED c@4", "DELETED c@5"]],
    [after(3), ["ADDED c@4", "DELETED c@5"]],
    [after(4), ["DELETED c@5"]],
  ];
  for (const [start, expected] of table) {
    const store = memoryStore();
    await add(store, "a");
    await add(store, "b");
    await touch(store, "b");
    const seen = take(store.watch(pods, { start }), expected.length);
    await settle();
    await add(store, "c");
    await settle();
    await store.delete(pod("c"));
    assert.deepEqual(await seen, expected);
    store.close();
  }
});

test("a watch from a future version waits for it, without the changes before it", async () => {
  const store = memoryStore();
  const watch = take(store.watch(pods, { start: after(2) }), 1);
  await settle();
  for (const name of ["a", "b", "c"]) await add(store, name);
  assert.deepEqual(await watch, ["ADDED c@3"]);
  store.close();
});

test("a watch with a state not older than the far future fails", async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const start: WatchStart = { kind: "state", notOlderThan: 5, markEnd: true };
  const failing = assert.rejects(store.watch(pods, { start }).next(), (e) =>
    isStoreError(e, "FutureVersion"),
  );
  await settle();
  await clock.advance(3000);
  await failing;
  store.close();
});

test("a watch from a compacted version expires", async () => {
  for (const recentEvents of [0, 1]) {
    const store = memoryStore({ recentEvents });
    for (const name of ["a", "b", "c"]) await add(store, name);
    store.compact();
    await assert.rejects(store.watch(pods, { start: after(1) }).next(), {
      code: "Expired",
      message: "too old resource version: 1 (3)",
    });
    const watch = store.watch(pods, { start: after(3) });
    await add(store, "d");
    assert.deepEqual(await take(watch, 1), ["ADDED d@4"]);
    store.close();
  }
});

test("an idle watcher does not expire because of writes to other resources", async () => {
  const store = memoryStore({ recentEvents: 0 });
  const watch = take(store.watch(pods, { start: { kind: "now" } }), 1);
  await settle();
  const node = { resource: "nodes", namespace: "", name: "n" };
  await store.create(node, anObject(node));
  store.compact();
  await add(store, "a");
  assert.deepEqual(await watch, ["ADDED a@2"]);
  store.close();
});

test("a slow watcher continues from the disk, and expires when its position is compacted", async () => {
  const store = memoryStore({ recentEvents: 2 });
  await add(store, "a");
  const slow = store.watch(pods, { start: after(0) });
  const slower = store.watch(pods, { start: after(0) });
  assert.deepEqual(await take(slow, 1), ["ADDED a@1"]);
  assert.deepEqual(await take(slower, 1), ["ADDED a@1"]);
  for (let i = 0; i < 600; i++) await touch(store, "a");
  const expected = Array.from({ length: 600 }, (_, i) => `MODIFIED a@${i + 2}`);
  assert.deepEqual(await take(slow, 600), expected);
  store.compact();
  await assert.rejects(slower.next(), isExpired);
  store.close();
});

test("with a selector, objects are added when they start to match and deleted when they stop", async () => {
  const store = memoryStore();
  const scope = { ...pods, matches: (object: ApiObject) => object.on === true };
  const watch = store.watch(scope, { start: { kind: "now" } });
  await add(store, "a", { on: false });
  await touch(store, "a", { on: true });
  await touch(store, "a", { on: true });
  await touch(store, "a", { on: false });
  await add(store, "b", { on: true });
  await store.delete(pod("a"));
  await store.delete(pod("b"));
  const events: WatchEvent[] = [];
  for await (const event of watch) if (events.push(event) === 5) break;
  assert.deepEqual(events.map(brief), [
    "ADDED a@2",
    "MODIFIED a@3",
    "DELETED a@4",
    "ADDED b@5",
    "DELETED b@7",
  ]);
  const left = events[2] as WatchEvent & { type: "DELETED" };
  assert.deepEqual([left.object.value.on, left.object.value.metadata.resourceVersion], [true, "4"]);
  store.close();
});

test("a watch of a namespace or name shows no others", async () => {
  const store = memoryStore();
  const inNamespace = store.watch({ ...pods, namespace: "other" }, { start: { kind: "now" } });
  const ofName = store.watch({ ...pods, namespace: "default", name: "b" }, { start: { kind: "now" } });
  await add(store, "a");
  await add(store, "b");
  await store.create(pod("c", "other"), anObject(pod("c", "other")));
  assert.deepEqual(await take(inNamespace, 1), ["ADDED c@3"]);
  assert.deepEqual(await take(ofName, 1), ["ADDED b@2"]);
  store.close();
});

test("bookmarks with the newest version are sent while there are no events, and at the end", async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const seen: string[] = [];
  const options = { start: { kind: "now" }, bookmarks: true, timeoutMs: 150_000 } as const;
  const watching = (async () => {
    for await (const event of store.watch({ resource: "nodes" }, options)) seen.push(brief(event));
  })();
  await settle();
  await clock.advance(60_000);
  assert.deepEqual(seen, ["BOOKMARK @0"]);
  await add(store, "a");
  await clock.advance(59_999);
  assert.deepEqual(seen, ["BOOKMARK @0"]);
  await clock.advance(1);
  assert.deepEqual(seen, ["BOOKMARK @0", "BOOKMARK @1"]);
  await clock.advance(30_000);
  await watching;
  assert.deepEqual(seen, ["BOOKMARK @0", "BOOKMARK @1", "BOOKMARK @1"]);
  store.close();
});

test("without bookmarks a watch ends silently at its timeout", async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const next = store.watch(pods, { timeoutMs: 1000 }).next();
  await settle();
  await clock.advance(1000);
  assert.equal((await next).done, true);
  store.close();
});

test("an abort ends a watch without an error, in any state", async () => {
  const store = memoryStore();
  await add(store, "a");
  await add(store, "b");
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const inState = store.watch(pods, options);
  const waiting = store.watch(pods, { ...options, start: { kind: "now" } }).next();
  const future = store
    .watch(pods, { ...options, start: { kind: "state", notOlderThan: 9, markEnd: false } })
    .next();
  assert.deepEqual(await take(inState, 1), ["ADDED a@1"]);
  stop.abort();
  assert.deepEqual(
    await Promise.all([inState.next(), waiting, future]),
    Array(3).fill({ done: true, value: undefined }),
  );
  store.close();
});

test("an initial state of many pages is of one version, or expires if it is compacted in the meantime", async () => {
  const store = memoryStore();
  await Promise.all(Array.from({ length: 250 }, (_, i) => add(store, `p${1000 + i}`)));
  const steady = store.watch(pods);
  const late = store.watch(pods);
  await take(steady, 10);
  await take(late, 10);
  await store.delete(pod("p1240"));
  const rest = await take(steady, 241);
  assert.deepEqual([rest[230], rest[240]], ["ADDED p1240@241", "DELETED p1240@251"]);
  store.compact();
  await assert.rejects(take(late, 250), isExpired);
  store.close();
});

test("the parameters of a watch combine as the API's documentation specifies", () => {
  const state = (notOlderThan: number, markEnd = false): WatchStart => ({
    kind: "state",
    notOlderThan,
    markEnd,
  });
  const match = { resourceVersionMatch: "NotOlderThan" };
  const table: [WatchParameters, WatchStart | RegExp][] = [
    [{}, state(0)],
    [{ resourceVersion: "0", allowWatchBookmarks: true }, state(0)],
    [{ resourceVersion: "7" }, after(7)],
    [{ ...match, sendInitialEvents: true, allowWatchBookmarks: true }, state(0, true)],
    [{ ...match, sendInitialEvents: true, resourceVersion: "7", allowWatchBookmarks: true }, state(7, true)],
    [{ ...match, sendInitialEvents: true, resourceVersion: "7" }, state(7)],
    [{ ...match, sendInitialEvents: false }, { kind: "now" }],
    [{ ...match, sendInitialEvents: false, resourceVersion: "7" }, after(7)],
    [{ ...match, resourceVersion: "7" }, /forbidden for watch unless sendInitialEvents is provided/],
    [{ sendInitialEvents: true }, /requires setting resourceVersionMatch to NotOlderThan/],
    [{ sendInitialEvents: true, resourceVersionMatch: "Exact" }, /requires setting/],
    [{ resourceVersion: "x" }, /Invalid value/],
  ];
  for (const [parameters, expected] of table) {
    if (expected instanceof RegExp) assert.throws(() => watchStart(parameters), expected);
    else assert.deepEqual(watchStart(parameters), expected, JSON.stringify(parameters));
  }
});
