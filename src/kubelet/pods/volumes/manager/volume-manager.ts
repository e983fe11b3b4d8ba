import { isDeepStrictEqual } from "node:util";
import { abortable, whenAborted } from "../../../../lib/base/abort.ts";
import type { Component } from "../../../../lib/base/component.ts";
import { abortError, isAbort, KubeletError } from "../../../../lib/base/errors.ts";
import { Listeners } from "../../../../lib/base/listeners.ts";
import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { InitialSync } from "../../../pipeline/sync-loop/initial-sync.ts";
import type { NodePods } from "../../../state/node-pods.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import {
  type DesiredPod,
  DesiredPods,
  type ResolveClaim,
  type ResolvedVolume,
  type VolumeUse,
} from "./desired-pods.ts";
import { labelMetrics, type MountLabel, MountLabels, type MountLabelsOptions } from "./mount-labels.ts";
import { usedVolumes } from "./pod-volumes.ts";
import { Reconciler, type ReconcilerOptions, type VolumeChange } from "./reconciler.ts";
import { hasOtherLabel, mountedLabels } from "./volume-plan.ts";
import { isGone, type VolumeRecord } from "./volume-state.ts";
import { type UnmountedMessageOptions, unmountedMessage, waitingLines } from "./volume-waits.ts";

export interface VolumeManagerOptions extends ReconcilerOptions {
  /** Without it pods with PVCs cannot start. */
  readonly resolveClaim?: ResolveClaim;
  /** Used once all sources and the runtime have synced: before that, no volume on disk is removed. */
  readonly nodePods?: Pick<NodePods, "phaseOf">;
  readonly initialSync?: Pick<InitialSync, "isComplete">;
  /** The result of `inUse` has changed. */
  readonly onInUseChange?: () => void;
  /** Undefined without SELinux. */
  readonly mountLabels?: MountLabelsOptions | undefined;
}

/** A mounted volume, as containers use it. */
export interface MountedVolume {
  readonly name: string;
  readonly volumeMode: VolumeRecord["volumeMode"];
  /** On the node: its directory, the host path, or the symlink to a device. */
  readonly path: string;
  /** Its directory in the pod's directory, and the name of that directory. */
  readonly dir: string;
  readonly dirName: string;
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  readonly gid: string | undefined;
  /** The SELinux label with which it is mounted; empty: without. */
  readonly label: string;
}

/** A volume whose last operation failed. */
export interface FailedVolume {
  readonly plugin: string;
  /** Undefined for a volume that was found on disk, until its pod is known. */
  readonly spec: VolumeSpec | undefined;
  /** "MountVolume.SetUp failed" */
  readonly step: string;
}

/** The error code of a wait for a volume that cannot be attached because the node's limit is reached. */
const attachmentLimitExceeded = "VolumeAttachmentLimitExceeded";

/** As upstream: slightly more than two minutes, to be distinguishable from other timeouts. */
const waitLimitMs = 123_000;
/** How often volumes that require remounts are set up again without a reported change. */
const remountIntervalMs = 60_000;

/** Mounts the volumes of pods before their containers start, and unmounts them after the containers have terminated. */
export class VolumeManager implements Component {
  readonly name = "volume-manager";
  readonly #o: VolumeManagerOptions;
  readonly #pods: DesiredPods;
  readonly #reconciler: Reconciler;
  readonly #labels: MountLabels | undefined;
  readonly #remountedAt = new Map<string, { pod: Pod; at: MonotonicTime }>();
  readonly #waiters = new Listeners();
  readonly #listeners = new Listeners<[uid: PodUid, change: VolumeChange]>();
  readonly #started = Promise.withResolvers<void>();
  #isStarted = false;
  #inUse = "";
  readonly #done = Promise.withResolvers<void>();
  readonly done = this.#done.promise;

  constructor(options: VolumeManagerOptions) {
    this.#o = options;
    const metrics = labelMetrics(options.metrics);
    this.#labels = options.mountLabels && new MountLabels(options.mountLabels, metrics);
    this.#pods = new DesiredPods({
      clock: options.clock,
      resolveClaim: options.resolveClaim,
      ...(this.#labels && {
        mountsWithLabel: (spec: VolumeSpec, signal: AbortSignal) =>
          this.#pluginFor(spec)?.mountsWithLabel?.(spec, signal),
      }),
      addVolume: (entry, use, found) => this.#addVolume(entry, use, found),
      onChange: () => this.#reconciler.wake(),
    });
    this.#reconciler = new Reconciler(options, {
      before: (now) => this.#pods.retry(now),
      after: () => {
        this.#reportInUse();
        this.#waiters.notify();
      },
      tick: () => this.#dropGonePods(),
      removed: ({ key }) => this.#remountedAt.delete(key),
      changed: (uid, change) => this.#listeners.notify(uid, change),
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#reconciler.reconstruct();
    this.#isStarted = true;
    this.#started.resolve();
    whenAborted(signal, () => void this.#reconciler.stop().then(this.#done.resolve));
    if (!signal.aborted) this.#reconciler.wake();
  }

  /** The pod needs its volumes. Called again with each sync, which may remount volumes that require it. */
  register(pod: Pod): void {
    this.#pods.add(pod);
    this.#reconciler.wake();
  }

  /**
   * Resolves when all volumes of the pod are mounted. Rejects with the names of the missing volumes if a PVC cannot be used,
   * on abort, or after about two minutes, so that the caller can sync the pod again. Mounting continues in the meantime.
   */
  async waitFor(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    if (usedVolumes(pod).length === 0) return;
    await this.#started.promise;
    const startedAt = this.#o.clock.monotonic();
    this.register(pod);
    const missing = () =>
      [...(this.#pods.get(uid)?.uses.values() ?? [])].filter((use) => !this.#isReady(use));
    const message = (options?: UnmountedMessageOptions) =>
      unmountedMessage(missing(), this.#recordOf, this.#reconciler.devices, {
        ...options,
        waitingForUnmount: this.#waitsForUnmount(missing()),
      });
    const check = (timedOut: boolean) => {
      if (!this.#pods.get(uid)) throw abortError("the pod's volumes are no longer needed");
      const uses = missing();
      if (uses.length === 0) return true;
      const unusable =
        this.#waitsForUnmount(uses).length > 0 ||
        uses.some((use) => !use.resolved && !use.resolving && use.failure && use.failure.retryAt > startedAt);
      if (unusable) {
        const text = `Unable to attach or mount volumes: ${message({ allLists: true })}`;
        this.#o.events.warning(pod, "FailedMount", text);
      }
      if (unusable || timedOut) throw new KubeletError("UnmountedVolumes", message());
      return false;
    };
    try {
      await this.#until(signal, check, () => message({ defaultCause: "aborted" }));
    } catch (error) {
      if (signal.aborted || !(await this.#isExhausted(missing(), signal))) throw error;
      const text = `Node has reached its volume attachment limit, rejecting pod. ${message()}`;
      throw new KubeletError(attachmentLimitExceeded, text, { cause: error });
    }
  }

  /** True if one of these cannot be attached because the node's limit is reached. */
  async #isExhausted(uses: readonly VolumeUse[], signal: AbortSignal): Promise<boolean> {
    for (const use of uses) {
      const record = this.#recordOf(use);
      const spec = record?.desired?.spec;
      if (!record || !spec || this.#reconciler.devices.has(record.unique)) continue;
      const { device } = record.plugin;
      if (device?.applies?.(spec) !== false && (await device?.isExhausted?.(spec, signal))) return true;
    }
    return false;
  }

  /** The volumes that are still mounted with another SELinux label. */
  #waitsForUnmount(uses: readonly VolumeUse[]): VolumeRecord[] {
    if (!this.#labels || uses.length === 0) return [];
    const { records, devices } = this.#reconciler;
    const labels = mountedLabels(records.values(), devices.values());
    return uses
      .flatMap((use) => this.#recordOf(use) ?? [])
      .filter((record) => record.desired && hasOtherLabel(record, labels));
  }

  /** A message for each volume that is not mounted yet. */
  waiting(uid: PodUid): string[] {
    const uses = [...(this.#pods.get(uid)?.uses.values() ?? [])].filter((use) => !this.#isReady(use));
    return waitingLines(uses, this.#recordOf);
  }

  /** Unmounts the volumes of a pod whose containers are gone; resolves when none is left. */
  async release(uid: PodUid, signal: AbortSignal): Promise<void> {
    await this.#started.promise;
    this.#drop(uid);
    const mounted = () =>
      this.#reconciler.recordsOf(uid).filter((record) => !isGone(record) || this.#reconciler.isBusy(record));
    const message = () => {
      const names = mounted().map((record) => record.unique);
      const causes = mounted().flatMap(({ failure }) => failure?.cause ?? []);
      const cause = causes.join("; ") || "timed out waiting for the condition";
      return `mounted volumes=[${names.sort(byText).join(" ")}]: ${cause}`;
    };
    const check = (timedOut: boolean) => {
      if (mounted().length === 0) return true;
      if (!timedOut) return false;
      throw new KubeletError("MountedVolumes", message());
    };
    await this.#until(signal, check, message);
  }

  /** The source of volumes of these pods has changed. */
  changed(uids: Iterable<PodUid>): void {
    for (const uid of uids)
      for (const record of this.#reconciler.recordsOf(uid)) {
        if (!record.desired || !requiresRemount(record)) continue;
        record.generation++;
        if (record.failure) record.failure = { ...record.failure, retryAt: this.#o.clock.monotonic() };
      }
    this.#reconciler.wake();
  }

  /**
   * Checks all pods again, and ends the back-off of volumes for which `retry` returns true, for example after their driver was registered.
   */
  resync(retry?: (volume: FailedVolume) => boolean): void {
    for (const record of this.#reconciler.records.values()) {
      const { failure, plugin, spec } = record;
      if (failure && retry?.({ plugin: plugin.name, spec, step: failure.step }))
        record.failure = { ...failure, retryAt: this.#o.clock.monotonic() };
    }
    this.#dropGonePods();
    this.#reconciler.wake();
  }

  /** A plugin can be used from now on: volumes that wait for it are retried. */
  pluginsChanged(): void {
    this.#pods.retryNow();
    this.resync((volume) => this.#o.plugins.every((plugin) => plugin.name !== volume.plugin));
  }

  /** A volume of a pod by the name that its containers use, if it is mounted. */
  mounted(uid: PodUid, name: string): MountedVolume | undefined {
    const use = this.#pods.get(uid)?.uses.get(name);
    const record = use && this.#recordOf(use);
    if (!use?.resolved || !record?.desired || record.actual !== "mounted") return undefined;
    const { plugin, volumeMode, dir } = record;
    const { spec } = record.desired;
    const path = volumeMode === "Block" ? dir : (plugin.hostPath?.(spec) ?? plugin.mountPath?.(dir) ?? dir);
    return {
      name,
      volumeMode,
      path,
      dir,
      dirName: record.name,
      spec,
      plugin,
      gid: use.resolved.gid,
      label: record.mountedLabel,
    };
  }

  /** All mounted volumes of a pod. */
  mountedVolumes(uid: PodUid): MountedVolume[] {
    const names = [...(this.#pods.get(uid)?.uses.keys() ?? [])];
    return names.flatMap((name) => this.mounted(uid, name) ?? []);
  }

  /** True if the pod can never have its volumes on this node. */
  isRejection(error: unknown): error is KubeletError {
    return error instanceof KubeletError && error.code === attachmentLimitExceeded;
  }

  /** Supplemental groups of the pod's PersistentVolumes that the pod does not have. */
  extraGroups(pod: Pod): number[] {
    const own = pod.spec.securityContext?.supplementalGroups ?? [];
    const gids = this.mountedVolumes(pod.metadata.uid).map(({ gid }) => gid);
    const numbers = gids.filter((gid) => gid !== undefined && /^\d+$/.test(gid)).map(Number);
    return [...new Set(numbers)].filter((gid) => !own.includes(gid));
  }

  /**
   * Names of the volumes that must not be detached from this node, for `volumesInUse`; undefined until the volumes on disk are
   * reconstructed.
   */
  inUse(): string[] | undefined {
    if (!this.#isStarted) return undefined;
    const names = new Set<string>();
    const add = ({ plugin, unique, spec }: Pick<VolumeRecord, "plugin" | "unique" | "spec">) => {
      const { device } = plugin;
      if (spec && device && device.applies?.(spec) !== false && device.attachable?.(spec) !== false)
        names.add(device.attachName?.(spec) ?? unique);
    };
    for (const record of this.#reconciler.records.values()) if (!isGone(record)) add(record);
    for (const device of this.#reconciler.devices.values()) add(device);
    return [...names].sort(byText);
  }

  #reportInUse(): void {
    const names = this.inUse()?.join("\n") ?? "";
    if (names === this.#inUse) return;
    this.#inUse = names;
    this.#o.onInUseChange?.();
  }

  /** Reports the result of each operation on a volume of a pod. */
  onChange(listener: (uid: PodUid, change: VolumeChange) => void): () => void {
    return this.#listeners.add(listener);
  }

  #pluginFor(spec: VolumeSpec): VolumePlugin | undefined {
    return this.#reconciler.plugins().find((candidate) => candidate.handles(spec));
  }

  #addVolume({ pod, since }: DesiredPod, use: VolumeUse, found: ResolvedVolume): string {
    const { spec } = found;
    const plugin = this.#pluginFor(spec);
    if (!plugin)
      throw new KubeletError(
        "Volume",
        `failed to get Plugin from volumeSpec for volume "${spec.name}" err=no volume plugin matched`,
      );
    const record = this.#reconciler.record(pod.metadata.uid, use.volumeMode, plugin, spec.name);
    record.unique = plugin.uniqueName(pod, spec);
    const label = record.desired ? record.desired.label : this.#labelOf(pod, use, found, record);
    if (!record.desired) record.failure = undefined;
    const before = record.desired?.spec ?? spec;
    if (record.generation === 0 || capacityOf(before) !== capacityOf(spec)) record.generation++;
    record.desired = { pod, spec, since, label };
    record.spec = spec;
    record.reconstructed = false;
    if (requiresRemount(record)) this.#requestRemount(record, pod);
    return record.key;
  }

  #labelOf(
    pod: Pod,
    { name }: VolumeUse,
    { spec, mountsWithLabel }: ResolvedVolume,
    { plugin, unique }: VolumeRecord,
  ): MountLabel | undefined {
    if (!this.#labels || !plugin.mountsWithLabel) return undefined;
    const other = [...this.#reconciler.records.values()].find(
      (candidate) => candidate.unique === unique && candidate.desired,
    );
    const others = other?.desired?.label;
    const supported = mountsWithLabel === true;
    return this.#labels.labelFor({ pod, name, spec, plugin, supported, others });
  }

  #requestRemount(record: VolumeRecord, pod: Pod): void {
    const now = this.#o.clock.monotonic();
    const last = this.#remountedAt.get(record.key);
    if (last && hasSameContent(last.pod, pod) && msBetween(last.at, now) < remountIntervalMs) return;
    this.#remountedAt.set(record.key, { pod, at: now });
    if (last) record.generation++;
  }

  #drop(uid: PodUid): void {
    this.#pods.drop(uid);
    for (const record of this.#reconciler.recordsOf(uid)) this.#reconciler.dropDesired(record);
    this.#reconciler.wake();
  }

  /** Drops pods that are gone without a `release`, and the volumes on disk of such pods. */
  #dropGonePods(): void {
    const { nodePods, initialSync } = this.#o;
    if (!nodePods || !initialSync?.isComplete()) return;
    const uids = new Set([...this.#reconciler.records.values()].map((record) => record.podUid));
    for (const { pod } of this.#pods.all()) uids.add(pod.metadata.uid);
    for (const uid of uids) {
      const phase = nodePods.phaseOf(uid);
      if (phase !== undefined && phase !== "terminated") continue;
      if (this.#pods.get(uid) || this.#reconciler.recordsOf(uid).some((record) => record.reconstructed))
        this.#drop(uid);
    }
    this.#reconciler.releaseDevices();
  }

  #recordOf = ({ resolved }: VolumeUse): VolumeRecord | undefined =>
    resolved && this.#reconciler.records.get(resolved.key);

  #isReady(use: VolumeUse): boolean {
    return this.#recordOf(use)?.actual === "mounted";
  }

  /** Checks the condition after each pass until it returns true or throws; `timedOut`: the timeout has expired. */
  #until(
    signal: AbortSignal,
    condition: (timedOut: boolean) => boolean,
    abortMessage: () => string,
  ): Promise<void> {
    return abortable(signal, (resolve, reject) => {
      const check = (timedOut: boolean) => {
        try {
          if (condition(timedOut)) resolve();
        } catch (error) {
          reject(error);
        }
      };
      const recheck = () => check(false);
      const remove = this.#waiters.add(recheck);
      const cancel = this.#o.clock.after(waitLimitMs, () => check(true));
      recheck();
      return () => {
        cancel();
        remove();
      };
    }).catch((error) => {
      if (isAbort(error)) error.message = abortMessage();
      throw error;
    });
  }
}

function capacityOf(spec: VolumeSpec): string | undefined {
  return spec.persistent?.spec.capacity?.storage;
}

function requiresRemount({ plugin, desired }: VolumeRecord): boolean {
  return (
    plugin.requiresRemount === true ||
    (desired !== undefined && plugin.requiresRemountNow?.(desired.spec) === true)
  );
}

/** Compares the parts of pods that volumes can contain. The status is not among them: it changes several times while a pod starts. */
function hasSameContent(a: Pod, b: Pod): boolean {
  if (a === b) return true;
  const content = ({ metadata: { labels, annotations }, spec }: Pod) => ({ labels, annotations, spec });
  return isDeepStrictEqual(content(a), content(b));
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
