import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const withinMs = 900_000;

describeOnMachine("pod cgroups on cgroup v2", () => {
  let machine: Machine;
  before(async () => {
    machine = await Machine.boot();
    await machine.mountHost(project, "/project");
  });
  after(() => machine?.powerOff());

  for (const driver of ["cgroupfs", "systemd"])
    test(`have the reference kubelet's values with the ${driver} driver, and no cgroup or slice of a pod remains`, async () => {
      const file = "test/cgroups/pod-values.test.ts";
      const { code, stdout, stderr } = await machine.run(
        `cd /project && CGROUP_DRIVER=${driver} node_modules/.bin/node ${file}`,
        { timeoutMs: withinMs },
      );
      assert.equal(code, 0, `${stdout}\n${stderr}`);
      assert.match(stdout, /# fail 0|ℹ fail 0/);
      const left =
        "find /sys/fs/cgroup -name '*c9c9c9c9*'; systemctl list-units --all --plain --no-legend '*c9c9c9c9*'";
      assert.equal(await machine.sh(left), "");
    });
});
