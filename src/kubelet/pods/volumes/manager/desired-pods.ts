import type { Clock } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { earliest, endOfTime, type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import type { Pod, PodUid, Volume } from "../../../../lib/model/pod.ts";
import { toCsi } from "../migration/translate.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { inlineSpec, isClaim, type UsedVolume, usedVolumes } from "./pod-volumes.ts";
import { type Failure, failed } from "./volume-state.ts";

export interface ResolvedVolume {
  readonly spec: VolumeSpec;
  /** The group in the annotation of the PersistentVolume. */
  readonly gid?: string | undefined;
  /** True if it can be mounted with an SELinux label. */
  readonly mountsWithLabel?: boolean;
}

/** Resolves a PVC to its volume. Error messages are shown to users as they are. */
export type ResolveClaim = (pod: Pod, volume: Volume, signal: AbortSignal) => Promise<ResolvedVolume>;

/** A volume name that containers of the pod use, and the resolved volume. */
export interface VolumeUse extends UsedVolume {
  resolved: (ResolvedVolume & { readonly key: string }) | undefined;
  resolvedAt: MonotonicTime | undefined;
  resolving: boolean;
  /** The failure of the last attempt; an earlier one may have succeeded. */
  failure: Failure | undefined;
}

export interface DesiredPod {
  pod: Pod;
  readonly since: MonotonicTime;
  readonly uses: Map<string, VolumeUse>;
  readonly abort: AbortController;
}

export interface DesiredPodsOptions {
  readonly clock: Clock;
  readonly resolveClaim: ResolveClaim | undefined;
  /** Checks whether a volume can be mounted with an SELinux label; undefined if that need not be known. */
  readonly mountsWithLabel?: (spec: VolumeSpec, signal: AbortSignal) => Promise<boolean> | undefined;
  /** Returns the key of the record. An error is a failure to process the volume. */
  readonly addVolume: (entry: DesiredPod, use: VolumeUse, found: ResolvedVolume) => string;
  readonly onChange: (uid: PodUid) => void;
}

/**
 * A PVC may have been expanded: it is resolved again with each sync of its pod, about once a minute. Frequent syncs, as while
 * containers start, do not send a request each time.
 */
const resolveIntervalMs = 5_000;

/** The pods that need volumes, and their resolved volumes. */
export class DesiredPods {
  readonly #o: DesiredPodsOptions;
  readonly #pods = new Map<PodUid, DesiredPod>();

  constructor(options: DesiredPodsOptions) {
    this.#o = options;
  }

  get(uid: PodUid): DesiredPod | undefined {
    return this.#pods.get(uid);
  }

  all(): Iterable<DesiredPod> {
    return this.#pods.values();
  }

  add(pod: Pod): DesiredPod {
    const { uid } = pod.metadata;
    const now = this.#o.clock.monotonic();
    const entry = this.#pods.get(uid) ?? { pod, since: now, uses: new Map(), abort: new AbortController() };
    entry.pod = pod;
    this.#pods.set(uid, entry);
    for (const used of usedVolumes(pod)) {
      const use = entry.uses.get(used.name) ?? {
        ...used,
        resolved: undefined,
        resolvedAt: undefined,
        resolving: false,
        failure: undefined,
      };
      entry.uses.set(used.name, use);
      const isNew = use.resolvedAt !== undefined && msBetween(use.resolvedAt, now) < resolveIntervalMs;
      if (!use.resolved || (isClaim(use.volume!) && !isNew)) this.#resolve(entry, use);
      else this.#addVolume(entry, use, use.resolved);
    }
    return entry;
  }

  drop(uid: PodUid): void {
    this.#pods.get(uid)?.abort.abort();
    this.#pods.delete(uid);
  }

  /** Ends the back-off of all volumes that could not be resolved. */
  retryNow(): void {
    for (const { uses } of this.#pods.values())
      for (const use of uses.values())
        if (use.failure) use.failure = { ...use.failure, retryAt: this.#o.clock.monotonic() };
  }

  /** Resolves PVCs again whose back-off has expired; returns the end of the next back-off, if any. */
  retry(now: MonotonicTime): MonotonicTime {
    let next = endOfTime;
    for (const entry of this.#pods.values())
      for (const use of entry.uses.values()) {
        if (use.resolved || use.resolving || !use.failure) continue;
        if (use.failure.retryAt <= now) this.#resolve(entry, use);
        else next = earliest(next, use.failure.retryAt);
      }
    return next;
  }

  #resolve(entry: DesiredPod, use: VolumeUse): void {
    const { volume } = use;
    if (!volume) return this.#fail(use, new KubeletError("Volume", `volume "${use.name}" is not in the pod`));
    const { resolveClaim, onChange } = this.#o;
    const { signal } = entry.abort;
    if (use.resolving) return;
    let pending: Promise<ResolvedVolume> | undefined;
    if (!isClaim(volume)) {
      const found = { spec: inlineSpec(volume) };
      pending = this.#withLabelSupport(entry.pod, found, signal);
      if (!pending) return this.#addVolume(entry, use, found);
    } else {
      if (!resolveClaim) return this.#fail(use, new KubeletError("Volume", "claims need an API server"));
      pending = resolveClaim(entry.pod, volume, signal).then(
        (found) => this.#withLabelSupport(entry.pod, found, signal) ?? found,
      );
    }
    use.resolving = true;
    const { uid } = entry.pod.metadata;
    pending
      .then(
        (found) => {
          use.resolvedAt = this.#o.clock.monotonic();
          if (this.#pods.get(uid) === entry) this.#addVolume(entry, use, found);
        },
        (error) => {
          if (this.#pods.get(uid) === entry) this.#fail(use, error);
        },
      )
      .finally(() => {
        use.resolving = false;
        onChange(uid);
      });
  }

  #withLabelSupport(
    pod: Pod,
    found: ResolvedVolume,
    signal: AbortSignal,
  ): Promise<ResolvedVolume> | undefined {
    let spec: VolumeSpec;
    try {
      spec = toCsi(found.spec, pod.metadata.namespace);
    } catch {
      return undefined; // reported when the volume is added
    }
    return this.#o
      .mountsWithLabel?.(spec, signal)
      ?.then((mountsWithLabel) => ({ ...found, mountsWithLabel }));
  }

  #addVolume(entry: DesiredPod, use: VolumeUse, found: ResolvedVolume): void {
    try {
      checkMode(use, found.spec);
      const translated = { ...found, spec: toCsi(found.spec, entry.pod.metadata.namespace) };
      use.resolved = { ...translated, key: this.#o.addVolume(entry, use, translated) };
      use.failure = undefined;
    } catch (error) {
      this.#fail(use, error);
    }
  }

  #fail(use: VolumeUse, error: unknown): void {
    use.failure = failed(use.failure, "", messageOf(error), this.#o.clock.monotonic());
  }
}

function checkMode({ name, volumeMode }: VolumeUse, { persistent }: VolumeSpec): void {
  const mode = persistent?.mode ?? "Filesystem";
  if (volumeMode === "Filesystem" && mode !== "Filesystem")
    throw new KubeletError(
      "Volume",
      `volume ${name} has volumeMode ${mode}, but is specified in volumeMounts`,
    );
  if (volumeMode === "Block" && mode !== "Block")
    throw new KubeletError(
      "Volume",
      `volume ${name} has volumeMode ${mode}, but is specified in volumeDevices`,
    );
}
