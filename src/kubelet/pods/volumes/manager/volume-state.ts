import { type MonotonicTime, plusMs } from "../../../../lib/base/time.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import type { VolumeMode } from "./layout.ts";
import type { MountLabel } from "./mount-labels.ts";

export interface DesiredVolume {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** When the pod was first registered. */
  readonly since: MonotonicTime;
  /** Undefined without SELinux. */
  readonly label?: MountLabel | undefined;
}

export interface Failure {
  /** The step that failed: "MountVolume.SetUp failed". */
  readonly step: string;
  readonly cause: string;
  readonly delayMs: number;
  readonly retryAt: MonotonicTime;
}

/** One volume of one pod: its desired and its actual state. */
export interface VolumeRecord {
  readonly key: string;
  readonly podUid: PodUid;
  /** The name of its directory: the name of the pod's volume, or of the PersistentVolume. */
  readonly name: string;
  readonly plugin: VolumePlugin;
  readonly volumeMode: VolumeMode;
  readonly dir: string;
  /** At most one operation runs per unique name. */
  unique: string;
  desired: DesiredVolume | undefined;
  /** Uncertain: an attempt failed, or it was found on disk. Both setUp and tearDown handle any partial state. */
  actual: "none" | "uncertain" | "mounted";
  /** Found on disk, and not known yet whether its pod is gone: left alone. */
  reconstructed: boolean;
  /** Incremented for each remount that is requested; `setUpGeneration` is the last one that was completed. */
  generation: number;
  setUpGeneration: number;
  failure: Failure | undefined;
  /** The last known spec. */
  spec: VolumeSpec | undefined;
  /** The SELinux label with which it is mounted, if it is; empty: without. */
  mountedLabel: string;
}

/** A device mount, which the volumes of pods with this unique name share. */
export interface DeviceRecord {
  readonly unique: string;
  readonly plugin: VolumePlugin;
  readonly dir: string;
  readonly spec: VolumeSpec;
  /** The SELinux label with which it is mounted; empty: without. */
  readonly label: string;
  state: "uncertain" | "mounted";
  /** Found on disk without a pod volume: left alone until all pods are known. */
  reconstructed: boolean;
  failure: Failure | undefined;
}

export type Operation =
  | { readonly kind: "mount"; readonly unique: string; readonly record: VolumeRecord }
  | { readonly kind: "unmount"; readonly unique: string; readonly record: VolumeRecord }
  | { readonly kind: "unmount-device"; readonly unique: string; readonly device: DeviceRecord };

export function volumeKey(uid: PodUid, volumeMode: VolumeMode, plugin: string, name: string): string {
  return `${uid}/${volumeMode}/${plugin}/${name}`;
}

/** The SELinux label with which the volume is to be mounted; empty: without. */
export function wantedLabel({ desired }: Pick<VolumeRecord, "desired">): string {
  return desired?.label?.mount ?? "";
}

/** True if the volume is neither desired nor mounted. */
export function isGone(record: VolumeRecord): boolean {
  return record.desired === undefined && record.actual === "none";
}

const firstDelayMs = 500;
const maxDelayMs = 122_000;

export function failed(last: Failure | undefined, step: string, cause: string, now: MonotonicTime): Failure {
  const delayMs = Math.min(last ? last.delayMs * 2 : firstDelayMs, maxDelayMs);
  return { step, cause, delayMs, retryAt: plusMs(now, delayMs) };
}
