import { realpath, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { listDir } from "../../../../lib/host/entries.ts";
import { type Commands, exitText } from "../../../../lib/host/system-commands.ts";
import { type DeviceDirs, multipathOf, removeScsiDisk, slavesOf } from "../tools/block-devices.ts";
import type { FcDisk } from "./fc-disk.ts";

const timeoutMs = 60_000;

export interface FcDeviceOptions {
  readonly dirs: DeviceDirs;
  readonly commands: Commands;
  readonly logger: Logger;
}

/**
 * The device of a disk: the multipath device of its paths, or else one path. Unless a multipath device exists, all SCSI hosts are scanned
 * for new disks first.
 */
export async function attachDisk({ dirs }: Pick<FcDeviceOptions, "dirs">, disk: FcDisk): Promise<string> {
  const known = await findDisk(dirs, disk);
  if (known?.isMultipath) return known.device;
  await rescan(dirs);
  const found = await findDisk(dirs, disk);
  if (!found) throw new KubeletError("Fc", "no fc disk found");
  const { device } = found;
  await stat(device).catch((cause: unknown) => {
    throw new KubeletError("Fc", `device ${device} does not exist`, { cause });
  });
  return device;
}

/** The device of a disk that is attached. */
export async function attachedDevice(dirs: DeviceDirs, disk: FcDisk): Promise<string | undefined> {
  return (await findDisk(dirs, disk))?.device;
}

/** Removes the paths of a device from the kernel, after what has been written is on the disk. */
export async function detachDevice(
  { dirs, commands, logger }: FcDeviceOptions,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  // It may be named /dev/mapper/mpathX.
  const real = await realpath(device);
  if (dirname(real) !== dirs.devDir)
    throw new KubeletError("Fc", `fc detach disk: invalid device name: ${real}`);
  const limits = { timeoutMs, signal };
  let disks = [basename(real)];
  if (basename(real).startsWith("dm-")) {
    disks = await slavesOf(dirs, real);
    const call = { program: "multipath", options: ["-f"] as const, operands: [real] };
    const flushed = await commands.run(call, limits);
    if (flushed.code !== 0) {
      const why = `${exitText(flushed)}\n${flushed.output}`;
      throw new KubeletError("Fc", `failed to flush multipath device ${real}: ${why}`);
    }
  }
  for (const disk of disks) {
    const path = join(dirs.devDir, disk);
    const call = { program: "blockdev", options: ["--flushbufs"] as const, operands: [path] };
    const warn = (err: string) => logger.warn("Failed to flush or remove disk", { path, err });
    try {
      const { code, output } = await commands.run(call, limits);
      if (code !== 0) warn(output);
    } catch (error) {
      signal.throwIfAborted();
      warn(messageOf(error));
    }
    await removeScsiDisk(dirs, disk).catch((error: unknown) => warn(messageOf(error)));
  }
}

interface Found {
  readonly device: string;
  readonly isMultipath: boolean;
}

async function findDisk(dirs: DeviceDirs, disk: FcDisk): Promise<Found | undefined> {
  let found: Found | undefined;
  for (const link of await linksOf(dirs, disk)) {
    const device = await realpath(link).catch(() => undefined);
    if (device === undefined || (disk.kind === "wwid" && !(await isRemote(dirs, device)))) continue;
    const multipath = await multipathOf(dirs, device);
    if (multipath !== undefined) return { device: multipath, isMultipath: true };
    found ??= { device, isMultipath: false };
  }
  return found;
}

/**
 * Whether the kernel reaches the disk, or all paths of the multipath device, through a port of a Fibre Channel target. All SCSI disks of the
 * machine have names, including disks with its own filesystems and with volumes of other pods.
 */
async function isRemote(dirs: DeviceDirs, device: string): Promise<boolean> {
  const name = basename(device);
  const disks = name.startsWith("dm-") ? await slavesOf(dirs, device) : [name];
  const paths = await Promise.all(
    disks.map((each) => realpath(join(dirs.sysDir, "block", each, "device")).catch(() => "")),
  );
  return paths.length > 0 && paths.every((path) => /\/rport-[^/]+\//.test(path));
}

/** udev's links to the disk, in the order of the ports or names of the disk. */
async function linksOf({ linkDir }: DeviceDirs, disk: FcDisk): Promise<string[]> {
  if (disk.kind === "wwid") {
    const names = new Set(await listDir(join(linkDir, "by-id")));
    const wanted = disk.wwids.map((wwid) => `scsi-${wwid}`);
    return wanted.filter((name) => names.has(name)).map((name) => join(linkDir, "by-id", name));
  }
  const dir = join(linkDir, "by-path");
  const names = (await listDir(dir)).sort((a, b) => (a < b ? -1 : 1));
  return disk.wwns.flatMap((wwn) => {
    const tail = `fc-0x${wwn}-lun-${disk.lun}`;
    const isPath = (name: string) => name === tail || (name.startsWith("pci-") && name.endsWith(`-${tail}`));
    return names.filter(isPath).map((name) => join(dir, name));
  });
}

/** Makes the kernel scan all SCSI hosts. A host that cannot be scanned has no new disks. */
async function rescan({ sysDir }: DeviceDirs): Promise<void> {
  const hosts = join(sysDir, "class/scsi_host");
  for (const host of await listDir(hosts))
    await writeFile(join(hosts, host, "scan"), "- - -", { flag: "r+" }).catch(() => {});
}
