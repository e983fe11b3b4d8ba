import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { isolatedReport, unavailable } from "../node/isolated-report.ts";
import type { RootlessReport } from "./rootless-node.ts";

describe(long("a rootless node"), { skip: unavailable }, () => {
  // parity: gate KubeletInUserNamespace=true, gate KubeletInUserNamespace=false
  test("runs pods with KubeletInUserNamespace; without it, a kernel setting that cannot be written prevents the start", async () => {
    const report = await isolatedReport<RootlessReport>(new URL("rootless-host.ts", import.meta.url));
    assert.deepEqual(report.uidMap.split(/\s+/), ["0", "100000", "65536"]);
    assert.deepEqual([report.phase, report.restarts], ["Running", 0]);
    // The reference ignores errors of setupKernelTunables in a user namespace with the gate only.
    if (!report.deniedSetting) return;
    assert.equal(report.withoutGate.exitCode, 1);
    assert.match(report.withoutGate.log, /vm\/overcommit_memory.*KubeletInUserNamespace/);
  });
});
