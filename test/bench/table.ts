import { type Column, isOver, type Row, type Unit } from "./figures.ts";

/** Three significant digits, and a unit: "0.412 s", "62.1 MiB", "298". */
export function withUnit(value: number, unit: Unit): string {
  return unit === "" ? digits(value, unit) : `${digits(value, unit)} ${unit}`;
}

function digits(value: number, unit: Unit): string {
  if (unit === "") return String(Math.round(value));
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const overMark = "!";

/** The median of each figure with its range, and its target; medians over the target are marked. */
export function table(rows: readonly Row[], columns: readonly Column[]): string {
  const header = ["", ...columns.map(({ name }) => name), "target"];
  const lines = rows.map((row) => [
    row.label,
    ...row.cells.map((cell, i) => {
      if (!cell) return "-";
      const range =
        cell.values.length > 1 ? ` (${digits(cell.least, row.unit)}–${digits(cell.most, row.unit)})` : "";
      return `${withUnit(cell.median, row.unit)}${range}${isOver(row, i, columns) ? ` ${overMark}` : ""}`;
    }),
    row.target === undefined ? "-" : `≤ ${withUnit(row.target, row.unit)}`,
  ]);
  const widths = header.map((_, i) => Math.max(...[header, ...lines].map((line) => line[i]!.length)));
  return [header, ...lines]
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Labels of the figures over their target, for each kubelet. */
export function overTarget(rows: readonly Row[], columns: readonly Column[]): string[] {
  return columns.flatMap(({ name }, i) => {
    const over = rows.filter((row) => isOver(row, i, columns)).map(({ label }) => label);
    return over.length > 0 ? [`${overMark} over the target, ${name}: ${over.join("; ")}`] : [];
  });
}
