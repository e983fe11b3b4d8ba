import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { Metrics } from "../../../../lib/base/metrics.ts";
import { earliest, type MonotonicTime, msBetween, plusMs } from "../../../../lib/base/time.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";
import { filesystemMismatch } from "../tools/format-and-mount.ts";
import type { VolumePlugin } from "../volume-plugin.ts";
import { type FoundVolume, findVolumes } from "./found-volumes.ts";
import { volumeDir } from "./layout.ts";
import type { DeviceChanges, VolumeOperations } from "./operations.ts";
import { attachStep, eventMessage, onlineExpansionStep, StepError } from "./step-error.ts";
import { metricName, type VolumeMetrics, volumeMetrics } from "./volume-metrics.ts";
import { planVolumes } from "./volume-plan.ts";
import {
  type DeviceRecord,
  failed,
  isGone,
  type Operation,
  type VolumeRecord,
  volumeKey,
} from "./volume-state.ts";

export interface VolumeEvents {
  warning(volume: { name: string; uid?: string | undefined }, reason: string, message: string): void;
}

export interface ReconcilerOptions {
  readonly rootDir: string;
  readonly plugins: readonly VolumePlugin[];
  /** Plugins that come and go while the agent runs. */
  readonly dynamicPlugins?: () => readonly VolumePlugin[];
  readonly operations: VolumeOperations;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  /** Events about PersistentVolumes; without an API there are none. */
  readonly volumeEvents?: VolumeEvents | undefined;
  readonly metrics: Metrics;
  /** Finds the volumes on disk at startup; for tests. */
  readonly find?: (rootDir: string) => Promise<FoundVolume[]>;
}

export interface ReconcilerHooks {
  /** Called before each pass; returns the latest time of the next one. */
  before(now: MonotonicTime): MonotonicTime;
  after(): void;
  /** Called every minute as a safety net: relevant changes wake the reconciler anyway. */
  tick(): void;
  removed(record: VolumeRecord): void;
  /** Called at the beginning of a pass, once for all volumes of a pod with the same change. */
  changed(uid: PodUid, change: VolumeChange): void;
}

/** The result of an operation. `updated`: it was mounted before, and its content may have changed. */
export type VolumeChange = "mounted" | "updated" | "unmounted" | "failed";

interface Running {
  readonly operation: Operation;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/** The event reasons of failed steps other than mounts. */
const reasons: ReadonlyMap<string, string> = new Map([
  [onlineExpansionStep, "VolumeResizeFailed"],
  [attachStep, "FailedAttachVolume"],
]);

const tickMs = 60_000;
/** From this number of operations on, they end in groups: a pass after each would take quadratic time for a pod with many volumes. */
const manyOperations = 64;
const groupShare = 8;
const maxGroupMs = 20;
const stopLimitMs = 2_000;

/**
 * Reconciles the actual with the desired state: all volumes in parallel, but one operation at a time for each unique name. It sleeps
 * while there is nothing to do.
 */
export class Reconciler {
  readonly #o: ReconcilerOptions;
  readonly #hooks: ReconcilerHooks;
  readonly #metrics: VolumeMetrics;
  readonly records = new Map<string, VolumeRecord>();
  readonly devices = new Map<string, DeviceRecord>();
  /** Running operations, by unique name and by the key of the volume. */
  readonly #busy = new Map<string, Running>();
  #stopped = false;
  #scheduled = false;
  #tickAt: MonotonicTime | undefined;
  #cancelTimer = () => {};
  /** Operations that have ended since the last pass, and the changes to report with the next. */
  #ended = 0;
  readonly #changed = new Map<VolumeChange, Set<PodUid>>();
  #cancelGroup: (() => void) | undefined;

  constructor(options: ReconcilerOptions, hooks: ReconcilerHooks) {
    this.#o = options;
    this.#hooks = hooks;
    this.#metrics = volumeMetrics(options.metrics, () => this.#counts());
  }

  plugins(): VolumePlugin[] {
    return [...this.#o.plugins, ...(this.#o.dynamicPlugins?.() ?? [])];
  }

  recordsOf(uid: PodUid): VolumeRecord[] {
    return [...this.records.values()].filter((record) => record.podUid === uid);
  }

  isBusy(record: VolumeRecord): boolean {
    return this.#busy.has(record.key);
  }

  /** The volume is no longer desired. A running mount is aborted. */
  dropDesired(record: VolumeRecord): void {
    record.reconstructed = false;
    if (!record.desired && !record.failure) return;
    record.desired = undefined;
    record.failure = undefined;
    const running = this.#busy.get(record.key);
    if (running?.operation.kind === "mount") running.abort.abort();
  }

  /** Schedules a pass. */
  wake(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#pass();
    });
  }

  #pass(): void {
    this.#ended = 0;
    this.#cancelGroup?.();
    this.#cancelGroup = undefined;
    this.#reportChanges();
    const now = this.#o.clock.monotonic();
    if (this.#tickAt === undefined || now >= this.#tickAt) {
      this.#tickAt = plusMs(now, tickMs);
      this.#hooks.tick();
    }
    for (const record of this.records.values())
      if (isGone(record) && !this.#busy.has(record.key)) this.#remove(record);
    const retryAt = this.#hooks.before(now);
    const plan = planVolumes(this.records.values(), this.devices.values(), new Set(this.#busy.keys()), now);
    for (const operation of plan.start) this.#start(operation);
    this.#cancelTimer();
    const next = earliest(plan.wakeAt, retryAt, this.#tickAt);
    this.#cancelTimer = this.#o.clock.after(msBetween(now, next), () => this.wake());
    this.#hooks.after();
  }

  #wakeForGroup(): void {
    this.#ended++;
    const running = this.#busy.size;
    if (running < manyOperations || this.#ended * groupShare >= running) this.wake();
    else this.#cancelGroup ??= this.#o.clock.after(maxGroupMs, () => this.wake());
  }

  #reportChanges(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const [change, pods] of changed) for (const uid of pods) this.#hooks.changed(uid, change);
  }

  #remove(record: VolumeRecord): void {
    this.records.delete(record.key);
    this.#hooks.removed(record);
  }

  #start(operation: Operation): void {
    const abort = new AbortController();
    const keys = [operation.unique, ...("record" in operation ? [operation.record.key] : [])];
    const ended = this.#run(operation, abort.signal).then((change) => {
      for (const key of keys) this.#busy.delete(key);
      if ("record" in operation) {
        const pods = this.#changed.get(change) ?? new Set();
        this.#changed.set(change, pods.add(operation.record.podUid));
      }
      this.#wakeForGroup();
    });
    for (const key of keys) this.#busy.set(key, { operation, abort, ended });
  }

  async #run(operation: Operation, signal: AbortSignal): Promise<VolumeChange> {
    const startedAt = this.#o.clock.monotonic();
    const { operations } = this.#o;
    switch (operation.kind) {
      case "mount": {
        const { record } = operation;
        const desired = record.desired!;
        const generation = record.generation;
        const first = record.actual !== "mounted";
        const expands = !first && record.plugin.expandsNow?.(desired.spec) === true;
        const setUp = record.volumeMode === "Block" ? "map_volume" : "volume_mount";
        const name = expands ? "volume_fs_resize" : setUp;
        const error = await caught(operations.mount(record, desired, this.#changes, signal));
        this.#measure(record, name, startedAt, error);
        if (!error) {
          record.actual = "mounted";
          record.setUpGeneration = generation;
          record.failure = undefined;
          if (first)
            this.#metrics.mounted(
              metricName(record.plugin.name, record.spec),
              msSince(this.#o.clock, desired.since) / 1000,
            );
        } else {
          if (first) record.actual = "uncertain";
          if (record.desired && !signal.aborted) this.#mountFailed(record, desired.pod, error);
        }
        return error ? "failed" : first ? "mounted" : "updated";
      }
      case "unmount": {
        const { record } = operation;
        const error = await caught(operations.unmount(record, this.#changes, signal));
        if (!record.spec) this.#metrics.forceCleaned(!error);
        record.actual = error ? "uncertain" : "none";
        record.failure = error && !signal.aborted ? this.#failure(record, error) : undefined;
        return error ? "failed" : "unmounted";
      }
      case "unmount-device": {
        const { device } = operation;
        const error = await caught(operations.unmountDevice(device, this.#changes, signal));
        if (!error) this.devices.delete(device.unique);
        else {
          device.state = "uncertain";
          device.failure = this.#failure(device, error);
        }
        return error ? "failed" : "unmounted";
      }
      default:
        return operation satisfies never;
    }
  }

  #mountFailed(record: VolumeRecord, pod: Pod, error: StepError): void {
    record.failure = this.#failure(record, error);
    if (error.isWaiting) return;
    const { persistent } = record.spec ?? {};
    if (persistent && isMismatch(error.cause))
      this.#o.volumeEvents?.warning(
        { name: persistent.volumeName, uid: persistent.volumeUid },
        "FailedMountOnFilesystemMismatch",
        `MountVolume failed for volume "${record.name}" ${error.message}`,
      );
    const failedMount = record.volumeMode === "Block" ? "FailedMapVolume" : "FailedMount";
    const reason = reasons.get(error.step) ?? failedMount;
    this.#o.events.warning(pod, reason, eventMessage(error.step, record.name, error.message));
  }

  #failure(what: VolumeRecord | DeviceRecord, error: StepError): VolumeRecord["failure"] {
    const failure = failed(what.failure, error.step, error.message, this.#o.clock.monotonic());
    const pod = "podUid" in what ? { podUID: what.podUid } : {};
    this.#o.logger.warn(error.step, {
      volume: what.unique,
      ...pod,
      err: error.message,
      retryInMs: failure.delayMs,
    });
    return failure;
  }

  #measure(what: VolumeRecord | DeviceRecord, name: string, startedAt: MonotonicTime, error: unknown): void {
    const migrated = what.spec?.migrated ?? false;
    const seconds = msSince(this.#o.clock, startedAt) / 1000;
    this.#metrics.operation(
      { plugin: metricName(what.plugin.name, what.spec), migrated, name, ok: !error },
      seconds,
    );
  }

  readonly #changes: DeviceChanges = {
    measured: async (record, name, work) => {
      const startedAt = this.#o.clock.monotonic();
      try {
        const result = await work();
        this.#measure(record, name, startedAt, undefined);
        return result;
      } catch (error) {
        this.#measure(record, name, startedAt, error);
        throw error;
      }
    },
    device: (unique) => this.devices.get(unique),
    setDevice: (device) => this.devices.set(device.unique, device),
    usedElsewhere: (record) =>
      [...this.records.values()].some(
        (other) =>
          other.unique === record.unique && other.podUid !== record.podUid && other.actual !== "none",
      ),
  };

  /** Reconstructs the volumes on disk. They are left alone until their pod is known to be running or gone. */
  async reconstruct(): Promise<void> {
    const { rootDir, logger, find = findVolumes } = this.#o;
    const plugins = this.plugins();
    const found = await find(rootDir).catch((error) => {
      logger.error("Failed to read volumes from disk", { rootDir, err: messageOf(error) });
      return [];
    });
    await Promise.all(
      found.map(async ({ podUid, volumeMode, plugin: pluginName, name, dir }) => {
        const plugin = plugins.find((candidate) => candidate.name === pluginName);
        this.#metrics.reconstructed(plugin !== undefined);
        if (!plugin) {
          logger.warn("Ignoring volume of unknown type on disk", { volume: dir });
          return;
        }
        const record = this.record(podUid, volumeMode, plugin, name);
        if (record.desired || record.actual !== "none") return;
        record.actual = "uncertain";
        record.reconstructed = true;
        const spec = await caughtValue(async () => plugin.reconstruct?.({ podUid, dir: record.dir }));
        if (!spec || record.desired) return;
        record.spec = spec;
        record.mountedLabel = spec.label ?? "";
        const pod = { metadata: { uid: podUid } } as Pod;
        record.unique = plugin.uniqueName(pod, spec);
        const device = plugin.device?.applies?.(spec) === false ? undefined : plugin.device;
        if (device && volumeMode === "Filesystem")
          this.#addDevice({
            plugin,
            unique: record.unique,
            dir: device.deviceDir(spec),
            spec,
            label: record.mountedLabel,
            reconstructed: false,
          });
      }),
    );
    for (const plugin of plugins)
      for (const device of (await caughtValue(async () => plugin.device?.reconstructDevices?.())) ?? [])
        this.#addDevice({ ...device, label: device.spec.label ?? "", plugin, reconstructed: true });
  }

  #addDevice(device: Omit<DeviceRecord, "state" | "failure">): void {
    if (this.devices.has(device.unique)) return;
    this.devices.set(device.unique, { ...device, state: "uncertain", failure: undefined });
  }

  /** All pods are known: device mounts that none of them uses can be unmounted. */
  releaseDevices(): void {
    for (const device of this.devices.values()) {
      // A volume that could not be reconstructed may use the device.
      const mayBeUsed = [...this.records.values()].some(
        (r) => r.plugin === device.plugin && !r.spec && !isGone(r),
      );
      if (!mayBeUsed) device.reconstructed = false;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    const running = [...new Set(this.#busy.values())];
    for (const { abort } of running) abort.abort();
    const late = Promise.withResolvers<void>();
    const cancel = this.#o.clock.after(stopLimitMs, late.resolve);
    await Promise.race([Promise.all(running.map(({ ended }) => ended)), late.promise]);
    cancel();
  }

  record(
    uid: PodUid,
    volumeMode: VolumeRecord["volumeMode"],
    plugin: VolumePlugin,
    name: string,
  ): VolumeRecord {
    const key = volumeKey(uid, volumeMode, plugin.name, name);
    const known = this.records.get(key);
    if (known) return known;
    const record: VolumeRecord = {
      key,
      podUid: uid,
      name,
      plugin,
      volumeMode,
      dir: volumeDir(this.#o.rootDir, uid, volumeMode, plugin.name, name),
      unique: key,
      desired: undefined,
      actual: "none",
      reconstructed: false,
      generation: 0,
      setUpGeneration: 0,
      failure: undefined,
      spec: undefined,
      mountedLabel: "",
    };
    this.records.set(key, record);
    return record;
  }

  *#counts(): Generator<{ plugin: string; state: "desired_state_of_world" | "actual_state_of_world" }> {
    for (const record of this.records.values()) {
      const plugin = metricName(record.plugin.name, record.spec);
      if (record.desired) yield { plugin, state: "desired_state_of_world" };
      if (record.actual === "mounted") yield { plugin, state: "actual_state_of_world" };
    }
  }
}

/** True if the error, or one that it wraps, is that the disk has another filesystem. */
function isMismatch(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error instanceof KubeletError && error.code === filesystemMismatch) || isMismatch(error.cause);
}

async function caught(work: Promise<void>): Promise<StepError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof StepError ? error : new StepError("failed", error);
  }
}

async function caughtValue<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}
