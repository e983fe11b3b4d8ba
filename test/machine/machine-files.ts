import { existsSync } from "node:fs";
import { join } from "node:path";
import { repoDir } from "../e2e/agent-process.ts";
import { built } from "../e2e/built.ts";

interface MachineFiles {
  readonly kernel: string;
  /** For cgroup v1. */
  readonly olderKernel: string;
  /** A root filesystem. Guests never write to it. */
  readonly disk: string;
  /** A minimal Debian only. */
  readonly baseDisk: string;
  /** A directory with what apt installs on the base disk together with our package. */
  readonly repository: string;
}

/** The files that a guest is started from. Without them, tests fail: they are not skipped. */
export async function machineFiles(): Promise<MachineFiles> {
  const { machineImage } = (await import(join(repoDir, "scripts/lib/machine-image.mjs"))) as {
    machineImage(): MachineFiles;
  };
  const files = machineImage();
  if (!existsSync(files.disk))
    throw new Error(
      `no machine image: "npm run test:all -- test/machine" builds it, or reports why it cannot`,
    );
  if (built !== true) throw new Error(`dist is ${built}: run "npm run build"`);
  return files;
}
