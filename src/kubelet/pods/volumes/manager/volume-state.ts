import { type MonotonicTime, plusMs } from "../../../../lib/base/time.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import type { VolumeKind } from "./layout.ts";

export interface DesiredVolume {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** When the pod first asked for it. */
  readonly since: MonotonicTime;
}

export interface Failure {
  /** 'MountVolume.SetUp failed': what was being done. */
  readonly step: string;
  readonly cause: string;
  readonly delayMs: number;
  readonly retryAt: MonotonicTime;
}

/** One volume of one pod: what is wanted, and what is there. */
export interface VolumeRecord {
  readonly key: string;
  readonly podUid: PodUid;
  /** The name of its folder: that of the pod's volume, or of the PersistentVolume. */
  readonly name: string;
  readonly plugin: VolumePlugin;
  readonly kind: VolumeKind;
  readonly dir: string;
  /** Nothing is done twice at a time for one of these. */
  unique: string;
  desired: DesiredVolume | undefined;
  /** Uncertain: an attempt failed, or it was found on disk. Both set-up and tear-down cope with whatever is there. */
  actual: "none" | "uncertain" | "mounted";
  /** Found on disk by an agent that does not know yet whether its pod still lives: left alone. */
  held: boolean;
  /** Grows with each reason to set it up once more; `done` is the one that was last served. */
  generation: number;
  setUpGeneration: number;
  failure: Failure | undefined;
  /** The last spec that is known of it. */
  spec: VolumeSpec | undefined;
}

/** A mount for the whole node, which volumes of pods with this unique name share. */
export interface DeviceRecord {
  readonly unique: string;
  readonly plugin: VolumePlugin;
  readonly dir: string;
  readonly spec: VolumeSpec;
  state: "uncertain" | "mounted";
  /** Found on disk without a volume of a pod: left alone until all pods are known. */
  held: boolean;
  failure: Failure | undefined;
}

export type Operation =
  | { readonly kind: "mount"; readonly unique: string; readonly record: VolumeRecord }
  | { readonly kind: "unmount"; readonly unique: string; readonly record: VolumeRecord }
  | { readonly kind: "unmount-device"; readonly unique: string; readonly device: DeviceRecord };

export function volumeKey(uid: PodUid, kind: VolumeKind, plugin: string, name: string): string {
  return `${uid}/${kind}/${plugin}/${name}`;
}

/** There is nothing to do for it any more, and nothing of it is left. */
export function isGone(record: VolumeRecord): boolean {
  return record.desired === undefined && record.actual === "none";
}

const firstDelayMs = 500;
const longestDelayMs = 122_000;

export function failed(last: Failure | undefined, step: string, cause: string, now: MonotonicTime): Failure {
  const delayMs = Math.min(last ? last.delayMs * 2 : firstDelayMs, longestDelayMs);
  return { step, cause, delayMs, retryAt: plusMs(now, delayMs) };
}
