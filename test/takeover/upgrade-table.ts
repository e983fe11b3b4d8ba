import type { NodeState } from "./node-state.ts";

/** The effect of a takeover on one kind of state. */
export type Effect = "kept" | "rewritten" | "replaced" | "created" | "-";

/** The columns of the document's table. */
export const toTypeScript = "Go kubelet to kubelet-ts";
export const toReference = "kubelet-ts to Go kubelet";

export function effectOf(
  before: Readonly<Record<string, string>> = {},
  after: Readonly<Record<string, string>> = {},
): Effect {
  const names = Object.keys(before);
  if (names.length === 0) return Object.keys(after).length === 0 ? "-" : "created";
  if (names.some((name) => !(name in after))) return "replaced";
  return names.every((name) => before[name] === after[name]) ? "kept" : "rewritten";
}

export function effects(before: NodeState, after: NodeState): Record<string, Effect> {
  const rows = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries([...rows].map((row) => [row, effectOf(before[row], after[row])]));
}

/** The rows whose effect differs from the documented one. A document may allow two: "kept or rewritten". */
export function undocumented(
  measured: Readonly<Record<string, Effect>>,
  documented: Readonly<Record<string, string>> = {},
): string[] {
  const rows = new Set([...Object.keys(measured), ...Object.keys(documented)]);
  return [...rows]
    .filter((row) => !documented[row]?.split(" or ").includes(measured[row] ?? ""))
    .map((row) => `${row}: ${measured[row]}, documented: ${documented[row]}`);
}

/** The rows of a table in a document, by the names of its columns; empty without the table. */
export function readTable(text: string, firstColumn: string): Record<string, Record<string, string>> {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`|  | ${firstColumn} |`));
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  if (start < 0) return {};
  const [, ...columns] = cells(lines[start]!);
  const end = lines.findIndex((line, at) => at > start && !line.startsWith("|"));
  const rows = lines.slice(start + 2, end).map(cells);
  return Object.fromEntries(
    columns.map((column, at) => [
      column,
      Object.fromEntries(rows.map(([name = "", ...values]) => [name, values[at] ?? ""])),
    ]),
  );
}
