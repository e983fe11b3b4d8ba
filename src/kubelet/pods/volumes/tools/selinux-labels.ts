import { KubeletError } from "../../../../lib/base/errors.ts";
import type { SELinuxOptions } from "../../../../lib/gen/kubernetes/core.d.ts";
import type { ContainerLabels } from "../../../../lib/host/container-labels.ts";
import { type MountPoint, mountAt } from "../../../../lib/host/mount-table.ts";

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

/**
 * The label that the files of a container need: the default of the host with the user and the level of the container. Empty if it is not known,
 * because the runtime chooses the level of a container without one.
 */
export function fileLabelOf(options: SELinuxOptions, defaults: ContainerLabels): string {
  const { user, role, type, level } = options;
  if (!user && !role && !type && !level) return "";
  if (defaults.process === "" || defaults.file === "") return defaults.file;
  const [defaultUser, fileRole, fileType, ...levels] = defaults.file.split(":");
  if (fileType === undefined)
    throw new KubeletError("SELinux", `${JSON.stringify(defaults.file)} is not a label`);
  if (levels.length > 0 && !level) return "";
  const label = [user || defaultUser, fileRole, fileType, ...(level ? [level] : [])].join(":");
  // It becomes a part of mount options.
  if (!/^[\w.:,$-]+$/.test(label))
    throw new KubeletError("SELinux", `invalid character in label ${JSON.stringify(label)}`);
  return label;
}

/** As mount(8) expects it: levels contain commas. */
export function contextOption(label: string): string[] {
  return label === "" ? [] : [`context="${label}"`];
}

/** The label with which the filesystem at this path was mounted; empty if it has none. */
export function mountedLabelAt(table: readonly MountPoint[], path: string): string {
  const options = mountAt(table, path)?.options.join(",") ?? "";
  return /(?:^|,)context=(?:"([^"]*)"|([^,]*))/.exec(options)?.slice(1).join("") ?? "";
}
