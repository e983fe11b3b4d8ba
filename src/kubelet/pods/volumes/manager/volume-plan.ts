import { earliest, endOfTime, type MonotonicTime } from "../../../../lib/base/time.ts";
import { type DeviceRecord, type Operation, type VolumeRecord, wantedLabel } from "./volume-state.ts";

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
  const allDevices = [...devices];
  const used = new Set(all.filter(isMounted).map(({ unique }) => unique));
  const wanted = new Map(all.filter(isDesired).map((record) => [record.unique, wantedLabel(record)]));
  for (const device of allDevices)
    if (!device.reconstructed && !used.has(device.unique) && wanted.get(device.unique) !== device.label)
      schedule({ kind: "unmount-device", unique: device.unique, device }, device.failure?.retryAt);
  const labels = mountedLabels(all, allDevices);
  for (const record of all)
    if (needsMount(record) && !hasOtherLabel(record, labels))
      schedule({ kind: "mount", unique: record.unique, record }, record.failure?.retryAt);
  return { start, wakeAt };
}

/** The SELinux labels with which volumes are mounted, by unique name. */
export function mountedLabels(
  records: Iterable<VolumeRecord>,
  devices: Iterable<DeviceRecord>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const labels = new Map<string, Set<string>>();
  const add = (unique: string, label: string) =>
    labels.set(unique, (labels.get(unique) ?? new Set()).add(label));
  for (const record of records) if (isMounted(record)) add(record.unique, record.mountedLabel);
  for (const { unique, label } of devices) add(unique, label);
  return labels;
}

/** True if the volume is mounted with another label than this pod needs: all its mounts are removed first. */
export function hasOtherLabel(record: VolumeRecord, labels: ReturnType<typeof mountedLabels>): boolean {
  const label = wantedLabel(record);
  return [...(labels.get(record.unique) ?? [])].some((mounted) => mounted !== label);
}

function needsUnmount(record: VolumeRecord): boolean {
  if (!isMounted(record) || record.reconstructed) return false;
  return !isDesired(record) || wantedLabel(record) !== record.mountedLabel;
}

function needsMount(record: VolumeRecord): boolean {
  return isDesired(record) && (record.actual !== "mounted" || record.setUpGeneration < record.generation);
}

function isDesired(record: VolumeRecord): boolean {
  return record.desired !== undefined;
}

/** Also true if it may be mounted. */
function isMounted(record: VolumeRecord): boolean {
  return record.actual !== "none";
}
