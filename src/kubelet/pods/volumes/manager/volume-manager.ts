import { isDeepStrictEqual } from "node:util";
import type { Component } from "../../../../lib/base/component.ts";
import { abortError, KubeletError } from "../../../../lib/base/errors.ts";
import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import {
  type DesiredPod,
  DesiredPods,
  type ResolveClaim,
  type ResolvedVolume,
  type VolumeUse,
} from "./desired-pods.ts";
import { usedVolumes } from "./pod-volumes.ts";
import { Reconciler, type ReconcilerOptions, type VolumeChange } from "./reconciler.ts";
import { isGone, type VolumeRecord } from "./volume-state.ts";
import { type UnmountedMessageOptions, unmountedMessage, waitingLines } from "./volume-waits.ts";

export interface VolumeManagerOptions extends ReconcilerOptions {
  /** Without it no pod with a claim can start. */
  readonly resolveClaim?: ResolveClaim;
  /**
   * What is known of a pod's life; undefined if nobody wants or runs such a pod. Only asked once `ready` says that all sources have
   * spoken and the runtime was looked at: before that, nothing that was found on disk is taken away.
   */
  readonly phaseOf?: (uid: PodUid) => "syncing" | "terminating" | "terminated" | undefined;
  readonly ready?: () => boolean;
  /** `inUse` is another than before. */
  readonly onInUseChange?: () => void;
}

/** What containers get of a volume that is there. */
export interface MountedVolume {
  readonly name: string;
  readonly kind: VolumeRecord["kind"];
  /** On the node: its folder, what it stands for (hostPath), or the link to a device. */
  readonly path: string;
  /** Its place in the pod's folder, and the name of that place. */
  readonly dir: string;
  readonly dirName: string;
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  readonly gid: string | undefined;
}

/** The code of the error with which a wait ends if the pod cannot run here because of how many volumes the node has. */
export const attachmentLimitExceeded = "VolumeAttachmentLimitExceeded";

/** Somewhat more than two minutes, so that it is told apart from other timeouts. */
const waitLimitMs = 123_000;
/** Volumes that follow something are looked at again this often even if nobody says that it changed. */
const remountIntervalMs = 60_000;

/** Has the volumes of pods mounted before their containers start, and taken away after they have ended. */
export class VolumeManager implements Component {
  readonly name = "volume-manager";
  readonly #o: VolumeManagerOptions;
  readonly #pods: DesiredPods;
  readonly #reconciler: Reconciler;
  readonly #remountedAt = new Map<string, { pod: Pod; at: MonotonicTime }>();
  readonly #waiters = new Set<() => void>();
  readonly #listeners = new Set<(uid: PodUid, change: VolumeChange) => void>();
  readonly #started = Promise.withResolvers<void>();
  #isStarted = false;
  #inUse = "";
  readonly #ended = Promise.withResolvers<void>();
  readonly done = this.#ended.promise;

  constructor(options: VolumeManagerOptions) {
    this.#o = options;
    this.#pods = new DesiredPods({
      clock: options.clock,
      resolveClaim: options.resolveClaim,
      addVolume: (entry, use, found) => this.#addVolume(entry, use, found),
      onChange: () => this.#reconciler.wake(),
    });
    this.#reconciler = new Reconciler(options, {
      before: (now) => this.#pods.retry(now),
      after: () => {
        this.#reportInUse();
        for (const check of [...this.#waiters]) check();
      },
      tick: () => this.#dropGonePods(),
      removed: ({ key }) => this.#remountedAt.delete(key),
      changed: (uid, change) => {
        for (const listener of this.#listeners) listener(uid, change);
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#reconciler.reconstruct();
    this.#isStarted = true;
    this.#started.resolve();
    const stop = () => void this.#reconciler.stop().then(this.#ended.resolve);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    else this.#reconciler.wake();
  }

  /** The pod wants its volumes. Called again with each sync: volumes that follow something are then looked at. */
  register(pod: Pod): void {
    this.#pods.add(pod);
    this.#reconciler.wake();
  }

  /**
   * Resolves when all volumes of the pod are mounted. Rejects with what is missing: when a claim cannot be used, when somebody
   * aborts, or after about two minutes, so that the caller can look at the pod anew. Mounting goes on meanwhile.
   */
  async waitFor(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    if (usedVolumes(pod).length === 0) return;
    await this.#started.promise;
    const startedAt = this.#o.clock.monotonic();
    this.register(pod);
    const missing = () =>
      [...(this.#pods.get(uid)?.uses.values() ?? [])].filter((use) => !this.#isReady(use));
    const message = (words?: UnmountedMessageOptions) =>
      unmountedMessage(missing(), this.#recordOf, this.#reconciler.devices, words);
    const check = (ended: boolean) => {
      if (!this.#pods.get(uid)) throw abortError("the pod's volumes are no longer wanted");
      const uses = missing();
      if (uses.length === 0) return true;
      const unusable = uses.some(
        (use) => !use.resolved && !use.resolving && use.failure && use.failure.retryAt > startedAt,
      );
      if (unusable) {
        const said = `Unable to attach or mount volumes: ${message({ allLists: true })}`;
        this.#o.events.warning(pod, "FailedMount", said);
      }
      if (unusable || ended) throw new KubeletError("UnmountedVolumes", message());
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

  /** True if one of these is not attached because the node takes no more. */
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

  /** What each volume waits for, in words; empty when all are there. */
  waiting(uid: PodUid): string[] {
    const uses = [...(this.#pods.get(uid)?.uses.values() ?? [])].filter((use) => !this.#isReady(use));
    return waitingLines(uses, this.#recordOf);
  }

  /** The containers are gone, and the volumes are to go: resolves when none is left. */
  async release(uid: PodUid, signal: AbortSignal): Promise<void> {
    await this.#started.promise;
    this.#drop(uid);
    await this.#until(signal, (ended) => {
      const left = this.#reconciler
        .recordsOf(uid)
        .filter((record) => !isGone(record) || this.#reconciler.isBusy(record));
      if (left.length === 0) return true;
      if (!ended) return false;
      const names = left.map((record) => record.unique).sort(byText);
      const causes = left.flatMap(({ failure }) => failure?.cause ?? []);
      const cause = causes.join("; ") || "timed out waiting for the condition";
      throw new KubeletError("MountedVolumes", `mounted volumes=[${names.join(" ")}]: ${cause}`);
    });
  }

  /** Something that these pods' volumes follow has changed. */
  changed(uids: Iterable<PodUid>): void {
    for (const uid of uids)
      for (const record of this.#reconciler.recordsOf(uid)) {
        if (!record.desired || !requiresRemount(record)) continue;
        record.generation++;
        if (record.failure) record.failure = { ...record.failure, retryAt: this.#o.clock.monotonic() };
      }
    this.#reconciler.wake();
  }

  /** Something has happened that may let volumes come or go: a driver has come, a pod has gone. */
  resync(retry?: (plugin: string) => boolean): void {
    for (const record of this.#reconciler.records.values())
      if (record.failure && retry?.(record.plugin.name))
        record.failure = { ...record.failure, retryAt: this.#o.clock.monotonic() };
    this.#dropGonePods();
    this.#reconciler.wake();
  }

  /** A volume of a pod by the name that its containers use, if it is there. */
  mounted(uid: PodUid, name: string): MountedVolume | undefined {
    const use = this.#pods.get(uid)?.uses.get(name);
    const record = use && this.#recordOf(use);
    if (!use?.resolved || !record?.desired || record.actual !== "mounted") return undefined;
    const { plugin, kind, dir } = record;
    const { spec } = record.desired;
    const path = kind === "block" ? dir : (plugin.hostPath?.(spec) ?? plugin.mountPath?.(dir) ?? dir);
    return { name, kind, path, dir, dirName: record.name, spec, plugin, gid: use.resolved.gid };
  }

  /** All volumes of a pod that are there. */
  mountedVolumes(uid: PodUid): MountedVolume[] {
    const names = [...(this.#pods.get(uid)?.uses.keys() ?? [])];
    return names.flatMap((name) => this.mounted(uid, name) ?? []);
  }

  /** True if the pod's folder may still have something mounted in it. */
  hasVolumes(uid: PodUid): boolean {
    return this.#reconciler
      .recordsOf(uid)
      .some((record) => record.actual !== "none" || this.#reconciler.isBusy(record));
  }

  /** Groups that the pod's persistent volumes ask for, besides its own. */
  extraGroups(pod: Pod): number[] {
    const own = pod.spec.securityContext?.supplementalGroups ?? [];
    const gids = this.mountedVolumes(pod.metadata.uid).map(({ gid }) => gid);
    const numbers = gids.filter((gid) => gid !== undefined && /^\d+$/.test(gid)).map(Number);
    return [...new Set(numbers)].filter((gid) => !own.includes(gid));
  }

  /**
   * Names of the volumes that must not be detached from this node, for `volumesInUse`; undefined until it is known what a former
   * agent has mounted.
   */
  inUse(): string[] | undefined {
    if (!this.#isStarted) return undefined;
    const names = new Set<string>();
    const add = ({ plugin, unique, spec }: Pick<VolumeRecord, "plugin" | "unique" | "spec">) => {
      const { device } = plugin;
      if (spec && device && device.applies?.(spec) !== false && device.attachable?.(spec) !== false)
        names.add(unique);
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

  /** Calls back whenever a volume of a pod came, was updated, went, or failed to. */
  onChange(listener: (uid: PodUid, change: VolumeChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #addVolume({ pod, since }: DesiredPod, use: VolumeUse, { spec }: ResolvedVolume): string {
    const plugin = this.#o.plugins.find((candidate) => candidate.handles(spec));
    if (!plugin)
      throw new KubeletError(
        "Volume",
        `failed to get Plugin from volumeSpec for volume "${spec.name}" err=no volume plugin matched`,
      );
    const record = this.#reconciler.record(pod.metadata.uid, use.kind, plugin, spec.name);
    record.unique = plugin.uniqueName(pod, spec);
    if (!record.desired) record.failure = undefined;
    const before = record.desired?.spec ?? spec;
    if (record.generation === 0 || capacityOf(before) !== capacityOf(spec)) record.generation++;
    record.desired = { pod, spec, since };
    record.spec = spec;
    record.held = false;
    if (requiresRemount(record)) this.#requestRemount(record, pod);
    return record.key;
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

  /** Lets go of pods that went without a word, and of what was found on disk of them. */
  #dropGonePods(): void {
    const { phaseOf, ready = () => false } = this.#o;
    if (!phaseOf || !ready()) return;
    const uids = new Set([...this.#reconciler.records.values()].map((record) => record.podUid));
    for (const { pod } of this.#pods.all()) uids.add(pod.metadata.uid);
    for (const uid of uids) {
      const phase = phaseOf(uid);
      if (phase !== undefined && phase !== "terminated") continue;
      if (this.#pods.get(uid) || this.#reconciler.recordsOf(uid).some((record) => record.held))
        this.#drop(uid);
    }
    this.#reconciler.releaseDevices();
  }

  #recordOf = ({ resolved }: VolumeUse): VolumeRecord | undefined =>
    resolved && this.#reconciler.records.get(resolved.key);

  #isReady(use: VolumeUse): boolean {
    return this.#recordOf(use)?.actual === "mounted";
  }

  /** Asks after each change, until the answer is true or something is thrown; `ended` says that time is up. */
  #until(
    signal: AbortSignal,
    condition: (ended: boolean) => boolean,
    abortMessage: () => string = () => "aborted",
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => {
        cancel();
        signal.removeEventListener("abort", onAbort);
        this.#waiters.delete(recheck);
        how();
      };
      const check = (ended: boolean) => {
        try {
          if (condition(ended)) settle(resolve);
        } catch (error) {
          settle(() => reject(error));
        }
      };
      const onAbort = () => {
        const error = abortError(signal.reason);
        error.message = abortMessage();
        settle(() => reject(error));
      };
      const recheck = () => check(false);
      const cancel = this.#o.clock.after(waitLimitMs, () => check(true));
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiters.add(recheck);
      recheck();
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

/** What of a pod can be in a volume. Its status cannot, and changes several times while it starts. */
function hasSameContent(a: Pod, b: Pod): boolean {
  if (a === b) return true;
  const told = ({ metadata: { labels, annotations }, spec }: Pod) => ({ labels, annotations, spec });
  return isDeepStrictEqual(told(a), told(b));
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
