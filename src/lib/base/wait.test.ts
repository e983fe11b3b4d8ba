import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FakeClock } from "./fake-clock.ts";
import { deadline, endsWithin, WakeUp, within } from "./wait.ts";

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

describe("WakeUp", () => {
  it("a notification ends the wait in progress, or else the next one, and only one", async () => {
    const clock = new FakeClock();
    const wake = new WakeUp();
    const waiting = wake.wait(clock, 100);
    wake.notify();
    assert.equal(await waiting, true);
    wake.notify();
    wake.notify();
    assert.equal(await wake.wait(clock, 100), true);
    const timedOut = wake.wait(clock, 100);
    await clock.advance(100);
    assert.equal(await timedOut, false);
  });

  it("a wake-up that was discarded ends no wait", async () => {
    const clock = new FakeClock();
    const wake = new WakeUp();
    wake.notify();
    wake.reset();
    const waiting = wake.wait(clock, 100);
    await clock.advance(100);
    assert.equal(await waiting, false);
  });

  it("an abort ends the wait without an error, before and during it", async () => {
    const clock = new FakeClock();
    const wake = new WakeUp();
    const abort = new AbortController();
    assert.equal(await wake.wait(clock, undefined, AbortSignal.abort()), false);
    const waiting = wake.wait(clock, undefined, abort.signal);
    abort.abort();
    assert.equal(await waiting, false);
  });

  it("no notification is missed, and no listener or timer remains, in any order of events", async () => {
    const event = fc.constantFrom("notify", "advance", "wait");
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 20 }), async (events) => {
        const clock = new FakeClock();
        const wake = new WakeUp();
        const { signal } = new AbortController();
        let notified = false;
        let waiting: Promise<void> | undefined;
        for (const event of [...events, "advance"]) {
          if (event === "notify") {
            notified = true;
            wake.notify();
          } else if (event === "advance") await clock.advance(10);
          else
            waiting ??= wake.wait(clock, 10, signal).then((was) => {
              assert.equal(was, notified);
              notified = false;
              waiting = undefined;
            });
          await clock.advance(0);
        }
        assert.equal(waiting, undefined);
        assert.deepEqual([listeners(signal), clock.pending], [0, 0]);
      }),
    );
  });
});

describe("endsWithin", () => {
  it("work that ends in time, too late, with an error and with an abort is distinguished", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const never = new Promise<void>(() => {});
    const results = [Promise.resolve(), never, Promise.reject(new Error("failed"))].map((work) =>
      endsWithin(clock, 100, work, abort.signal).catch((error: Error) => error.message),
    );
    await clock.advance(100);
    const last = endsWithin(clock, 100, never, abort.signal);
    abort.abort();
    await assert.rejects(last, { name: "AbortError" });
    assert.deepEqual(await Promise.all(results), [true, false, "failed"]);
    assert.deepEqual([listeners(abort.signal), clock.pending], [0, 0]);
  });
});

describe("deadline", () => {
  it("the signal is aborted after the time, or with the other signal", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    using alone = deadline(clock, 10);
    using both = deadline(clock, 20, abort.signal);
    await clock.advance(10);
    assert.match(String(alone.signal.reason), /timed out after 10 ms/);
    assert.equal(both.signal.aborted, false);
    abort.abort("stopped");
    assert.equal(both.signal.reason, "stopped");
    using late = deadline(clock, 20, abort.signal);
    assert.equal(late.signal.reason, "stopped");
  });

  it("work that has ended leaves no timer and no listener", () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    {
      using _ = deadline(clock, 10, signal);
      assert.deepEqual([listeners(signal), clock.pending], [1, 1]);
    }
    assert.deepEqual([listeners(signal), clock.pending], [0, 0]);
  });
});

describe("within", () => {
  const timeoutError = () => new Error("too late");

  it("work that ends in time returns its result and leaves no listener or timer", async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    assert.equal(await within({ clock, ms: 10, signal, timeoutError }, async () => 1), 1);
    assert.deepEqual([listeners(signal), clock.pending], [0, 0]);
  });

  it("the work is aborted at the timeout, and even work that ignores that does not delay the caller", async () => {
    const clock = new FakeClock();
    let inner: AbortSignal | undefined;
    const result = within({ clock, ms: 10, signal: undefined, timeoutError }, (signal) => {
      inner = signal;
      return new Promise<void>(() => {});
    });
    await Promise.all([assert.rejects(result, /too late/), clock.advance(10)]);
    assert.equal(inner?.aborted, true);
  });

  it("an abort of the caller aborts the work; an aborted caller starts none", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    let started = 0;
    const run = () =>
      within({ clock, ms: 10, signal: abort.signal, timeoutError }, (signal) => {
        started++;
        return new Promise<void>((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      });
    const first = run();
    abort.abort();
    await assert.rejects(first, { name: "AbortError" });
    await assert.rejects(run(), { name: "AbortError" });
    assert.equal(started, 1);
  });
});
