import assert from "node:assert/strict";
import { it } from "node:test";
import { mapWithLimit } from "./map-with-limit.ts";

it("items start in order, at most `limit` at a time", async () => {
  let running = 0;
  let most = 0;
  const results = await mapWithLimit([5, 1, 4, 2, 3], 2, async (turns) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < turns; i++) await null;
    running--;
    return turns * 10;
  });
  assert.deepEqual(results, [50, 10, 40, 20, 30]);
  assert.equal(most, 2);
  assert.deepEqual(await mapWithLimit([], 2, async () => 1), []);
});

it("a failure rejects the whole", async () => {
  await assert.rejects(
    mapWithLimit([1, 2], 2, async (n) => {
      if (n === 2) throw new Error("no");
    }),
    /no/,
  );
});
