import type { CsiDriverSpec } from "./csi-drivers.ts";
import type { CsiSource } from "./source.ts";

type FsGroupPolicy = NonNullable<CsiDriverSpec["fsGroupPolicy"]>;

/** Why the driver does not support this lifecycle mode; undefined if it does. A driver without an object supports Persistent only. */
export function unsupportedLifecycleMode(
  name: string,
  driver: CsiDriverSpec | undefined,
  mode: CsiSource["mode"],
): string | undefined {
  const unsupported = `volume mode "${mode}" not supported by driver ${name}`;
  if (!driver) return mode === "Persistent" ? undefined : `${unsupported} (no CSIDriver object)`;
  const modes = driver.volumeLifecycleModes ?? [];
  if (modes.includes(mode)) return undefined;
  return `${unsupported} (only supports [${modes.map((known) => `"${known}"`).join(" ")}])`;
}

export function fsGroupPolicyOf(driver: CsiDriverSpec | undefined): FsGroupPolicy | undefined {
  return driver ? driver.fsGroupPolicy || undefined : "ReadWriteOnceWithFSType";
}

/** Whether the agent applies the fsGroup to the files. */
export function appliesFsGroup(
  source: CsiSource,
  fsGroup: number | undefined,
  policy: FsGroupPolicy,
): fsGroup is number {
  if (fsGroup === undefined || policy === "None" || source.readOnly) return false;
  if (policy === "File") return true;
  if (source.fsType === "") return false;
  if (source.mode === "Ephemeral") return true;
  return (source.accessModes ?? []).some((mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod");
}
