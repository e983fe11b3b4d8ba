import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health } from "../../../lib/base/component.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { SyncLoopCheck } from "./sync-loop-check.ts";

const minute = 60_000;

function setUp(resyncMs = minute) {
  const clock = new FakeClock();
  let runtime: Health = { ok: true };
  const check = new SyncLoopCheck({ clock, resyncMs, blockedBy: [{ health: () => runtime }] });
  return {
    check,
    pass: (ms: number) => clock.advance(ms),
    break: () => {
      runtime = { ok: false, reason: "container runtime is down" };
    },
    repair: () => {
      runtime = { ok: true };
    },
  };
}

test("a loop that has not synced pods yet is healthy, however long the runtime takes", async () => {
  const { check, pass, ...runtime } = setUp();
  runtime.break();
  check.tick();
  await pass(60 * minute);
  assert.deepEqual(check.health(), { ok: true });
});

const stalls: [rule: string, resyncMs: number, healthyMs: number][] = [
  ["5 minutes", minute, 5 * minute],
  ["twice the sync frequency, if that is longer", 4 * minute, 8 * minute],
];
for (const [rule, resyncMs, healthyMs] of stalls)
  test(`a loop that does not tick is unhealthy after ${rule}`, async () => {
    const { check, pass } = setUp(resyncMs);
    check.tick();
    await pass(healthyMs);
    assert.deepEqual(check.health(), { ok: true });
    await pass(1);
    assert.deepEqual(check.health(), { ok: false, reason: "sync Loop took longer than expected" });
  });

test("a loop that ticks while the runtime is down is unhealthy after 5 minutes, and healthy with the runtime", async () => {
  const { check, pass, ...runtime } = setUp();
  check.tick();
  runtime.break();
  const tick = async () => {
    await pass(minute);
    check.tick();
  };
  for (let i = 0; i < 5; i++) await tick();
  assert.equal(check.health().ok, true);
  await tick();
  assert.equal(check.health().ok, false);
  runtime.repair();
  check.tick();
  assert.equal(check.health().ok, true);
});
