import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { settle } from "../../../lib/base/fake-clock.ts";
import { ResourceLocks } from "./resource-locks.ts";

const never = new AbortController().signal;

describe("locks of resources", () => {
  it("one holder at a time, in the order of requests; others do not wait", async () => {
    const locks = new ResourceLocks();
    const log: string[] = [];
    const first = await locks.acquire(["a"], never);
    const second = locks.acquire(["a", "b"], never).then((release) => {
      log.push("second");
      return release;
    });
    const third = locks.acquire(["a"], never).then((release) => {
      log.push("third");
      return release;
    });
    (await locks.acquire(["c"], never))();
    await settle();
    assert.deepEqual(log, []);
    first();
    (await second)();
    (await third)();
    assert.deepEqual(log, ["second", "third"]);
  });

  it("opposite orders do not block each other", async () => {
    const locks = new ResourceLocks();
    const work = async (names: string[]) => {
      for (let i = 0; i < 20; i++) {
        const release = await locks.acquire(names, never);
        await settle(1);
        release();
      }
    };
    await Promise.all([work(["a", "b"]), work(["b", "a"]), work(["b", "c", "a"])]);
  });

  it("a caller that gives up leaves the queue and releases what it holds", async () => {
    const locks = new ResourceLocks();
    const abort = new AbortController();
    const holder = await locks.acquire(["b"], never);
    const waiting = locks.acquire(["a", "b"], abort.signal);
    const next = locks.acquire(["a"], never);
    await settle();
    abort.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    (await next)();
    holder();
    (await locks.acquire(["a", "b"], never))();
  });
});
