import type { Clock } from "../../lib/base/clock.ts";
import { dateOf, type WallTime } from "../../lib/base/time.ts";
import type { EvictionReport } from "../resources/eviction/report.ts";
import type { ShutdownReport } from "../resources/node-shutdown/shutdown-report.ts";
import type { PodExplanations, PodQuery } from "./pod-explanations.ts";

/** Why a node is not ready or under pressure, and how far it is from each threshold. */
export interface NodeExplanation {
  readonly node: string;
  readonly at: string;
  /** In one line; null if the node is ready and nothing is low. */
  readonly cause: string | null;
  readonly conditions: EvictionReport["conditions"];
  readonly notReady: readonly string[];
  readonly thresholds: EvictionReport["thresholds"];
  readonly lastEviction: { readonly pod: string; readonly why: string; readonly at: string } | null;
  readonly shutdown: ExplainedShutdown | null;
}

/** The shutdown of the machine: what it would wait for, the one in progress, and the last one. */
export interface ExplainedShutdown {
  readonly periods: ShutdownReport["periods"];
  /** Why a shutdown would not wait for pods; null if it would. */
  readonly problem: string | null;
  readonly active: {
    readonly since: string;
    readonly priority?: number;
    readonly waitsFor: readonly string[];
  } | null;
  readonly last: { readonly start: string; readonly end: string | null } | null;
}

function explainedShutdown({ periods, problem, active, last }: ShutdownReport): ExplainedShutdown {
  const text = (time: WallTime) => dateOf(time).toISOString();
  return {
    periods,
    problem: problem ?? null,
    active: active ? { ...active, since: text(active.since) } : null,
    last: last ? { start: text(last.start), end: last.end === undefined ? null : text(last.end) } : null,
  };
}

function explainNode(o: {
  readonly node: string;
  readonly now: WallTime;
  readonly notReady: readonly string[];
  readonly eviction: EvictionReport;
  readonly shutdown: ShutdownReport | undefined;
}): NodeExplanation {
  const { conditions, cause, thresholds, lastEviction } = o.eviction;
  const types = conditions.map(({ type }) => type).join(", ");
  const pressure = conditions.length > 0 ? [`${types}: ${cause}`] : [];
  const causes = [...o.notReady.map((reason) => `not ready: ${reason}`), ...pressure];
  return {
    node: o.node,
    at: dateOf(o.now).toISOString(),
    cause: causes.length > 0 ? causes.join("; ") : null,
    conditions,
    notReady: o.notReady,
    thresholds,
    lastEviction: lastEviction ? { ...lastEviction, at: dateOf(lastEviction.at).toISOString() } : null,
    shutdown: o.shutdown ? explainedShutdown(o.shutdown) : null,
  };
}

/** Pods, or the node. */
export type ExplainQuery = PodQuery | { readonly node: true };

export interface ExplainerOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly pods: PodExplanations;
  readonly eviction: { report(): EvictionReport };
  /** Undefined if shutdowns are not delayed. */
  readonly shutdown: { report(): ShutdownReport } | undefined;
  readonly notReady: () => readonly string[];
}

/** Explains pods, or the node. */
export class Explainer {
  readonly #o: ExplainerOptions;

  constructor(options: ExplainerOptions) {
    this.#o = options;
  }

  /** Undefined if there is no such pod. */
  explain(query: ExplainQuery): object | undefined {
    return "node" in query ? this.explainNode() : this.#o.pods.explain(query);
  }

  explainNode(): NodeExplanation {
    const { nodeName, clock, eviction, shutdown, notReady } = this.#o;
    return explainNode({
      node: nodeName,
      now: clock.wall(),
      notReady: notReady(),
      eviction: eviction.report(),
      shutdown: shutdown?.report(),
    });
  }
}
