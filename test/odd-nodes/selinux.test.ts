import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { isolatedReport, unavailable } from "../node/isolated-report.ts";
import type { SELinuxReport } from "./selinux-host.ts";

describe(long("a node with SELinux"), { skip: unavailable }, () => {
  // parity: gate SELinuxMount=true
  test("mounts volumes with the label of their pod, also after a restart, and with another one only after an unmount", async () => {
    const { calls, recorded, relabeled, conflict, metrics } = await isolatedReport<SELinuxReport>(
      new URL("selinux-host.ts", import.meta.url),
      [JSON.stringify({ SELinuxMount: true })],
    );
    const [one, two] = ["s0:c1,c2", "s0:c3,c4"].map((level) => `system_u:object_r:container_file_t:${level}`);
    // The unmounts have no options.
    assert.deepEqual(calls, [
      `NodeStageVolume context="${one}"`,
      `NodePublishVolume context="${one}"`,
      "NodeUnpublishVolume",
      "NodeUnstageVolume",
      `NodeStageVolume context="${two}"`,
      `NodePublishVolume context="${two}"`,
    ]);
    assert.deepEqual(recorded, [one, one]);
    assert.deepEqual([relabeled["/data"], relabeled["/scratch"]], [false, true]);
    assert.match(
      conflict,
      /^FailedMount: Unable to attach or mount volumes: .*conflicting SELinux labels of volume pv-shared/,
    );
    const plugin = `volume_plugin="kubernetes.io/csi/disk.example.com"`;
    for (const name of ["volumes_admitted", "volume_context_mismatch_errors"])
      assert.ok(
        metrics.some(
          (line) =>
            line.includes(`${name}_total{`) && line.includes(plugin) && line.includes('access_mode="RWX"'),
        ),
        metrics.join("\n"),
      );
  });
});
