import { dirname } from "node:path";
import { errnoOf } from "../../lib/base/errors.ts";
import { filesystemBytes } from "../../lib/host/disk-usage.ts";
import { readHugepagePools } from "../../lib/host/hugepages.ts";
import { readMachineInfo } from "../../lib/host/node-info.ts";
import type { DeviceAmounts } from "../resources/devices/device-inventory.ts";
import type { MachineSize } from "./capacity.ts";

/** The machine's CPUs, memory, huge pages and storage. */
export async function readMachineSize(o: { rootDir: string; localStorage: boolean }): Promise<MachineSize> {
  const { cpus, memoryBytes } = await readMachineInfo();
  return {
    cpus,
    memoryBytes,
    hugepages: await readHugepagePools(),
    ...(o.localStorage && { storageBytes: await sizeAround(o.rootDir) }),
  };
}

/** The size of the filesystem that holds the directory, or will hold it. */
async function sizeAround(dir: string): Promise<bigint> {
  try {
    return await filesystemBytes(dir);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || dirname(dir) === dir) throw error;
    return sizeAround(dirname(dir));
  }
}

/** The amounts of a node whose plugins have not registered yet. */
export const noDevices: DeviceAmounts = { capacity: {}, allocatable: {}, removed: [] };
