// Runs in a guest: creates the cgroup of each pod of the reference kubelet's table with the systemd driver, prints the values that the kernel has, and
// removes the cgroups.
import { createPodCgroups } from "../../src/kubelet/resources/cgroups/pod-cgroups.ts";
import { SystemdManager } from "../../src/kubelet/resources/cgroups/systemd-manager.ts";
import { systemClock as clock } from "../../src/lib/base/clock.ts";
import { type Logger, silentLogger } from "../../src/lib/base/logger.ts";
import { SystemdClient } from "../../src/lib/clients/systemd/systemd-client.ts";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { contentsOf, kernelValues } from "../cgroups/kernel-values.ts";
import { limitSettings, podOf, referencePods } from "../cgroups/reference-pods.ts";

const layout = await detectLayout();
const { version } = layout;
const manager = new SystemdManager(cgroupFilesystem(layout, { clock }), new SystemdClient({ clock }));
/** The agent continues when a limit cannot be set; here it is an error. */
const logger: Logger = {
  ...silentLogger,
  error: (message, fields) => {
    throw new Error(`${message}: ${JSON.stringify(fields)}`);
  },
};

const values: Record<string, string>[] = [];
for (const [index, row] of referencePods.entries()) {
  // The kernel of the guest has no huge pages.
  const limits = { ...limitSettings(row.settings, version), hugepageSizes: [] };
  const cgroups = createPodCgroups({ manager, cgroupsPerQos: true, cgroupRoot: "", limits, logger });
  if (index === 0) await cgroups.start();
  // The dashes of the UID would separate the parts of a slice's name.
  const pod = podOf(row, `p${index}`, `${String(index).padStart(8, "0")}-0000-4000-8000-000000000000`);
  await cgroups.ensure(pod);
  values.push(
    await contentsOf(
      layout,
      cgroups.parentFor(pod),
      Object.keys(kernelValues(version, row[`v${version}`].pod)),
    ),
  );
  await cgroups.remove(pod.metadata.uid);
}
process.stdout.write(JSON.stringify({ version, values }));
process.exit(0);
