import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { isStoreError, type StoreErrorCode } from "./errors.ts";
import { anObject, memoryStore, pod } from "./fixtures.ts";
import type { Store } from "./store.ts";
import { type ListParameters, type VersionMatch, versionMatch } from "./version-match.ts";

const pods = { resource: "pods" };
const fails = (code: StoreErrorCode, message?: RegExp) => (error: unknown) =>
  isStoreError(error, code) && (message?.test(error.message) ?? true);

async function filled(names: readonly string[], store = memoryStore()): Promise<Store> {
  for (const name of names) await store.create(pod(name), anObject(pod(name)));
  return store;
}

const names = (page: { items: readonly { key: { name: string } }[] }) =>
  page.items.map((item) => item.key.name);

test("a list is ordered by namespace and name, and has only objects in its scope", async () => {
  const store = await filled(["b", "a"]);
  await store.create(pod("z", "another"), anObject(pod("z", "another")));
  const node = { resource: "nodes", namespace: "", name: "n" };
  await store.create(node, anObject(node));
  assert.deepEqual(names(await store.list(pods)), ["z", "a", "b"]);
  assert.deepEqual(names(await store.list({ ...pods, namespace: "default" })), ["a", "b"]);
  assert.deepEqual(names(await store.list({ ...pods, namespace: "default", name: "b" })), ["b"]);
  assert.deepEqual(names(await store.list({ ...pods, name: "z" })), ["z"]);
  assert.deepEqual(names(await store.list({ ...pods, matches: (o) => o.metadata.name < "b" })), ["a"]);
  assert.deepEqual(names(await store.list({ resource: "nodes" })), ["n"]);
  assert.deepEqual(names(await store.list({ resource: "secrets" })), []);
  assert.equal((await store.list({ resource: "secrets" })).version, 4);
  store.close();
});

test("all pages of a list have the version of the first", async () => {
  const store = await filled(["a", "b", "c", "d", "e"]);
  const first = await store.list(pods, { limit: 2 });
  assert.deepEqual([names(first), first.version, first.remaining], [["a", "b"], 5, 3]);
  await store.delete(pod("c"));
  await store.update(pod("d"), {}, (current) => ({ ...current, changed: true }));
  await store.create(pod("cc"), anObject(pod("cc")));
  const second = await store.list(pods, { limit: 2, continueToken: first.continueToken });
  assert.deepEqual([names(second), second.version, second.remaining], [["c", "d"], 5, 1]);
  assert.equal(second.items[1]?.value.changed, undefined);
  const third = await store.list(pods, { limit: 2, continueToken: second.continueToken });
  assert.deepEqual([names(third), third.version, third.remaining], [["e"], 5, undefined]);
  assert.equal(third.continueToken, undefined);
  store.close();
});

test("a limit counts matching objects, and the remaining count is unknown with a selector", async () => {
  const store = await filled(Array.from({ length: 1200 }, (_, i) => `p${String(i).padStart(4, "0")}`));
  const scope = { ...pods, matches: (o: { metadata: { name: string } }) => o.metadata.name.endsWith("99") };
  const first = await store.list(scope, { limit: 7 });
  assert.deepEqual(names(first), ["p0099", "p0199", "p0299", "p0399", "p0499", "p0599", "p0699"]);
  assert.equal(first.remaining, undefined);
  const rest = await store.list(scope, { limit: 7, continueToken: first.continueToken });
  assert.deepEqual(names(rest), ["p0799", "p0899", "p0999", "p1099", "p1199"]);
  assert.equal(rest.continueToken, undefined);
  assert.equal((await store.list(pods)).items.length, 1200);
  store.close();
});

test("a page that ends with the last object has no token", async () => {
  const store = await filled(["a", "b"]);
  assert.equal((await store.list(pods, { limit: 2 })).continueToken, undefined);
  assert.equal((await store.list(pods, { limit: 0 })).continueToken, undefined);
  store.close();
});

test("a continued list whose version is compacted expires, with a token to continue inconsistently", async () => {
  const store = await filled(["a", "b", "c"]);
  const first = await store.list(pods, { limit: 1 });
  await store.create(pod("bb"), anObject(pod("bb")));
  store.compact();
  let token: string | undefined;
  await assert.rejects(store.list(pods, { limit: 1, continueToken: first.continueToken }), (error) => {
    token = isStoreError(error) ? error.continueToken : undefined;
    return fails("Expired", /continue parameter is too old/)(error);
  });
  const rest = await store.list(pods, { continueToken: token });
  assert.deepEqual([names(rest), rest.version], [["b", "bb", "c"], 4]);
  store.close();
});

test("a list of an exact version returns that state, or fails if it is compacted or in the future", async () => {
  const store = await filled(["a", "b"]);
  await store.delete(pod("a"));
  const exact = (version: number) => store.list(pods, { match: { kind: "exact", version } });
  assert.deepEqual(names(await exact(1)), ["a"]);
  assert.deepEqual(names(await exact(2)), ["a", "b"]);
  assert.deepEqual(names(await exact(3)), ["b"]);
  await assert.rejects(exact(4), fails("FutureVersion"));
  store.compact();
  await assert.rejects(exact(2), fails("Expired", /list is too old/));
  assert.deepEqual(names(await exact(3)), ["b"]);
  store.close();
});

test("a list not older than a future version waits for it, for a limited time", async () => {
  const clock = new FakeClock();
  const store = await filled(["a"], memoryStore({ clock }));
  const notOlderThan = (version: number) => store.list(pods, { match: { kind: "notOlderThan", version } });
  assert.deepEqual(names(await notOlderThan(1)), ["a"]);
  const waiting = notOlderThan(2);
  await store.create(pod("b"), anObject(pod("b")));
  assert.equal((await waiting).version, 2);
  const failing = assert.rejects(
    notOlderThan(9),
    fails("FutureVersion", /^Too large resource version: 9, current: 2$/),
  );
  await settle();
  await clock.advance(3000);
  await failing;
  const stop = new AbortController();
  const aborted = store.list(pods, { match: { kind: "notOlderThan", version: 9 }, signal: stop.signal });
  stop.abort();
  await assert.rejects(aborted, { name: "AbortError" });
  const closed = notOlderThan(9);
  store.close();
  await assert.rejects(closed, fails("Closed"));
});

test("resourceVersion and resourceVersionMatch combine as the API's documentation specifies", () => {
  const latest: VersionMatch = { kind: "latest" };
  const table: [ListParameters, VersionMatch | RegExp][] = [
    [{}, latest],
    [{ resourceVersion: "" }, latest],
    [{ resourceVersion: "0" }, latest],
    [{ resourceVersion: "0", limit: 5 }, latest],
    [{ resourceVersion: "7" }, { kind: "notOlderThan", version: 7 }],
    [
      { resourceVersion: "7", limit: 5 },
      { kind: "exact", version: 7 },
    ],
    [
      { resourceVersion: "7", resourceVersionMatch: "NotOlderThan", limit: 5 },
      { kind: "notOlderThan", version: 7 },
    ],
    [{ resourceVersion: "0", resourceVersionMatch: "NotOlderThan" }, latest],
    [
      { resourceVersion: "7", resourceVersionMatch: "Exact" },
      { kind: "exact", version: 7 },
    ],
    [{ continueToken: "x" }, latest],
    [{ continueToken: "x", resourceVersion: "0" }, latest],
    [{ continueToken: "x", resourceVersion: "7" }, /not allowed when using continue/],
    [{ continueToken: "x", resourceVersionMatch: "Exact" }, /forbidden when continue is provided/],
    [{ resourceVersionMatch: "Exact" }, /forbidden unless resourceVersion is provided/],
    [{ resourceVersion: "0", resourceVersionMatch: "Exact" }, /forbidden for resourceVersion "0"/],
    [{ resourceVersion: "7", resourceVersionMatch: "Newest" }, /Unsupported value: "Newest"/],
    [{ resourceVersion: "-1" }, /Invalid value: "-1"/],
    [{ resourceVersion: "1.5" }, /Invalid value/],
    [{ resourceVersion: "9999999999999999" }, /Invalid value/],
  ];
  for (const [parameters, expected] of table) {
    if (expected instanceof RegExp)
      assert.throws(() => versionMatch(parameters), fails("BadRequest", expected));
    else assert.deepEqual(versionMatch(parameters), expected, JSON.stringify(parameters));
  }
});

test("a continue token survives a round trip, and invalid tokens are rejected", () => {
  for (const version of [5, "latest"] as const) {
    const token = { version, after: { namespace: "", name: "a/ü" } };
    assert.deepEqual(decodeContinue(encodeContinue(token)), token);
  }
  const encoded = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString("base64url");
  const bad = [
    ...["x", "", encoded(null), encoded({}), encoded({ v: 2, rv: 1, after: ["", "a"] })],
    ...[encoded({ v: 1, rv: -2, after: ["", "a"] }), encoded({ v: 1, rv: 1, after: ["a"] })],
    ...[encoded({ v: 1, rv: 1.5, after: ["", "a"] }), encoded({ v: 1, rv: 1, after: ["a", 1] })],
  ];
  for (const text of bad) assert.throws(() => decodeContinue(text), fails("BadRequest", /not valid/), text);
});

test("a token of a version that was never assigned is rejected", async () => {
  const store = await filled(["a"]);
  const continueToken = encodeContinue({ version: 9, after: { namespace: "", name: "" } });
  await assert.rejects(store.list(pods, { continueToken }), fails("FutureVersion"));
  store.close();
});
