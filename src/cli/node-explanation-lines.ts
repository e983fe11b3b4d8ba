import type { ExplainedShutdown, NodeExplanation } from "../kubelet/explain/explain-node.ts";
import { printable } from "../lib/base/terminal-text.ts";
import { duration } from "./explanation-lines.ts";

type Threshold = NodeExplanation["thresholds"][number];

/** The explanation of a node as text: its cause in the first line, then conditions, the last eviction and the thresholds. */
export function nodeExplanationLines(o: NodeExplanation): string[] {
  const now = Date.parse(o.at);
  const { lastEviction: last } = o;
  return [
    `${o.node}  ${o.cause ?? "nothing is low, and the node is ready"}`,
    ...o.conditions.map(({ type, endsInSeconds }) =>
      endsInSeconds === undefined
        ? `  ${type}: a threshold is crossed now`
        : `  ${type}: no threshold is crossed now, ends in ${duration(endsInSeconds * 1000)}`,
    ),
    ...(last
      ? [`  last eviction, ${duration(now - Date.parse(last.at))} ago: ${last.pod}: ${last.why}`]
      : []),
    ...(o.shutdown ? shutdownLines(o.shutdown, now) : []),
    ...thresholdLines(o.thresholds),
  ].map(printable);
}

function shutdownLines({ periods, problem, active, last }: ExplainedShutdown, now: number): string[] {
  const ago = (time: string) => `${duration(now - Date.parse(time))} ago`;
  const order = periods.map(({ priority, seconds }) => `${seconds} s for priority ${priority} and above`);
  const lines: string[] = [];
  if (active) {
    const waits = active.waitsFor.length > 0 ? `, waits for ${active.waitsFor.join(", ")}` : "";
    lines.push(`shutdown announced ${ago(active.since)}${waits}`);
  } else if (problem) lines.push(`a shutdown does not wait for pods: ${problem}`);
  else lines.push(`a shutdown waits for pods: ${order.join(", then ")}`);
  if (last && !active)
    lines.push(`last graceful shutdown, ${ago(last.start)}: ${last.end ? "completed" : "not completed"}`);
  return lines.map((line) => `  ${line}`);
}

function thresholdLines(thresholds: readonly Threshold[]): string[] {
  if (thresholds.length === 0) return ["  no eviction thresholds are configured"];
  const rows = thresholds.map((t) => [t.signal, t.kind, `< ${t.value}`, stateOf(t)]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd(),
  );
}

function stateOf({ available, capacity, threshold, value, met, evictsInSeconds }: Threshold): string {
  if (available === undefined) return "not observed";
  const share = threshold === value ? "" : `, threshold ${threshold}`;
  const waits = evictsInSeconds ? `, evicts in ${duration(evictsInSeconds * 1000)}` : "";
  return `${available} of ${capacity} available${share}${met ? ` (crossed${waits})` : ""}`;
}
