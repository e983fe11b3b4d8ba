import type { MountPoint } from "../../../../lib/host/mount-table.ts";

/** True if the filesystem of this path stores an SELinux label for each file: the kernel lists it with the option seclabel. */
export function storesLabels(table: readonly MountPoint[], path: string): boolean {
  const contains = (at: string) => at === "/" || path === at || path.startsWith(`${at}/`);
  const mount = table
    .filter((m) => contains(m.path))
    .reduce<MountPoint | undefined>(
      (best, m) => (best && best.path.length > m.path.length ? best : m),
      undefined,
    );
  return [mount?.options, mount?.mountOptions].some((options) => options?.includes("seclabel"));
}
