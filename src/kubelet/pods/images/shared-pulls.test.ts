import assert from "node:assert/strict";
import { test } from "node:test";
import { isAbort } from "../../../lib/base/errors.ts";
import { settle } from "../../../lib/base/fake-clock.ts";
import { SharedPulls } from "./shared-pulls.ts";

function setUp() {
  const pulls = new SharedPulls<string, string>();
  const started: { name: string; end: () => void; wait: (what: string) => void; signal: AbortSignal }[] = [];
  /** The work ends only when the test ends it, even if it is aborted. */
  const run = (name: string, variant = "v") => {
    const abort = new AbortController();
    const waits: string[] = [];
    const result = pulls.run({
      image: "i",
      variant,
      signal: abort.signal,
      onWait: (wait) => waits.push(wait),
      busy: "busy",
      work: (signal, wait) => {
        const { promise, resolve } = Promise.withResolvers<string>();
        started.push({ name, end: () => resolve(name), wait, signal });
        return promise;
      },
    });
    result.catch(() => {});
    return { abort, waits, result };
  };
  return { started, run };
}

test("callers get the reason of the wait that lasts when they join, and no more after they have left", async () => {
  const { started, run } = setUp();
  const first = run("first");
  await settle();
  started[0]!.wait("queue");
  const second = run("second");
  await settle();
  first.abort.abort();
  await assert.rejects(first.result, isAbort);
  started[0]!.wait("pull");
  assert.deepEqual([first.waits, second.waits], [["queue"], ["queue", "pull"]]);
  started[0]!.end();
  assert.equal(await second.result, "first");
});

test("a pull that is being aborted is not joined: the next caller waits for its end", async () => {
  const { started, run } = setUp();
  const first = run("first");
  await settle();
  first.abort.abort();
  await assert.rejects(first.result, isAbort);
  assert.equal(started[0]!.signal.aborted, true);
  const second = run("second");
  await settle();
  assert.deepEqual(second.waits, ["busy"]);
  started[0]!.end();
  await settle();
  started[1]!.end();
  assert.equal(await second.result, "second");
});

test("a caller that is aborted before starts nothing", async () => {
  const { started, run } = setUp();
  const first = run("first");
  await settle();
  const other = run("other", "w");
  other.abort.abort();
  await assert.rejects(other.result, isAbort);
  started[0]!.end();
  await first.result;
  await settle();
  assert.equal(started.length, 1);
});
