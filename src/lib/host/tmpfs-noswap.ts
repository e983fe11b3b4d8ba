import { mkdtemp, rmdir } from "node:fs/promises";
import { release } from "node:os";
import { join } from "node:path";
import { hostMounts, type Mounts } from "./mounts.ts";

export interface NoswapCheck {
  /** A directory in which a filesystem may be mounted. */
  readonly dir: string;
  readonly inUserNamespace: boolean;
  /** "6.1.0-13-amd64" */
  readonly kernel?: string;
  readonly mounts?: Pick<Mounts, "mount" | "unmount">;
}

/**
 * Whether the kernel can keep a tmpfs out of swap: since Linux 6.4, outside of user namespaces. Older kernels may have the option from
 * their distribution, so that a mount decides.
 */
export async function supportsTmpfsNoswap(check: NoswapCheck): Promise<boolean> {
  const { dir, inUserNamespace, kernel = release(), mounts = hostMounts } = check;
  if (inUserNamespace) return false;
  const [major = 0, minor = 0] = kernel.split(/[.-]/).map(Number);
  if (major > 6 || (major === 6 && minor >= 4)) return true;
  try {
    const target = await mkdtemp(join(dir, "tmpfs-noswap-test-"));
    try {
      await mounts.mount("tmpfs", target, "tmpfs", ["noswap"]);
      await mounts.unmount(target);
    } finally {
      await rmdir(target);
    }
    return true;
  } catch {
    return false;
  }
}
