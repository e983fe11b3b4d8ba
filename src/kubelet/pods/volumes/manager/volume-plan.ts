import { earliest, endOfTime, type MonotonicTime } from "../../../../lib/base/time.ts";
import type { DeviceRecord, Operation, VolumeRecord } from "./volume-state.ts";

export interface VolumePlan {
  /** Started now; at most one per unique name. */
  readonly start: readonly Operation[];
  /** When the next back-off ends, if any. */
  readonly wakeAt: MonotonicTime;
}

/**
 * The operations that bring the actual to the desired state. Pure. Unmounts come first: another pod may wait for the same
 * unique name.
 */
export function planVolumes(
  records: Iterable<VolumeRecord>,
  devices: Iterable<DeviceRecord>,
  busy: ReadonlySet<string>,
  now: MonotonicTime,
): VolumePlan {
  const all = [...records];
  const busyNames = new Set(busy);
  const start: Operation[] = [];
  let wakeAt = endOfTime;
  const schedule = (operation: Operation, retryAt: MonotonicTime | undefined) => {
    if (retryAt !== undefined && retryAt > now) {
      wakeAt = earliest(wakeAt, retryAt);
      return;
    }
    // The unique name may have changed since the operation was started.
    if (busyNames.has(operation.unique) || ("record" in operation && busy.has(operation.record.key))) return;
    busyNames.add(operation.unique);
    start.push(operation);
  };
  for (const record of all)
    if (needsUnmount(record))
      schedule({ kind: "unmount", unique: record.unique, record }, record.failure?.retryAt);
  const used = new Set(all.filter(usesDevice).map((record) => record.unique));
  for (const device of devices)
    if (!device.reconstructed && !used.has(device.unique))
      schedule({ kind: "unmount-device", unique: device.unique, device }, device.failure?.retryAt);
  for (const record of all)
    if (needsMount(record))
      schedule({ kind: "mount", unique: record.unique, record }, record.failure?.retryAt);
  return { start, wakeAt };
}

function needsUnmount(record: VolumeRecord): boolean {
  return record.desired === undefined && record.actual !== "none" && !record.reconstructed;
}

function needsMount(record: VolumeRecord): boolean {
  return (
    record.desired !== undefined &&
    (record.actual !== "mounted" || record.setUpGeneration < record.generation)
  );
}

function usesDevice(record: VolumeRecord): boolean {
  return record.desired !== undefined || record.actual !== "none";
}
