import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { hostMounts } from "../../../lib/host/mounts.ts";
import { removeTree } from "../../../lib/host/remove-tree.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { createVolumes, type Volumes, type VolumesOptions } from "./volumes.ts";

/** Tests that mount need root. */
export const mayMount = process.getuid?.() === 0;

/** A temporary root directory; `remove` unmounts and removes all of it. */
export async function testRoot(): Promise<{ rootDir: string; remove: () => Promise<void> }> {
  const rootDir = await mkdtemp(join(tmpdir(), "volumes-"));
  return {
    rootDir,
    async remove() {
      for (const mount of hostMounts.list().toReversed())
        if (mount.path === rootDir || mount.path.startsWith(`${rootDir}/`))
          await hostMounts.unmount(mount.path);
      await removeTree(rootDir);
    },
  };
}

export interface TestVolumes extends Volumes {
  readonly events: string[];
  /** Stops this agent as a kill would: nothing is unmounted. */
  stop(): Promise<void>;
}

/** All parts, on the real host. */
export async function startVolumes(
  rootDir: string,
  over: Partial<VolumesOptions> = {},
): Promise<TestVolumes> {
  const events: string[] = [];
  const record = (_pod: Pod, reason: string, message: string) => events.push(`${reason}: ${message}`);
  const abort = new AbortController();
  const volumes = createVolumes({
    rootDir,
    clock: systemClock,
    logger: silentLogger,
    events: { normal: record, warning: record },
    metrics: createMetrics(),
    allocatableMemory: () => 64n << 20n,
    statsMaxAgeMs: 0,
    selinux: false,
    recursiveReadOnly: () => true,
    plugins: () => [],
    ...over,
  });
  await volumes.manager.start(abort.signal);
  return {
    ...volumes,
    events,
    stop() {
      abort.abort();
      return volumes.manager.done;
    },
  };
}
