import assert from "node:assert/strict";
import { test } from "node:test";
import { cpuIdleMs, idleMsIn } from "./cpu-idle.ts";

test("idle time is that of all CPUs, with the time that they wait for disks", () => {
  assert.equal(idleMsIn("cpu  10 20 30 4000 500 6 7 0 0 0\ncpu0 1 2 3 9 9 0 0 0 0 0\n"), 45_000);
  assert.equal(idleMsIn("intr 1 2 3\n"), undefined);
});

test("the idle time of this machine never decreases, and a missing file is unknown", () => {
  const first = cpuIdleMs();
  assert.ok(first !== undefined && first > 0);
  assert.ok(cpuIdleMs()! >= first);
  assert.equal(cpuIdleMs("/nonexistent/stat"), undefined);
});
