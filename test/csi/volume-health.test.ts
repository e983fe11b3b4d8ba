import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Summary } from "../../src/lib/model/stats-summary.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { CsiTestNode } from "./csi-test-node.ts";

const available = containerdVersions().find(({ name }) => name === "2.x")?.available;
const driver = "health.example.com";
const skip = available === true ? false : available;

describe("health of CSI volumes", { skip }, () => {
  // parity: gate CSIVolumeHealth=true, gate CSIVolumeHealth=false, event VolumeConditionAbnormal
  for (const on of [true, false])
    test(
      on
        ? "CSIVolumeHealth on: the summary has the health of volumes, and an abnormal volume is reported by an event"
        : "CSIVolumeHealth off: the health of volumes is not reported",
      async () => {
        const testNode = await CsiTestNode.start("2.x", { featureGates: { CSIVolumeHealth: on } });
        try {
          const capabilities = ["STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "VOLUME_CONDITION"] as const;
          await (await testNode.driver(driver, {}, { capabilities })).start();
          for (const name of ["normal", "abnormal"]) {
            await testNode.claim(driver, name);
            await testNode.podWithClaim(name);
          }
          for (const name of ["normal", "abnormal"]) await testNode.apiNode.runs(name, 60_000);
          const health = await waitFor(async () => {
            const { pods } = JSON.parse(await testNode.request("/stats/summary")) as Summary;
            const volumes = new Map(
              pods.map(({ podRef, volume }) => [podRef.name, volume?.find(({ name }) => name === "data")]),
            );
            assert.ok((volumes.get("normal")?.capacityBytes ?? 0) > 0);
            assert.ok((volumes.get("abnormal")?.capacityBytes ?? 0) > 0);
            return ["normal", "abnormal"].map((name) => volumes.get(name)?.volumeHealthStats);
          });
          assert.deepEqual(health, on ? [{ abnormal: false }, { abnormal: true }] : [undefined, undefined]);
          const metrics = await testNode.request("/metrics");
          assert.equal(/^kubelet_volume_stats_health_status_abnormal/m.test(metrics), on);
          const conditions = async (pod: string) =>
            (await testNode.events(pod)).filter((event) => event.startsWith("VolumeConditionAbnormal"));
          if (on)
            await waitFor(async () =>
              assert.deepEqual(await conditions("abnormal"), [
                "VolumeConditionAbnormal: Volume data: disk is gone",
              ]),
            );
          else assert.deepEqual(await conditions("abnormal"), []);
          assert.deepEqual(await conditions("normal"), []);
        } finally {
          await testNode.destroy();
        }
      },
    );
});
