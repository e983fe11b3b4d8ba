import type { Column, Row } from "./figures.ts";
import { withUnit } from "./table.ts";

const width = 760;
const labelWidth = 230;
const valueWidth = 96;
const bar = { height: 10, gap: 3 };
const rowGap = 12;
/** An estimate, as the font is unknown. */
const valueCharacter = 6.5;
const legendHeight = 34;
const lineHeight = 15;
/** An estimate for the caption, which is in a font of unknown width. */
const charactersPerLine = 115;

/** In the order of the columns; they are readable on light and on dark backgrounds. */
const floorColor = "#8c959f";
const kubeletColors = ["#2f81f7", "#d4813a", "#8957e5", "#3fa55b"];

/**
 * A bar for each column and figure. Every figure has its own scale, up to its longest bar or its target, because their units differ. The background
 * is transparent, and the text follows the color scheme of the reader.
 */
export function chart(rows: readonly Row[], columns: readonly Column[], caption: string): string {
  const shown = rows.filter((row) => row.isCharted && row.cells.some((cell) => cell));
  const colors = colorsOf(columns);
  let y = legendHeight;
  const body = shown.map((row) => {
    const part = chartRow(row, colors, y);
    y += barsHeight(part.bars) + rowGap;
    return part.svg;
  });
  const lines = wrapped(caption);
  const height = y + lines.length * lineHeight;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(caption)}">`,
    `<style>text{font:12px system-ui,sans-serif;fill:#57606a}.small{font-size:11px}.target{stroke:#57606a}@media(prefers-color-scheme:dark){text{fill:#9ea7b1}.target{stroke:#9ea7b1}}</style>`,
    ...legend(columns, colors),
    ...body,
    ...lines.map(
      (line, i) => `<text class="small" x="0" y="${y + (i + 1) * lineHeight - 4}">${escapeXml(line)}</text>`,
    ),
    "</svg>",
  ].join("\n")}\n`;
}

function colorsOf(columns: readonly Column[]): string[] {
  let kubelets = 0;
  return columns.map(({ isFloor }) =>
    isFloor ? floorColor : kubeletColors[kubelets++ % kubeletColors.length]!,
  );
}

function legend(columns: readonly Column[], colors: readonly string[]): string[] {
  let x = labelWidth;
  const entries = columns.map(({ name }, i) => {
    const entry = `<rect x="${x}" y="6" width="10" height="10" rx="2" fill="${colors[i]}"/><text x="${x + 15}" y="15">${escapeXml(name)}</text>`;
    x += 34 + name.length * 7;
    return entry;
  });
  const line = `<path class="target" d="M${x} 4v14" stroke-width="1.5"/><text x="${x + 7}" y="15">target</text>`;
  return [...entries, line];
}

function barsHeight(bars: number): number {
  return bars * (bar.height + bar.gap);
}

function chartRow(row: Row, colors: readonly string[], y: number): { svg: string; bars: number } {
  const cells = row.cells.flatMap((cell, i) => (cell ? [{ value: cell.median, color: colors[i]! }] : []));
  const longest = Math.max(...cells.map(({ value }) => value), row.target ?? 0) || 1;
  const space = width - labelWidth - valueWidth;
  const length = (value: number) => round((value / longest) * space);
  const height = barsHeight(cells.length);
  const middle = round(y + height / 2 + 3);
  const bars = cells.map(({ value, color }, i) => {
    const top = y + i * (bar.height + bar.gap);
    const end = Math.max(1, length(value));
    const rect = `<rect x="${labelWidth}" y="${top}" width="${end}" height="${bar.height}" rx="2" fill="${color}"/>`;
    const text = withUnit(value, row.unit);
    // Not across the line of the target.
    const line = row.target === undefined ? Number.POSITIVE_INFINITY : length(row.target);
    const start = line > end - 5 && line < end + 10 + text.length * valueCharacter ? line : end;
    return `${rect}<text class="small" x="${round(labelWidth + start + 5)}" y="${top + bar.height}">${text}</text>`;
  });
  const target =
    row.target === undefined
      ? []
      : [
          `<path class="target" d="M${labelWidth + length(row.target)} ${y - 3}v${height + 4}" stroke-width="1.5"/>`,
        ];
  const label = `<text x="${labelWidth - 12}" y="${middle}" text-anchor="end">${escapeXml(row.label)}</text>`;
  return { svg: [label, ...bars, ...target].join(""), bars: cells.length };
}

/** Lines of the caption, broken between its parts. */
function wrapped(caption: string): string[] {
  const lines = [""];
  for (const part of caption.split("; ")) {
    const last = lines.at(-1)!;
    if (last === "") lines[lines.length - 1] = part;
    else if (last.length + part.length + 2 > charactersPerLine) lines.push(part);
    else lines[lines.length - 1] = `${last}; ${part}`;
  }
  return lines;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
