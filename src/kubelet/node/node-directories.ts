import { join } from "node:path";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { setSELinuxLabel } from "../../lib/host/file-label.ts";
import { makeDirs } from "../../lib/host/make-dirs.ts";

export interface DirectoryOptions {
  readonly rootDir: string;
  /** Where device plugins register; `<root-dir>/device-plugins` unless set. */
  readonly devicePluginDir?: string | undefined;
  /** The directory of the symlinks to container logs. */
  readonly containerLogsDir?: string | undefined;
  readonly config: { readonly podLogsDir: string };
  readonly gates: { enabled(gate: string): boolean };
  readonly logger: Logger;
}

/** Unprivileged containers of plugins may create their sockets in directories with this label. */
const pluginLabel = "system_u:object_r:container_file_t:s0";

/** Where device plugins register. */
export function devicePluginDir(o: Pick<DirectoryOptions, "rootDir" | "devicePluginDir">): string {
  return o.devicePluginDir ?? join(o.rootDir, "device-plugins");
}

/** Where the symlinks to container logs are. */
export function containerLogsDir(o: Pick<DirectoryOptions, "containerLogsDir">): string {
  return o.containerLogsDir ?? "/var/log/containers";
}

/**
 * Creates the directories that other software expects as soon as the kubelet runs, such as the DaemonSet of a driver with a hostPath
 * volume of type Directory. Modes and labels as in the reference kubelet; existing directories keep their modes.
 */
export async function makeNodeDirectories(
  o: DirectoryOptions,
  { selinux }: { readonly selinux: boolean },
): Promise<void> {
  const below = (name: string) => join(o.rootDir, name);
  const modes: readonly (readonly [path: string, mode: number])[] = [
    // First: missing parents get the same mode, so that any user can enter /var/lib/kubelet.
    ...(o.devicePluginDir === undefined ? [] : [[o.devicePluginDir, 0o755] as const]),
    [o.rootDir, 0o750],
    [devicePluginDir(o), 0o755],
    [o.config.podLogsDir, 0o750],
    [below("pods"), 0o750],
    [below("plugins"), 0o750],
    [below("plugins_registry"), 0o750],
    [below("pod-resources"), 0o750],
    ...(o.gates.enabled("ContainerCheckpoint") ? [[below("checkpoints"), 0o700] as const] : []),
    [containerLogsDir(o), 0o755],
  ];
  for (const [path, mode] of modes) await makeDirs(path, mode);
  if (!selinux) return;
  for (const path of [below("plugins_registry"), below("plugins"), devicePluginDir(o)])
    await setSELinuxLabel(path, pluginLabel).catch((error: unknown) =>
      o.logger.warn("Failed to set SELinux label, unprivileged plugins in containers might not work", {
        path,
        err: messageOf(error),
      }),
    );
}
