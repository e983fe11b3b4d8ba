import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { listDir } from "../../../../lib/host/entries.ts";
import { type DeviceDirs, hostDeviceDirs, multipathOf, removeScsiDisk } from "../tools/block-devices.ts";

/** SCSI hosts and disks of the kernel. */
export interface ScsiDevices {
  /** Portals of the target with a session, and the SCSI host of each. */
  portalHosts(iqn: string): Promise<ReadonlyMap<string, number>>;
  /** Makes the kernel scan for this disk, and no other of the target. */
  scan(host: number, lun: number): Promise<void>;
  /** The device with this name in /dev/disk/by-path, where `*` matches anything. */
  find(pattern: string): Promise<string | undefined>;
  /** The multipath device that the disk is part of. */
  multipathOf(device: string): Promise<string | undefined>;
  /** Names of the disks ("sda") that are this LUN of the target. */
  disksOf(iqn: string, lun: number): Promise<string[]>;
  remove(disk: string): Promise<void>;
}

export function scsiDevices(dirs: DeviceDirs = hostDeviceDirs): ScsiDevices {
  const { sysDir, linkDir } = dirs;
  return {
    async portalHosts(iqn) {
      const hosts = new Map<string, number>();
      for (const { host, session } of await sessionsOf(sysDir, iqn)) {
        for (const name of await listDir(session)) {
          if (!name.startsWith("connection")) continue;
          const connection = join(session, name, "iscsi_connection", name);
          const read = (file: string) => text(join(connection, file));
          const [address, port] = [await read("address"), await read("port")];
          const [persistentAddress, persistentPort] = [
            await read("persistent_address"),
            await read("persistent_port"),
          ];
          if ([address, port, persistentAddress, persistentPort].includes(undefined)) continue;
          hosts.set(`${bracketed(address!)}:${port}`, host);
          hosts.set(`${bracketed(persistentAddress!)}:${persistentPort}`, host);
        }
      }
      return hosts;
    },
    scan: (host, lun) => writeFile(join(sysDir, `class/scsi_host/host${host}/scan`), `0 0 ${lun}`),
    async find(pattern) {
      const byPath = join(linkDir, "by-path");
      const [head = "", tail] = pattern.split("*");
      const isDisk = (name: string) =>
        tail === undefined ? name === pattern : name.startsWith(head) && name.endsWith(tail);
      const name = (await listDir(byPath)).sort((a, b) => (a < b ? -1 : 1)).find(isDisk);
      return name && join(byPath, name);
    },
    multipathOf: (device) => multipathOf(dirs, device),
    async disksOf(iqn, lun) {
      const disks: string[] = [];
      for (const { host, session } of await sessionsOf(sysDir, iqn)) {
        const [disk] = await listDir(join(session, `target${host}:0:0`, `${host}:0:0:${lun}`, "block"));
        if (disk) disks.push(disk);
      }
      return disks;
    },
    remove: (disk) => removeScsiDisk(dirs, disk),
  };
}

async function sessionsOf(sysDir: string, iqn: string): Promise<{ host: number; session: string }[]> {
  const sessions: { host: number; session: string }[] = [];
  const hosts = join(sysDir, "class/iscsi_host");
  for (const hostName of await listDir(hosts)) {
    const host = /^host(\d+)$/.exec(hostName)?.[1];
    if (host === undefined) continue;
    const device = join(hosts, hostName, "device");
    for (const name of await listDir(device)) {
      if (!name.startsWith("session")) continue;
      const session = join(device, name);
      if ((await text(join(session, "iscsi_session", name, "targetname"))) === iqn)
        sessions.push({ host: Number(host), session });
    }
  }
  return sessions;
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

/** Undefined if the session ends in the meantime. */
async function text(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").then(
    (content) => content.trim(),
    () => undefined,
  );
}
