import type { PodRow } from "../kubelet/explain/pod-overview.ts";
import { printable } from "../lib/base/terminal-text.ts";

const columns: [title: string, value: (row: PodRow, now: number) => string][] = [
  ["NAMESPACE", (row) => row.namespace],
  ["NAME", (row) => row.name],
  ["PHASE", (row) => row.phase],
  ["READY", (row) => row.ready],
  ["RESTARTS", (row) => String(row.restarts)],
  ["IP", (row) => row.ip || "-"],
  ["AGE", (row, now) => age(row.startTime, now)],
  ["BLOCKED ON", (row) => row.why || "-"],
];

/** The pods as a table with one line per pod, truncated to `width`. */
export function podTable(rows: readonly PodRow[], now: number, width = Number.POSITIVE_INFINITY): string[] {
  const cells = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, value]) => value(row, now))),
  ];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]!.length)));
  return cells.map((line) =>
    line
      .map((cell, i) => (i === line.length - 1 ? printable(cell) : printable(cell).padEnd(widths[i]!)))
      .join("  ")
      .trimEnd()
      .slice(0, width),
  );
}

/** The age, formatted as kubectl does: 45s, 3m12s, 5h, 3d4h, 2y35d. A start in the future has the age 0s. */
export function age(startTime: string, now: number): string {
  const ms = now - Date.parse(startTime);
  if (Number.isNaN(ms)) return "-";
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, "s")}`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return `${hours}h${rest(minutes % 60, "m")}`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return `${days}d${rest(hours % 24, "h")}`;
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? `${years}y${rest(days % 365, "d")}` : `${years}y`;
}

function rest(amount: number, unit: string): string {
  return amount === 0 ? "" : `${amount}${unit}`;
}
