import { type Clock, sleep } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Commands } from "../../../../lib/host/system-commands.ts";
import { devicePattern, type IscsiDisk } from "./iscsi-disk.ts";
import { type Chap, Iscsiadm } from "./iscsiadm.ts";
import type { ScsiDevices } from "./scsi-devices.ts";

const maxAttempts = 5;
/** After this many attempts, two paths are enough. */
const attemptsForAllPaths = 2;
const minPaths = 2;
const deviceSeconds = 30;
const multipathSeconds = 10;

export interface AttachDeps {
  readonly commands: Commands;
  readonly devices: ScsiDevices;
  readonly clock: Clock;
  /** Where iscsiadm keeps its records; by default, where versions of open-iscsi do. */
  readonly recordDirs?: readonly string[];
}

/** Logs in to the target on all of its portals and waits for the disk. Returns its device, or the multipath device of all paths. */
export async function attachDisk(
  deps: AttachDeps,
  disk: IscsiDisk,
  chap: Chap,
  signal: AbortSignal,
): Promise<string> {
  const { commands, devices, clock, recordDirs } = deps;
  const iscsiadm = new Iscsiadm(commands, signal, recordDirs);
  const transport = await iscsiadm.transportOf(disk.InitIface);
  if (disk.InitiatorName) await iscsiadm.cloneIface(disk);
  const paths = new Map<string, string>();
  let last: unknown;
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    for (const portal of disk.Portals) {
      if (paths.has(portal)) continue;
      try {
        paths.set(portal, await attachPath(deps, iscsiadm, disk, portal, chap, transport, signal));
      } catch (error) {
        signal.throwIfAborted();
        last = error;
      }
    }
    if (paths.size === 0) {
      if (disk.InitiatorName) await iscsiadm.deleteIface(disk.Iface);
      throw failure(`failed to get any path for iscsi disk, last err seen:\n${messageOf(last)}`, last);
    }
    if (paths.size === disk.Portals.length) break;
    if (paths.size >= minPaths && attempt >= attemptsForAllPaths) break;
  }
  const found = [...paths.values()];
  const seconds = disk.Portals.length > 1 ? multipathSeconds : 1;
  const multipath = await poll(clock, seconds, signal, async () => {
    for (const path of found) {
      const device = await devices.multipathOf(path);
      if (device) return device;
    }
    return undefined;
  });
  return multipath ?? found[0]!;
}

async function attachPath(
  { devices, clock }: AttachDeps,
  iscsiadm: Iscsiadm,
  disk: IscsiDisk,
  portal: string,
  chap: Chap,
  transport: string,
  signal: AbortSignal,
): Promise<string> {
  let host = (await devices.portalHosts(disk.Iqn)).get(portal);
  if (host === undefined) {
    await iscsiadm.login(disk, portal, chap);
    host = (await devices.portalHosts(disk.Iqn)).get(portal);
    if (host === undefined)
      throw failure(`Could not get SCSI host number for portal ${portal} after logging in`);
  }
  await devices.scan(host, Number(disk.Lun));
  const pattern = devicePattern(disk, portal, transport);
  const device = await poll(clock, deviceSeconds, signal, () => devices.find(pattern));
  if (device) return device;
  const path = `/dev/disk/by-path/${pattern}`;
  throw failure(`Timed out waiting for device at path ${path} after ${deviceSeconds}s`);
}

/** Checks once a second, up to `times` times. */
async function poll<T>(
  clock: Clock,
  times: number,
  signal: AbortSignal,
  check: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let i = 1; ; i++) {
    const result = await check();
    if (result !== undefined || i >= times) return result;
    await sleep(clock, 1000, signal);
  }
}

/** Removes the disk from the kernel, and logs out if no other disk of the target is in use. */
export async function detachDisk(
  { commands, devices }: AttachDeps,
  disk: IscsiDisk,
  isTargetBusy: boolean,
  signal: AbortSignal,
): Promise<void> {
  const names = await devices.disksOf(disk.Iqn, Number(disk.Lun));
  const maps = new Set<string>();
  for (const name of names) {
    const map = await devices.multipathOf(`/dev/${name}`);
    if (map) maps.add(map);
  }
  // Failures are ignored: the logout removes the disks, too.
  for (const map of maps)
    await commands
      .run({ program: "multipath", options: ["-f"], operands: [map] }, { timeoutMs: 60_000, signal })
      .catch(() => {});
  for (const name of names) await devices.remove(name).catch(() => {});
  if (!isTargetBusy) await new Iscsiadm(commands, signal).logout(disk);
}

function failure(message: string, cause?: unknown): KubeletError {
  return new KubeletError("Iscsi", message, { cause });
}
