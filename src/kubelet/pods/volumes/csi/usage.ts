import { shortened } from "../../../../lib/clients/plugin-rpc/shortened.ts";
import { VolumeUsage_Unit as Unit } from "../../../../lib/gen/csi/v1/csi_pb.js";
import type { VolumeUsage } from "../volume-plugin.ts";
import type { CsiDeps } from "./csi-deps.ts";
import type { VolumeData } from "./volume-data.ts";

/** The message is part of an event. */
const maxMessage = 1024;

/** Usage of the volume according to the driver; undefined if it does not report it. */
export async function volumeUsage(
  deps: CsiDeps,
  data: VolumeData,
  volumePath: string,
  signal: AbortSignal,
): Promise<VolumeUsage | undefined> {
  const client = deps.drivers.client(data.driverName);
  const capabilities = await client.capabilities(signal);
  if (!capabilities.stats) return undefined;
  const response = await client.stats(data.volumeHandle, volumePath, signal);
  const reportsHealth = deps.volumeHealth && capabilities.condition;
  if (!reportsHealth && response.usage.length === 0) return undefined;
  let usage: VolumeUsage = {};
  for (const { unit, available, total, used } of response.usage) {
    if (unit === Unit.BYTES)
      usage = {
        ...usage,
        availableBytes: amountOf(available),
        capacityBytes: amountOf(total),
        usedBytes: amountOf(used),
      };
    else if (unit === Unit.INODES)
      usage = {
        ...usage,
        inodesFree: amountOf(available),
        inodes: amountOf(total),
        inodesUsed: amountOf(used),
      };
  }
  if (!reportsHealth) return usage;
  const { abnormal = false, message = "" } = response.volumeCondition ?? {};
  return { ...usage, healthy: !abnormal, ...(abnormal && { message: shortened(message, maxMessage) }) };
}

/** Clients of the summary do not accept negative amounts, not even of one volume. */
function amountOf(value: bigint): number {
  return Math.max(0, Number(value));
}
