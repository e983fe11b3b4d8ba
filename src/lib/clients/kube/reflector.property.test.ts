import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../test/faults/seeded-random.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { silentLogger } from "../../base/logger.ts";
import { Reflector } from "./reflector.ts";
import { type FakeObject, FakeServer } from "./reflector-fake-server.ts";
import type { Change } from "./store.ts";

const histories = 2000;
const names = ["a", "b", "c", "d", "e"];

const versionOf = (object: FakeObject) => Number(object.metadata.resourceVersion);

/** Applies the events it receives, and fails on anything that cannot be a history. */
class Consumer {
  readonly view = new Map<string, FakeObject>();
  readonly #newest = new Map<string, number>();
  readonly #server: FakeServer;
  reported = 0;

  constructor(server: FakeServer) {
    this.#server = server;
  }

  take(change: Change<FakeObject>): void {
    this.reported++;
    const { type, key, object } = change;
    const before = this.view.get(key);
    const what = `${type} ${key} at ${versionOf(object)}, known version ${before && versionOf(before)}`;
    const newest = this.#newest.get(key) ?? 0;
    switch (type) {
      case "added":
        assert.equal(before, undefined, `${what}: a deletion was lost, or an addition was repeated`);
        assert.ok(versionOf(object) > newest, `${what}: the object was already deleted`);
        break;
      case "updated":
        assert.equal(change.oldObject, before, `${what}: does not follow the previous event`);
        assert.equal(object.metadata.uid, before?.metadata.uid, `${what}: another object`);
        assert.ok(versionOf(object) > newest, `${what}: older than the previous event, or repeated`);
        break;
      case "deleted":
        assert.equal(object.metadata.uid, before?.metadata.uid, `${what}: another object, or repeated`);
        assert.ok(versionOf(object) >= newest, `${what}: older than the previous event`);
        assert.ok(this.#server.wasDeleted(object.metadata.uid), `${what}: the object did not exist`);
        break;
      default:
        change satisfies never;
    }
    this.#newest.set(key, Math.max(newest, versionOf(object)));
    if (type === "deleted") this.view.delete(key);
    else this.view.set(key, object);
  }
}

async function runHistory(seed: number): Promise<number> {
  const { below } = seededRandom(seed);
  const clock = new FakeClock();
  const faults = [0, 5, 20, 40][below(4)]!;
  const compacts = below(4) > 0;
  const streamedLists = (["served", "rejected", "ignored"] as const)[below(3)]!;
  const streamList = below(2) === 0;
  const server = new FakeServer({
    clock,
    below,
    faults,
    streamedLists,
    pages: below(2) === 0,
    gone: below(2) === 0 ? "response" : "event",
    rejectsOldLists: below(2) === 0,
  });
  const write = () => {
    const name = names[below(names.length)]!;
    if (below(4) === 0) server.delete(name);
    else server.put(name, below(15) === 0);
    if (compacts && below(5) === 0) server.compact();
  };
  const problems: unknown[] = [];
  const checked = (check: () => void) => {
    try {
      check();
    } catch (error) {
      problems.push(error);
    }
  };
  const consumer = new Consumer(server);
  const reflector = new Reflector<FakeObject>({
    name: "things",
    path: "/api/v1/things",
    transport: server,
    clock,
    logger: silentLogger,
    transform: (raw) => {
      if (raw.broken) throw new Error("broken");
      return raw as unknown as FakeObject;
    },
    onChange: (change) => checked(() => consumer.take(change)),
    onBatch: () =>
      checked(() => assert.deepEqual(new Set(consumer.view.values()), new Set(reflector.store.list()))),
    streamList,
    pageSize: 2,
    random: () => below(1000) / 1000,
  });
  for (let i = below(12); i > 0; i--) write();
  const stop = new AbortController();
  await reflector.start(stop.signal);
  for (let i = 5 + below(25); i > 0; i--) {
    if (below(3) > 0) await clock.advance(below(below(4) === 0 ? 120_000 : 2000));
    write();
  }
  server.heal();
  await clock.advance(8 * 60_000);

  assert.deepEqual(problems, []);
  assert.ok(reflector.hasSynced);
  if (faults === 0 && !compacts)
    assert.equal(server.lists, streamList && streamedLists === "served" ? 0 : 1, "lists without faults");
  assert.deepEqual(reflector.health(), { ok: true });
  for (const [name, object] of server.objects()) {
    const kept = reflector.store.get("ns", name);
    // An object that can no longer be decoded may remain in an earlier version, but never has the content of another object.
    if (object.broken) assert.ok(!kept || kept.metadata.uid === object.metadata.uid);
    else assert.deepEqual(kept, object);
  }
  for (const kept of reflector.store.list())
    assert.ok(server.objects().has(kept.metadata.name), `${kept.metadata.name} was deleted`);
  assert.deepEqual(new Set(consumer.view.values()), new Set(reflector.store.list()));

  stop.abort();
  await clock.advance(0);
  await reflector.done;
  assert.equal(clock.pending, 0, "timers remain");
  return consumer.reported;
}

test("with any server faults, each change is reported once and in order, and the store finally equals the server's state", async () => {
  let reported = 0;
  for (let seed = 1; seed <= histories; seed++) {
    try {
      reported += await runHistory(seed);
    } catch (cause) {
      throw new Error(`history ${seed}`, { cause });
    }
  }
  assert.ok(reported > 10 * histories, `only ${reported} changes were reported: the histories are too short`);
});
