import assert from "node:assert/strict";
import { it } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { Remembered } from "./remembered.ts";

it("all that ask at about the same time get one answer, later ones a new one", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const remembered = new Remembered(clock, 1000, async () => ++asked);
  assert.deepEqual(await Promise.all([remembered.get(), remembered.get()]), [1, 1]);
  await clock.advance(999);
  assert.equal(await remembered.get(), 1);
  await clock.advance(1);
  assert.equal(await remembered.get(), 2);
});

it("a failure is told to those that waited, and the next one asks again", async () => {
  let asked = 0;
  const remembered = new Remembered(new FakeClock(), 1000, async () => {
    if (++asked === 1) throw new Error("not now");
    return asked;
  });
  await assert.rejects(Promise.all([remembered.get(), remembered.get()]), /not now/);
  assert.equal(await remembered.get(), 2);
});
