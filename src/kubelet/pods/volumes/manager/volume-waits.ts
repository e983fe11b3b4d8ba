import type { VolumeUse } from "./desired-pods.ts";
import { waitMessage } from "./step-error.ts";
import type { DeviceRecord, VolumeRecord } from "./volume-state.ts";

type RecordOf = (use: VolumeUse) => VolumeRecord | undefined;

export interface UnmountedMessageOptions {
  /** The cause if none is known. */
  readonly defaultCause?: string;
  /** Includes empty lists, as in upstream's events. */
  readonly allLists?: boolean;
  /** The volumes that are still mounted with another SELinux label. */
  readonly waitingForUnmount?: readonly VolumeRecord[];
}

/** `unmounted volumes=[data]: MountVolume.SetUp failed for volume "data": secret "s" not found` */
export function unmountedMessage(
  missing: readonly VolumeUse[],
  recordOf: RecordOf,
  devices: ReadonlyMap<string, DeviceRecord>,
  options: UnmountedMessageOptions = {},
): string {
  const { defaultCause = "timed out waiting for the condition", allLists, waitingForUnmount = [] } = options;
  const unprocessed = missing.filter((use) => !use.resolved);
  const unattached = missing.filter((use) => {
    const record = recordOf(use);
    const spec = record?.desired?.spec;
    const device = record?.plugin.device;
    if (!record || !spec || !device || device.applies?.(spec) === false) return false;
    return device.attachable?.(spec) !== false && !devices.has(record.unique);
  });
  const lists = [
    `unmounted volumes=${namesOf(missing)}`,
    ...(allLists || unattached.length > 0 ? [`unattached volumes=${namesOf(unattached)}`] : []),
    ...(allLists || unprocessed.length > 0 ? [`failed to process volumes=${namesOf(unprocessed)}`] : []),
  ];
  const causes = missing.flatMap((use) => {
    const record = recordOf(use);
    if (!record) return use.failure?.cause ?? [];
    if (waitingForUnmount.includes(record))
      return `waiting for unmount of volume "${record.unique}", because it is already mounted to a different pod with a different SELinux label`;
    const { failure } = record;
    return failure ? waitMessage(failure.step, record.name, failure.cause) : [];
  });
  return `${lists.join(", ")}: ${[...new Set(causes)].join("; ") || defaultCause}`;
}

/** One line per volume: `waiting for volume data: secret "s" not found`. */
export function waitingLines(missing: readonly VolumeUse[], recordOf: RecordOf): string[] {
  return missing
    .map((use) => {
      const cause = recordOf(use)?.failure?.cause ?? use.failure?.cause;
      return `waiting for volume ${use.name}${cause === undefined ? "" : `: ${cause}`}`;
    })
    .sort();
}

function namesOf(uses: readonly VolumeUse[]): string {
  return `[${uses
    .map((use) => use.name)
    .sort()
    .join(" ")}]`;
}
