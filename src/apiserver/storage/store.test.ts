import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isStoreError, type StoreErrorCode } from "./errors.ts";
import { anObject, memoryStore, pod } from "./fixtures.ts";
import type { ApiObject } from "./object.ts";
import { checkPreconditions, Store } from "./store.ts";

const fails = (code: StoreErrorCode, message?: RegExp) => (error: unknown) =>
  isStoreError(error, code) && (message?.test(error.message) ?? true);

const withField = (field: string) => (current: ApiObject) => ({ ...current, field });

test("a created object is read back with its version in its text", async () => {
  const store = memoryStore({ firstVersion: 41 });
  const created = await store.create(pod("a"), anObject(pod("a"), { spec: { x: 1 } }));
  assert.equal(created.version, 42);
  assert.equal(store.currentVersion, 42);
  const read = await store.get(pod("a"));
  assert.equal(read.text, created.text);
  assert.deepEqual(read.value, {
    metadata: { name: "a", namespace: "default", uid: "uid-of-a", resourceVersion: "42" },
    spec: { x: 1 },
  });
  assert.equal(read.uid, "uid-of-a");
  store.close();
});

test("all resources share one counter", async () => {
  const store = memoryStore();
  const lease = { resource: "leases.coordination.k8s.io", namespace: "kube-node-lease", name: "n" };
  const versions = [
    (await store.create(pod("a"), anObject(pod("a")))).version,
    (await store.create(lease, anObject(lease))).version,
    (await store.update(pod("a"), {}, withField("1"))).version,
    (await store.delete(lease)).version,
  ];
  assert.deepEqual(versions, [1, 2, 3, 4]);
  store.close();
});

test("failed writes have the messages of the API", async () => {
  const store = memoryStore({ freshnessMs: 0 });
  const first = await store.create(pod("a"), anObject(pod("a")));
  await store.update(pod("a"), { version: first.version }, withField("1"));
  const stale = { version: first.version };
  const modified =
    /^Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest/;
  const table: [() => Promise<unknown>, StoreErrorCode, number, RegExp][] = [
    [() => store.create(pod("a"), anObject(pod("a"))), "AlreadyExists", 409, /^pods "a" already exists$/],
    [() => store.get(pod("b")), "NotFound", 404, /^pods "b" not found$/],
    [() => store.get(pod("a", "other")), "NotFound", 404, /^pods "a" not found$/],
    [() => store.update(pod("b"), {}, withField("2")), "NotFound", 404, /^pods "b" not found$/],
    [() => store.delete(pod("b")), "NotFound", 404, /^pods "b" not found$/],
    [() => store.update(pod("a"), stale, withField("2")), "Conflict", 409, modified],
    [() => store.delete(pod("a"), stale), "Conflict", 409, modified],
    [
      () => store.delete(pod("a"), { uid: "x" }),
      "Conflict",
      409,
      /Precondition failed: UID in precondition: x, UID/,
    ],
    [() => store.update(pod("a"), {}, () => anObject(pod("b"))), "BadRequest", 400, /cannot be stored as/],
    [
      () => store.get(pod("a"), { notOlderThan: 99 }),
      "FutureVersion",
      504,
      /^Too large resource version: 99/,
    ],
  ];
  for (const [call, code, status, message] of table) {
    await assert.rejects(
      call(),
      (error) => fails(code, message)(error) && isStoreError(error) && error.apiStatus.status === status,
    );
  }
  assert.equal(store.currentVersion, 2);
  store.close();
});

test("a write that changes nothing gets no version, regardless of the order of its fields", async () => {
  const store = memoryStore();
  await store.create(pod("a"), anObject(pod("a"), { spec: { x: 1, y: 2 } }));
  const same = await store.update(pod("a"), {}, (current) => ({
    spec: { y: 2, x: 1 },
    metadata: { ...current.metadata, resourceVersion: "77" },
  }));
  assert.equal(same.version, 1);
  assert.equal(store.currentVersion, 1);
  store.close();
});

test("concurrent writes are applied in order, and each sees those before it", async () => {
  const store = memoryStore();
  await store.create(pod("a"), anObject(pod("a"), { n: 0 }));
  const add = (current: ApiObject) => ({ ...current, n: Number(current.n) + 1 });
  const results = await Promise.allSettled([
    ...Array.from({ length: 300 }, () => store.update(pod("a"), {}, add)),
    store.update(pod("a"), { version: 1 }, add),
  ]);
  assert.equal((await store.get(pod("a"))).value.n, 300);
  assert.deepEqual(
    results.slice(0, 300).map((r) => (r.status === "fulfilled" ? r.value.version : r.reason)),
    Array.from({ length: 300 }, (_, i) => i + 2),
  );
  assert.equal(results[300]?.status, "rejected");
  store.close();
});

test("a mutation that throws fails alone", async () => {
  const store = memoryStore();
  const results = await Promise.allSettled([
    store.create(pod("a"), anObject(pod("a"))),
    store.update(pod("a"), {}, () => {
      throw new Error("not allowed");
    }),
    store.create(pod("b"), anObject(pod("b"))),
  ]);
  assert.deepEqual(
    results.map((r) => (r.status === "fulfilled" ? r.value.version : r.reason.message)),
    [1, "not allowed", 2],
  );
  store.close();
});

test("a mutation must not read the store, because writes it would see may be rolled back", async () => {
  const store = memoryStore();
  let read: Promise<unknown> | undefined;
  await store.create(pod("a"), anObject(pod("a")));
  await store.update(pod("a"), {}, (current) => {
    read = assert.rejects(store.get(pod("a")), /must not read/);
    return current;
  });
  await read;
  store.close();
});

test("apply creates, updates, deletes or does nothing, in one step", async () => {
  const store = memoryStore();
  const key = pod("a");
  assert.equal(await store.apply(key, () => ({ kind: "none" })), undefined);
  assert.equal(await store.apply(key, () => ({ kind: "delete" })), undefined);
  const created = await store.apply(key, (current) => {
    assert.equal(current, undefined);
    return { kind: "put", object: anObject(key) };
  });
  assert.equal(created?.version, 1);
  const deleted = await store.apply(key, (current) => {
    checkPreconditions(key, current!, { uid: "uid-of-a", version: 1 });
    return { kind: "delete", last: { ...current!.copy(), phase: "Failed" } };
  });
  assert.deepEqual(
    [deleted?.version, deleted?.value.phase, deleted?.value.metadata.resourceVersion],
    [2, "Failed", "2"],
  );
  await assert.rejects(store.get(key), fails("NotFound"));
  store.close();
});

test("a get not older than a future version waits for it", async () => {
  const store = memoryStore();
  await store.create(pod("a"), anObject(pod("a")));
  const read = store.get(pod("a"), { notOlderThan: 2 });
  await store.update(pod("a"), {}, withField("new"));
  assert.equal((await read).value.field, "new");
  store.close();
});

test("on disk: state, versions and history survive a close; only the owner can read the file", async () => {
  const directory = mkdtempSync(join(tmpdir(), "store-"));
  const path = join(directory, "api.db");
  try {
    const first = Store.open({ path, firstVersion: 0 });
    await first.create(pod("a"), anObject(pod("a")));
    const pending = first.delete(pod("a"));
    assert.throws(() => Store.open({ path }), fails("StorageFailed", /locked/), "one writer only");
    first.close();
    assert.equal((await pending).version, 2, "a write that was requested before the close is completed");
    await assert.rejects(first.get(pod("a")), fails("Closed"));
    await assert.rejects(first.create(pod("b"), anObject(pod("b"))), fails("Closed"));

    const second = Store.open({ path });
    assert.equal(second.currentVersion, 2);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const watch = second.watch({ resource: "pods" }, { start: { kind: "after", version: 1 } });
    const { value } = await watch.next();
    assert.deepEqual([value?.type, value?.version], ["DELETED", 2]);
    assert.equal((await second.create(pod("a"), anObject(pod("a")))).version, 3);
    second.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a file that is not a database is rejected", () => {
  const directory = mkdtempSync(join(tmpdir(), "store-"));
  const path = join(directory, "api.db");
  try {
    writeFileSync(path, "something else ".repeat(500));
    assert.throws(() => Store.open({ path }), fails("StorageFailed", /not a database/));
    assert.throws(
      () => Store.open({ path: join(directory, "no", "api.db") }),
      fails("StorageFailed", /ENOENT/),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a new database starts with a later version than a lost one", () => {
  const before = Date.now();
  const store = Store.open({ path: ":memory:" });
  assert.ok(store.currentVersion >= before);
  assert.equal(store.compactedVersion, store.currentVersion);
  store.close();
});
