import assert from "node:assert/strict";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { PodStats, Summary } from "../../src/lib/model/stats-summary.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { parsePrometheus } from "../metrics/prometheus-text.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import type { VolumeNode } from "./volume-node.ts";

/** A configuration of the kubelet API that lets every client on this machine in. */
export function insecureServer(port: number): Record<string, unknown> {
  return {
    enableServer: true,
    address: "127.0.0.1",
    port,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    volumeStatsAggPeriod: "1s",
  };
}

/** The metrics and stats of a running agent about the volumes of the other tests. */
export function volumeStatsTests(
  node: () => VolumeNode,
  port: () => number,
  hasDisks: () => boolean,
  version: ContainerdVersion,
): void {
  const get = async (path: string): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const options = { host: "127.0.0.1", port: port(), path, rejectUnauthorized: false };
    request(options, (response) => void text(response).then(resolve, reject))
      .on("error", reject)
      .end();
    return promise;
  };

  test("metrics count volume operations and volumes in the desired and the actual state, and measure volumes of PVCs", async () => {
    const families = await waitFor(async () => {
      const all = parsePrometheus(await get("/metrics"));
      assert.ok(all.has("kubelet_volume_stats_used_bytes"));
      // The duration of measuring the volumes is reported with the next measurement.
      assert.ok(all.get("kubelet_volume_metric_collection_duration_seconds")?.samples.length);
      return all;
    });
    const has = (name: string, labels: Record<string, string>) => {
      const samples = families.get(name)?.samples ?? [];
      const isIt = (found: Readonly<Record<string, string>>) =>
        Object.entries(labels).every(([key, value]) => found[key] === value);
      const sample = samples.find((each) => isIt(each.labels));
      assert.ok(sample, `${name} ${JSON.stringify(labels)} is not among ${samples.length}`);
      return sample.value;
    };
    const claim = { namespace: "default", persistentvolumeclaim: "local" };
    for (const what of [
      "available_bytes",
      "capacity_bytes",
      "used_bytes",
      "inodes",
      "inodes_free",
      "inodes_used",
    ])
      assert.ok(has(`kubelet_volume_stats_${what}`, claim) > 0, what);
    for (const plugin of [
      "secret",
      "configmap",
      "projected",
      "downward-api",
      "empty-dir",
      "host-path",
      "local-volume",
    ]) {
      const volume_plugin = `kubernetes.io/${plugin}`;
      const plugin_name = volume_plugin;
      const operation_name = "volume_mount";
      has("storage_operation_duration_seconds", {
        volume_plugin,
        operation_name,
        status: "success",
        migrated: "false",
      });
      has("volume_operation_total_seconds", { plugin_name, operation_name: "overall_volume_mount" });
      for (const state of ["desired_state_of_world", "actual_state_of_world"])
        assert.ok(has("volume_manager_total_volumes", { plugin_name, state }) > 0);
    }
    const failed = { volume_plugin: "kubernetes.io/host-path", status: "fail-unknown" };
    has("storage_operation_duration_seconds", failed);
    for (const metric_source of ["statfs", "du", ...(hasDisks() ? ["block"] : [])])
      has("kubelet_volume_metric_collection_duration_seconds", { metric_source });
    for (const name of ["kubelet_orphan_pod_cleaned_volumes", "kubelet_orphan_pod_cleaned_volumes_errors"])
      has(name, {});
    if (version !== "1.6") {
      assert.ok(has("kubelet_image_volume_requested_total", {}) > 0);
      assert.ok(has("kubelet_image_volume_mounted_succeed_total", {}) > 0);
    }
    if (!hasDisks()) return;
    has("storage_operation_duration_seconds", { operation_name: "map_volume", status: "success" });
    const raw = { namespace: "default", persistentvolumeclaim: "raw" };
    assert.equal(has("kubelet_volume_stats_capacity_bytes", raw), 16 << 20);
  });

  test("the summary has the usage of each volume, by its name and its PVC", async () => {
    await node().inside(
      "scratch",
      "head -c 100000 /dev/zero >/v/disk/zeros; head -c 50000 /dev/zero >/v/memory/zeros",
    );
    await waitFor(async () => {
      const { pods } = JSON.parse(await get("/stats/summary")) as Summary;
      const volumesOf = (name: string): PodStats["volume"] =>
        pods.find(({ podRef }) => podRef.name === name)?.volume;
      const used = (name: string) =>
        volumesOf("scratch")?.find((volume) => volume.name === name)?.usedBytes ?? 0;
      assert.ok(used("disk") >= 100_000 && used("disk") < 200_000, String(used("disk")));
      assert.ok(used("memory") >= 50_000 && used("memory") < 100_000, String(used("memory")));
      const claimed = volumesOf("claimed")?.find((volume) => volume.name === "local");
      assert.deepEqual(claimed?.pvcRef, { name: "local", namespace: "default" });
    });
  });
}
