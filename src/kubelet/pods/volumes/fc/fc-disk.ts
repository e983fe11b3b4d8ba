import { basename, join } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import { pathElement } from "../../../../lib/host/path-element.ts";
import type { VolumeSpec } from "../volume-plugin.ts";

export const fcPluginName = "kubernetes.io/fc";

/** A disk of a Fibre Channel target: by the names of the target's ports and the LUN, or by its own names. */
export type FcDisk =
  | { readonly kind: "lun"; readonly wwns: readonly string[]; readonly lun: number }
  | { readonly kind: "wwid"; readonly wwids: readonly string[] };

interface FcSource {
  readonly targetWWNs?: readonly string[];
  readonly lun?: number;
  readonly wwids?: readonly string[];
  readonly fsType?: string;
}

/** As the kernel prints it, without "0x". */
const portName = /^[0-9a-fA-F]{1,32}$/;
/** The characters that udev keeps in the names of its links, and spaces, which it replaces. */
const diskName = /^[A-Za-z0-9][A-Za-z0-9 _.:+=@#-]*$/;
const maxLun = 255;
const lunMark = "-lun-";

export function fcSourceOf({ volume, persistent }: VolumeSpec): FcSource | undefined {
  return persistent ? persistent.spec.fc : volume.fc;
}

/** Throws unless each field is valid: the fields become parts of paths. */
export function diskOf(spec: VolumeSpec): FcDisk {
  const { targetWWNs = [], lun, wwids = [] } = fcSourceOf(spec) ?? {};
  const reject = (field: string, value: unknown, why: string): never => {
    throw new KubeletError("Fc", `fc: invalid ${field} ${JSON.stringify(value)}: ${why}`);
  };
  if (targetWWNs.length > 0 && lun !== undefined && lun !== null) {
    for (const wwn of targetWWNs)
      if (!portName.test(wwn)) reject("targetWWNs", wwn, "must be a hexadecimal number");
    if (!Number.isInteger(lun) || lun < 0 || lun > maxLun)
      reject("lun", lun, `must be between 0 and ${maxLun}, inclusive`);
    return { kind: "lun", wwns: targetWWNs, lun };
  }
  if (wwids.length === 0) throw new KubeletError("Fc", "fc: no fc disk information found");
  for (const wwid of wwids)
    if (!diskName.test(wwid) || wwid.includes(lunMark)) reject("wwids", wwid, "must be the name of a disk");
  return { kind: "wwid", wwids: wwids.map((wwid) => wwid.replaceAll(" ", "_")) };
}

export function pluginDir(rootDir: string, mode: "Filesystem" | "Block"): string {
  return join(rootDir, "plugins", fcPluginName, ...(mode === "Block" ? ["volumeDevices"] : []));
}

/** `<root>/plugins/kubernetes.io/fc/50060e801049cfd1-lun-0` */
export function diskDir(rootDir: string, disk: FcDisk, mode: "Filesystem" | "Block"): string {
  return join(pluginDir(rootDir, mode), dirName(disk));
}

function dirName(disk: FcDisk): string {
  return pathElement(
    disk.kind === "lun" ? `${disk.wwns.join("-")}${lunMark}${disk.lun}` : disk.wwids.join("-"),
  );
}

/** The same for a spec and for the part of it that is reconstructed from its directory. */
export function uniqueDiskName(spec: VolumeSpec): string {
  return `${fcPluginName}/${dirName(diskOf(spec))}`;
}

/** The name that a controller gives the volume: `kubernetes.io/fc/[50060e801049cfd1]:0` */
export function attachNameOf(spec: VolumeSpec): string {
  const { targetWWNs = [], lun, wwids = [] } = fcSourceOf(spec) ?? {};
  const name =
    targetWWNs.length > 0 && lun !== undefined ? `[${targetWWNs.join(" ")}]:${lun}` : `[${wwids.join(" ")}]`;
  return `${fcPluginName}/${name}`;
}

/**
 * The part of a spec that the name of the disk's directory contains. `isDisk` is true for the name of a disk: in the name of a directory,
 * a disk whose name contains "-" looks as several disks do.
 */
export function specFromDir(
  dir: string,
  volumeName: string,
  isDisk: (wwid: string) => boolean,
): VolumeSpec | undefined {
  const name = basename(dir);
  const [, ports, lun] = /^(.+)-lun-(\d+)$/.exec(name) ?? [];
  const wwids = () => (isDisk(name) ? [name] : name.split("-"));
  const fc = ports === undefined ? { wwids: wwids() } : { targetWWNs: ports.split("-"), lun: Number(lun) };
  const spec: VolumeSpec = { name: volumeName, volume: { name: volumeName, fc }, readOnly: false };
  try {
    diskOf(spec);
    return spec;
  } catch {
    return undefined;
  }
}
