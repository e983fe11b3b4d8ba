import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isolationUnavailable, startIsolated } from "../node/isolated-host.ts";
import { namedOnContainerd } from "../node/on-containerd.ts";
import { containerdVersions } from "../node/test-node.ts";
import type { SummaryReport } from "./isolated-summary.ts";

for (const { name, available } of containerdVersions()) {
  const skip = isolationUnavailable || (available === true ? false : available);
  const title = `kubeletCgroups, systemCgroups and --runtime-cgroups (containerd ${name})`;
  describe(namedOnContainerd(title, name), { skip }, () => {
    let report: SummaryReport | undefined;
    const run = async (): Promise<SummaryReport> => {
      if (report) return report;
      const script = fileURLToPath(new URL("./isolated-summary.ts", import.meta.url));
      const host = startIsolated([process.execPath, script, name]);
      const [out, err] = await Promise.all([text(host.child.stdout!), text(host.child.stderr!), host.exited]);
      assert.match(out, /^\{/, err);
      report = JSON.parse(out) as SummaryReport;
      return report;
    };
    /** Without the unified hierarchy of a hybrid host, which has no controllers. */
    const paths = (lines: readonly string[]) =>
      new Set(
        lines
          .filter((line) => lines.length === 1 || !line.startsWith("0::"))
          .map((line) => line.slice(line.lastIndexOf(":") + 1)),
      );

    it("the agent, and all processes outside of containers but init, are moved into their cgroups", async () => {
      const { cgroupsOf, runtimeCgroup, log } = await run();
      assert.deepEqual(paths(cgroupsOf.agent), new Set(["/kubelet"]), log);
      assert.deepEqual(paths(cgroupsOf.misc), new Set(["/system"]));
      assert.deepEqual(paths(cgroupsOf.init), new Set(["/"]));
      assert.ok(runtimeCgroup.length > 0, "the runtime remains where it was started");
    });

    it("the summary has what the node e2e suite expects, within its bounds", async () => {
      assert.deepEqual((await run()).differences, []);
    });

    it("pressure is in /metrics/cadvisor on cgroup v2 only", async () => {
      const { cadvisor, cgroupsOf } = await run();
      assert.equal(/^container_pressure_/m.test(cadvisor), cgroupsOf.init.length === 1);
    });
  });
}
