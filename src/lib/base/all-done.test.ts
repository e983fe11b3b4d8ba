import assert from "node:assert/strict";
import { test } from "node:test";
import { allDone } from "./all-done.ts";
import { settle } from "./fake-clock.ts";

test("a failure is thrown when all others have ended, and the first in order wins", async () => {
  const slow = Promise.withResolvers<void>();
  let failure: unknown;
  const done = allDone([slow.promise, Promise.reject(new Error("second"))]).catch((error) => {
    failure = error;
  });
  await settle();
  assert.equal(failure, undefined);
  slow.reject(new Error("first"));
  await done;
  assert.deepEqual(failure, new Error("first"));
});
