import type { Clock } from "../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../lib/base/component.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { dateOf } from "../../../lib/base/time.ts";
import { type Pod, type PodSourceName, podRef } from "../../../lib/model/pod.ts";
import type { PodChange } from "../../state/pod-change.ts";
import { type Conflict, resolveConflicts } from "./conflicts.ts";
import { type KnownPods, updateKnownPods } from "./pod-changes.ts";

/** What is asked of a source: to emit the full set of its pods, whenever it changes. */
export interface Source {
  readonly name: PodSourceName;
  start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void>;
  readonly done: Promise<void>;
  health?(): Health;
}

export interface PodConfigOptions {
  /** All sources that there will be: until each has spoken, absence of a pod means nothing. */
  sources: readonly Source[];
  clock: Clock;
  logger: Logger;
  onChange(change: PodChange): void;
  /** For the event that tells about a pod that is not run because another has its name. */
  onConflict?(conflict: Conflict): void;
}

/** Runs the sources and merges them: from full sets to the changes between them. */
export class PodConfig implements Component {
  readonly name = "pod-config";
  readonly done: Promise<void>;
  #options: PodConfigOptions;
  #sets = new Map<PodSourceName, readonly Pod[]>();
  #known = new Map<PodSourceName, KnownPods>();
  #toldConflicts = new Set<string>();

  constructor(options: PodConfigOptions) {
    this.#options = options;
    this.done = Promise.all(options.sources.map((source) => source.done)).then(() => {});
  }

  /** Starts the sources, and resolves when each is at work. */
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

  /** Takes the full set of a source. All changes are told before it returns. */
  set(source: PodSourceName, pods: readonly Pod[]): void {
    const isFirst = !this.#sets.has(source);
    this.#sets.set(source, pods);
    const { wanted, conflicts } = resolveConflicts(this.#sets);
    this.#tellConflicts(conflicts);

    const now = dateOf(this.#options.clock.wall());
    const changes: PodChange[] = [];
    for (const [each, wantedOfEach] of wanted) {
      const known = this.#known.get(each) ?? new Map();
      this.#known.set(each, known);
      changes.push(...updateKnownPods(each, known, wantedOfEach, now));
    }
    // An empty ADD says that a source without pods has spoken.
    const speaks = changes.some((c) => c.source === source && c.op !== "REMOVE" && c.op !== "RECONCILE");
    if (isFirst && !speaks) changes.push({ op: "ADD", source, pods: [] });
    // What one source gives up, another may take over: first all that ends.
    for (const change of changes) if (change.op === "REMOVE") this.#options.onChange(change);
    for (const change of changes) if (change.op !== "REMOVE") this.#options.onChange(change);
  }

  /** Has every source spoken at least once? */
  sourcesReady(): boolean {
    return this.#options.sources.every((source) => this.#sets.has(source.name));
  }

  seenSources(): ReadonlySet<PodSourceName> {
    return new Set(this.#sets.keys());
  }

  /** Each conflict once, until it is gone. */
  #tellConflicts(conflicts: readonly Conflict[]): void {
    const now = new Set<string>();
    for (const conflict of conflicts) {
      const key = `${conflict.source} ${conflict.pod.metadata.uid} ${conflict.message}`;
      now.add(key);
      if (this.#toldConflicts.has(key)) continue;
      this.#options.logger.error(conflict.message, {
        pod: podRef(conflict.pod),
        podUID: conflict.pod.metadata.uid,
        source: conflict.source,
      });
      this.#options.onConflict?.(conflict);
    }
    this.#toldConflicts = now;
  }
}
