import assert from "node:assert/strict";
import { it } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { CachedLoad } from "./cached-load.ts";

it("concurrent callers share one result, later ones get a new one", async () => {
  const clock = new FakeClock();
  let calls = 0;
  const load = new CachedLoad(clock, 1000, async () => ++calls);
  assert.deepEqual(await Promise.all([load.get(), load.get()]), [1, 1]);
  await clock.advance(999);
  assert.equal(await load.get(), 1);
  await clock.advance(1);
  assert.equal(await load.get(), 2);
});

it("a failure is passed to all waiting callers, and the next one retries", async () => {
  let calls = 0;
  const load = new CachedLoad(new FakeClock(), 1000, async () => {
    if (++calls === 1) throw new Error("not now");
    return calls;
  });
  await assert.rejects(Promise.all([load.get(), load.get()]), /not now/);
  assert.equal(await load.get(), 2);
});
