import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { type CompactionStep, type HistoryLimits, planCompaction } from "./compaction-plan.ts";
import { anObject, memoryStore, pod } from "./fixtures.ts";

test("the oldest changes are compacted when they are too old, too many or too large, and no more than needed", () => {
  const rows = [1, 2, 3, 4].map((i) => ({ version: i * 10, at: i * 1000, chars: 100 }));
  const all = { events: 4, chars: 400 };
  const free: HistoryLimits = { maxAgeMs: 60_000, maxEvents: 100, maxChars: 10_000 };
  const compacted = (version: number, events: number): CompactionStep => ({
    version,
    events,
    chars: events * 100,
  });
  const table: [Partial<HistoryLimits>, CompactionStep | undefined][] = [
    [{}, undefined],
    [{ maxEvents: 4 }, undefined],
    [{ maxEvents: 3 }, compacted(10, 1)],
    [{ maxEvents: 0 }, compacted(40, 4)],
    [{ maxChars: 400 }, undefined],
    [{ maxChars: 399 }, compacted(10, 1)],
    [{ maxChars: 150 }, compacted(30, 3)],
    [{ maxAgeMs: 9000 }, undefined],
    [{ maxAgeMs: 8999 }, compacted(10, 1)],
    [{ maxAgeMs: 7500, maxEvents: 1 }, compacted(30, 3)],
  ];
  for (const [limits, expected] of table) {
    assert.deepEqual(
      planCompaction(rows, all, { ...free, ...limits }, 10_000),
      expected,
      JSON.stringify(limits),
    );
  }
});

test("the history is compacted automatically: by size after writes, by age on a timer", async () => {
  const clock = new FakeClock();
  const limits = { maxAgeMs: 60_000, maxEvents: 1000, maxChars: 1e9 };
  const store = memoryStore({ clock, limits });
  await store.create(pod("a"), anObject(pod("a"), { n: 0 }));
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Array.from({ length: 200 }, () =>
        store.update(pod("a"), {}, (current) => ({ ...current, n: Number(current.n) + 1 })),
      ),
    );
  }
  await settle();
  assert.equal(store.currentVersion, 2001);
  assert.ok(store.compactedVersion >= 2001 - 1100, `compacted to ${store.compactedVersion}`);
  assert.ok(store.compactedVersion <= 2001 - 1000, `compacted to ${store.compactedVersion}`);
  await clock.advance(59_000);
  assert.ok(store.compactedVersion < 2001);
  await clock.advance(14_000);
  assert.equal(store.compactedVersion, 2001);
  assert.equal((await store.get(pod("a"))).value.n, 2000);
  store.close();
  assert.equal(clock.pending, 0);
});

test("compaction keeps the current state, and nothing of deleted objects", async () => {
  const store = memoryStore();
  for (const name of ["a", "b", "c"]) await store.create(pod(name), anObject(pod(name)));
  await store.delete(pod("b"));
  await store.update(pod("c"), {}, (current) => ({ ...current, n: 1 }));
  const before = (await store.list({ resource: "pods" })).items.map((item) => item.text);
  store.compact();
  assert.equal(store.compactedVersion, 5);
  assert.deepEqual(
    (await store.list({ resource: "pods" })).items.map((item) => item.text),
    before,
  );
  assert.equal((await store.create(pod("b"), anObject(pod("b")))).version, 6);
  store.close();
});
