import type { Clock } from "../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../lib/base/component.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { dateOf } from "../../../lib/base/time.ts";
import { reportDuplicate } from "../../../lib/model/duplicate-pod.ts";
import { type Pod, type PodSourceName, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { PodChange } from "../../state/pod-change.ts";
import type { PodSource } from "../sources/source.ts";
import { type Conflict, resolveConflicts } from "./conflicts.ts";
import { type KnownPods, updateKnownPods } from "./pod-changes.ts";

export interface PodConfigOptions {
  /** All sources that there will be: until each has emitted a set, an absent pod means nothing. */
  sources: readonly PodSource[];
  clock: Clock;
  logger: Logger;
  onChange(change: PodChange): void;
  /** For pods that do not run because another pod has their name or UID. */
  events?: Pick<PodEvents, "warning"> | undefined;
}

/** Runs the sources and merges their full sets into changes. */
export class PodConfig implements Component {
  readonly name = "pod-config";
  readonly done: Promise<void>;
  #options: PodConfigOptions;
  #sets = new Map<PodSourceName, readonly Pod[]>();
  #known = new Map<PodSourceName, KnownPods>();
  #reportedConflicts = new Set<string>();

  constructor(options: PodConfigOptions) {
    this.#options = options;
    this.done = Promise.all(options.sources.map((source) => source.done)).then(() => {});
  }

  /** Resolves when all sources have started. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#options.sources.map((source) => source.start(signal, (pods) => this.set(source.name, pods))),
    );
  }

  health(): Health {
    for (const source of this.#options.sources) {
      const health = source.health?.();
      if (health?.ok === false) return { ok: false, reason: `${source.name}: ${health.reason}` };
    }
    return healthy;
  }

  /** Sets the full set of a source. All changes are emitted before it returns. */
  set(source: PodSourceName, pods: readonly Pod[]): void {
    const isFirst = !this.#sets.has(source);
    this.#sets.set(source, pods);
    const { desired, conflicts } = resolveConflicts(this.#sets);
    this.#reportConflicts(conflicts);

    const now = dateOf(this.#options.clock.wall());
    const changes: PodChange[] = [];
    for (const [name, pods] of desired) {
      const known = this.#known.get(name) ?? new Map();
      this.#known.set(name, known);
      changes.push(...updateKnownPods(name, known, pods, now));
    }
    // An empty ADD reports that a source without pods is ready.
    const isReported = changes.some((c) => c.source === source && c.op !== "REMOVE" && c.op !== "RECONCILE");
    if (isFirst && !isReported) changes.push({ op: "ADD", source, pods: [] });
    // A pod that one source removes may be added by another: removals first.
    for (const change of changes) if (change.op === "REMOVE") this.#options.onChange(change);
    for (const change of changes) if (change.op !== "REMOVE") this.#options.onChange(change);
  }

  /** Reports each conflict once, until it is resolved. */
  #reportConflicts(conflicts: readonly Conflict[]): void {
    const now = new Set<string>();
    for (const conflict of conflicts) {
      const key = `${conflict.source} ${conflict.pod.metadata.uid} ${conflict.message}`;
      now.add(key);
      if (this.#reportedConflicts.has(key)) continue;
      this.#options.logger.error(conflict.message, {
        pod: podRef(conflict.pod),
        podUID: conflict.pod.metadata.uid,
        source: conflict.source,
      });
      reportDuplicate(this.#options.events, conflict.pod, conflict.source);
    }
    this.#reportedConflicts = now;
  }
}
