import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { raiseInhibitDelay } from "./inhibit-delay.ts";

test("the delay is set by a file that is created with its directory, and read again until logind has it", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "inhibit-delay-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const confDir = join(dir, "systemd", "logind.conf.d");
  let reads = 0;
  let reloads = 0;
  const signal = new AbortController().signal;
  const after = (count: number) => ({
    inhibitDelayMs: async () => (++reads < count ? 5000 : 45_000),
    reload: async () => void reloads++,
  });
  await raiseInhibitDelay(after(3), { ms: 45_000, confDir, clock: systemClock, signal });
  assert.deepEqual([reads, reloads], [3, 1]);
  assert.equal(
    readFileSync(join(confDir, "99-kubelet.conf"), "utf8"),
    "# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=45\n",
  );
  reads = 0;
  await assert.rejects(
    raiseInhibitDelay(after(9), { ms: 45_000, confDir, clock: systemClock, signal }),
    /logind still delays a shutdown by at most 5 s/,
  );
  assert.equal(reads, 5);
});
