import { join } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import { pathElement } from "../../../../lib/host/path-element.ts";
import type { VolumeSpec } from "../volume-plugin.ts";

export const iscsiPluginName = "kubernetes.io/iscsi";

/** A disk of a target. The names are as in `iscsi.json`. */
export interface IscsiDisk {
  readonly VolName: string;
  readonly Portals: readonly string[];
  readonly Iqn: string;
  readonly Lun: string;
  /** The configured interface; `Iface` is a copy of it if the volume has its own initiator name. */
  readonly InitIface: string;
  readonly Iface: string;
  readonly InitiatorName: string;
}

interface IscsiSource {
  readonly targetPortal: string;
  readonly portals?: readonly string[];
  readonly iqn: string;
  readonly lun: number;
  readonly iscsiInterface?: string;
  readonly initiatorName?: string;
  readonly fsType?: string;
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly secretRef?: { readonly name?: string; readonly namespace?: string };
}

export function iscsiSourceOf({ volume, persistent }: VolumeSpec): IscsiSource | undefined {
  return persistent ? persistent.spec.iscsi : volume.iscsi;
}

export function diskOf(spec: VolumeSpec): IscsiDisk {
  const source = iscsiSourceOf(spec);
  if (!source) throw new KubeletError("Iscsi", "Spec does not reference an ISCSI volume type");
  const portals = [source.targetPortal, ...(source.portals ?? [])].map(withPort);
  const iface = source.iscsiInterface || "default";
  const initiatorName = source.initiatorName ?? "";
  return {
    VolName: spec.name,
    Portals: portals,
    Iqn: source.iqn,
    Lun: String(source.lun),
    InitIface: iface,
    Iface: initiatorName ? `${portals[0]}:${spec.name}` : iface,
    InitiatorName: initiatorName,
  };
}

/** `<root>/plugins/kubernetes.io/iscsi/iface-default/192.0.2.1:3260-iqn.2001-04.com.example:disk-lun-0` */
export function diskDir(rootDir: string, disk: IscsiDisk, mode: "Filesystem" | "Block"): string {
  const base = pluginDir(rootDir, mode);
  const name = `${disk.Portals[0]}-${disk.Iqn}-lun-${disk.Lun}`;
  return join(base, pathElement(`iface-${disk.Iface}`), pathElement(name));
}

export function pluginDir(rootDir: string, mode: "Filesystem" | "Block"): string {
  return join(rootDir, "plugins", iscsiPluginName, ...(mode === "Block" ? ["volumeDevices"] : []));
}

/** The disk according to its directory name, if there is no `iscsi.json`. */
export function diskFromDir(dir: string, volumeName: string): IscsiDisk | undefined {
  const match = /\/iface-([^/]+)\/([^/]+?)-((?:iqn|eui)\.[^/]+)-lun-(\d+)$/.exec(dir);
  if (!match) return undefined;
  const [, iface = "", portal = "", iqn = "", lun = ""] = match;
  return {
    VolName: volumeName,
    Portals: [portal],
    Iqn: iqn,
    Lun: lun,
    InitIface: iface,
    Iface: iface,
    InitiatorName: "",
  };
}

/** The name of the disk in /dev/disk/by-path; `*` for parts that are not known in advance. */
export function devicePattern(disk: IscsiDisk, portal: string, transport: string): string {
  const address = portal.replaceAll(/[[\]]/g, "");
  const tail = `ip-${address}-iscsi-${disk.Iqn}-lun-${disk.Lun}`;
  return transport === "tcp" ? tail : `pci-*-${tail}`;
}

/** The name that a controller gives the volume: `kubernetes.io/iscsi/<portal as specified>:<iqn>:<lun>` */
export function attachNameOf(spec: VolumeSpec): string {
  const { targetPortal, iqn, lun } = iscsiSourceOf(spec)!;
  return `${iscsiPluginName}/${targetPortal}:${iqn}:${lun}`;
}

/** A unique name, with the port, so that the spec and the reconstructed volume have the same one. */
export function uniqueDiskName(spec: VolumeSpec): string {
  const { Portals, Iqn, Lun } = diskOf(spec);
  return `${iscsiPluginName}/${Portals[0]}:${Iqn}:${Lun}`;
}

/** The part of a spec that the directory name of its mount contains. */
export function specFromDir(dir: string, volumeName: string): VolumeSpec | undefined {
  const disk = diskFromDir(dir, volumeName);
  if (!disk) return undefined;
  const { Portals, Iqn: iqn, Lun, Iface: iscsiInterface } = disk;
  const iscsi = { targetPortal: Portals[0]!, iqn, lun: Number(Lun), iscsiInterface };
  return { name: volumeName, volume: { name: volumeName, iscsi }, readOnly: false };
}

function withPort(portal: string): string {
  return portal.includes(":") ? portal : `${portal}:3260`;
}
