import { dateOf, type WallTime } from "../../lib/base/time.ts";
import type { EvictionReport } from "../resources/eviction/report.ts";
import type { Explain, PodQuery } from "../server/explain-query.ts";
import type { AgentCore } from "./agent-core.ts";

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
}

function explainNode(o: {
  readonly node: string;
  readonly now: WallTime;
  readonly notReady: readonly string[];
  readonly eviction: EvictionReport;
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
  };
}

/** Explains pods, or the node. */
export function explainer(
  { node, clock }: Pick<AgentCore, "node" | "clock">,
  parts: {
    readonly pods: { explain(query: PodQuery): object | undefined };
    readonly eviction: { report(): EvictionReport };
    readonly notReady: () => readonly string[];
  },
): Explain {
  const { pods, eviction, notReady } = parts;
  return (query) => {
    if (!("node" in query)) return pods.explain(query);
    const state = { notReady: notReady(), eviction: eviction.report() };
    return explainNode({ node: node.name, now: clock.wall(), ...state });
  };
}
