import assert from "node:assert/strict";
import { test } from "node:test";
import { seenContainer } from "../../../test/builders/pods.ts";
import { RestartBackoff } from "./restart-backoff.ts";

const ended = (attempt: number, startedAt: number, finishedAt: number) =>
  seenContainer("a", { state: "exited", attempt, startedAt, finishedAt });

test("the first restart is at once, then 10 s doubling up to the limit", () => {
  const backoff = new RestartBackoff(300_000);
  let now = 1_000_000;
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    const end = ended(attempt, now, now + 1000);
    const at = Math.max(backoff.restartAt("k", end), end.finishedAt);
    waits.push((at - end.finishedAt) / 1000);
    backoff.restarted("k", end, at);
    now = at;
  }
  assert.deepEqual(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
});

test("after it ran for twice the limit it starts at once again", () => {
  const backoff = new RestartBackoff(300_000);
  backoff.restarted("k", ended(0, 0, 1000), 1000);
  backoff.restarted("k", ended(1, 1000, 2000), 12_000);
  assert.equal(backoff.restartAt("k", ended(2, 12_000, 612_001)), 0);
  assert.equal(backoff.restartAt("k", ended(2, 12_000, 600_000)), 620_000);
});

test("a new agent goes on where the one before it was", () => {
  const backoff = new RestartBackoff(300_000);
  assert.equal(backoff.restartAt("first", ended(0, 1000, 2000)), 0);
  assert.equal(backoff.restartAt("third", ended(2, 1000, 2000)), 22_000);
  assert.equal(backoff.restartAt("many", ended(1000, 1000, 2000)), 302_000);
});
