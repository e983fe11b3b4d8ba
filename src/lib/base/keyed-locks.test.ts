import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sleep } from "./clock.ts";
import { isAbort } from "./errors.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { KeyedLocks } from "./keyed-locks.ts";

const release = (held: Disposable) => held[Symbol.dispose]();

describe("locks by key", () => {
  it("a key has one holder at a time, in the order of requests; other keys do not wait", async () => {
    const locks = new KeyedLocks();
    const log: string[] = [];
    const first = await locks.acquire(["a"]);
    const wait = (name: string, keys: string[]) =>
      locks.acquire(keys).then((held) => {
        log.push(name);
        return held;
      });
    const second = wait("second", ["a", "b"]);
    const third = wait("third", ["a"]);
    release(await locks.acquire(["c"]));
    await settle();
    assert.deepEqual(log, []);
    release(first);
    release(await second);
    release(await third);
    assert.deepEqual(log, ["second", "third"]);
    assert.deepEqual(
      ["a", "b", "c"].filter((key) => locks.isHeld(key)),
      [],
    );
  });

  it("a key that is named twice is acquired once", async () => {
    const locks = new KeyedLocks();
    release(await locks.acquire(["a", "a"]));
    assert.equal(locks.isHeld("a"), false);
  });

  it("a caller that gives up leaves the queue and releases what it holds", async () => {
    const locks = new KeyedLocks();
    const abort = new AbortController();
    const holder = await locks.acquire(["b"]);
    const waiting = locks.acquire(["a", "b"], abort.signal);
    const next = locks.acquire(["a"]);
    await settle();
    abort.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    release(await next);
    release(holder);
    release(await locks.acquire(["a", "b"]));
  });

  it("an aborted caller gets no key, even if it is free", async () => {
    const locks = new KeyedLocks();
    await assert.rejects(locks.acquire(["a"], AbortSignal.abort()), { name: "AbortError" });
    assert.equal(locks.isHeld("a"), false);
  });

  it("work that fails releases its keys", async () => {
    const locks = new KeyedLocks();
    const work = async () => {
      using _ = await locks.acquire(["a", "b"]);
      throw new Error("failed");
    };
    await assert.rejects(work(), /failed/);
    release(await locks.acquire(["a", "b"]));
  });

  it("no two holders have a key, no caller waits forever and no listener remains, whatever is requested and aborted", async () => {
    const request = fc.record({
      keys: fc.subarray(["a", "b", "c", "d"]).chain((keys) => fc.shuffledSubarray(keys)),
      holdMs: fc.nat(5),
      abortMs: fc.option(fc.nat(40), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 20 }), async (requests) => {
        const locks = new KeyedLocks();
        const clock = new FakeClock();
        const stop = new AbortController();
        const held = new Set<string>();
        const work = async ({ keys, holdMs, abortMs }: (typeof requests)[number]) => {
          const abort = new AbortController();
          if (abortMs !== undefined) clock.after(abortMs, () => abort.abort());
          try {
            using _ = await locks.acquire(keys, abortMs === undefined ? stop.signal : abort.signal);
            for (const key of keys) {
              assert.ok(!held.has(key), key);
              held.add(key);
            }
            await sleep(clock, holdMs);
            for (const key of keys) held.delete(key);
          } catch (error) {
            assert.ok(abortMs !== undefined && isAbort(error));
          }
        };
        const all = Promise.all(requests.map(work));
        await clock.advance(200);
        await all;
        assert.equal(getEventListeners(stop.signal, "abort").length, 0);
        assert.ok(!["a", "b", "c", "d"].some((key) => locks.isHeld(key)));
      }),
      { numRuns: 50 },
    );
  });
});
