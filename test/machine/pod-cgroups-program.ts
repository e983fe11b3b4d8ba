// Runs in a guest. `create` creates the cgroups of all pods of the table as the agent does, and prints their paths; `remove` removes them.
import { CgroupfsManager } from "../../src/kubelet/resources/cgroups/cgroup-manager.ts";
import { createPodCgroups } from "../../src/kubelet/resources/cgroups/pod-cgroups.ts";
import { SystemdManager } from "../../src/kubelet/resources/cgroups/systemd-manager.ts";
import { systemClock as clock } from "../../src/lib/base/clock.ts";
import { type Logger, silentLogger } from "../../src/lib/base/logger.ts";
import { SystemdClient } from "../../src/lib/clients/systemd/systemd-client.ts";
import { cgroupDriver, detectLayout } from "../../src/lib/host/cgroups/cgroup-driver.ts";
import { limitSettings, podOf, referencePods } from "../cgroups/reference-pods.ts";
import { tableUid } from "./pod-table.ts";

const [driver, action] = process.argv.slice(2);
const files = cgroupDriver(await detectLayout(), { clock });
const manager =
  driver === "systemd" ? new SystemdManager(files, new SystemdClient({ clock })) : new CgroupfsManager(files);
/** The agent goes on when a limit fails; here it is a fault. */
const logger: Logger = {
  ...silentLogger,
  error: (message, fields) => {
    throw new Error(`${message}: ${JSON.stringify(fields)}`);
  },
};

const paths: string[] = [];
for (const [index, row] of referencePods.entries()) {
  // The guest's kernel has no huge pages.
  const limits = { ...limitSettings(row.settings, files.version), hugepageSizes: [] };
  const cgroups = createPodCgroups({ manager, cgroupsPerQos: true, cgroupRoot: "", limits, logger });
  const pod = podOf(row, `p${index}`, tableUid(index));
  if (action === "remove") await cgroups.remove(pod.metadata.uid);
  else {
    if (index === 0) await cgroups.start();
    await cgroups.ensure(pod);
    paths.push(cgroups.parentFor(pod));
  }
}
process.stdout.write(JSON.stringify(paths));
process.exit(0);
