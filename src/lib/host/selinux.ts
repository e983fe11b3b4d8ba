import { existsSync, readFileSync } from "node:fs";

/**
 * True on a kernel with SELinux and a policy. The first file is in the mount point of selinuxfs, which exists only on such a kernel; the second one
 * is the label of this process, "kernel" as long as no policy was loaded.
 */
export function isSELinuxEnabled(
  enforce = "/sys/fs/selinux/enforce",
  label = "/proc/self/attr/current",
): boolean {
  return existsSync(enforce) && labelIn(label) !== "kernel";
}

function labelIn(file: string): string {
  try {
    return readFileSync(file, "utf8").split(/[\0\n]/, 1)[0] ?? "";
  } catch {
    return ""; // no security module has labels
  }
}
