import { epochMs, type WallTime } from "../../../lib/base/time.ts";
export type MetricType = "counter" | "gauge" | "histogram" | "summary" | "untyped";

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Milliseconds since the epoch; absent: now. */
  readonly time?: WallTime;
  /** "_bucket", "_sum" or "_count"; absent for the metric itself. */
  readonly suffix?: string;
}

/** One metric with all of its samples. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly samples: readonly Sample[];
}

export type Format = "text" | "openmetrics";

/** Sorted by name, without metrics that have no samples. */
export function exposition(families: readonly Family[], format: Format): string {
  const parts = families
    .filter(({ samples }) => samples.length > 0)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((family) => (format === "text" ? textOf(family) : openMetricsOf(family)));
  return format === "text" ? parts.join("") : `${parts.join("")}# EOF\n`;
}

function textOf({ name, help, type, samples }: Family): string {
  const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  const lines = samples.map(({ suffix = "", labels, value, time }) => {
    const at = time === undefined ? "" : ` ${Math.round(epochMs(time))}`;
    return `${name}${suffix}${labelText(labels)} ${numberText(value)}${at}\n`;
  });
  return head + lines.join("");
}

/** Formats a family for OpenMetrics, where the samples of a counter end with _total and its name does not. */
function openMetricsOf({ name, help, type, samples }: Family): string {
  const counter = type === "counter";
  const base = counter && name.endsWith("_total") ? name.slice(0, -"_total".length) : name;
  const typeName = type === "untyped" ? "unknown" : type;
  const head = `# HELP ${base} ${escapeHelp(help, true)}\n# TYPE ${base} ${typeName}\n`;
  const lines = samples.map(({ suffix = counter ? "_total" : "", labels, value, time }) => {
    const at = time === undefined ? "" : ` ${epochMs(time) / 1000}`;
    return `${base}${suffix}${labelText(labels)} ${numberText(value)}${at}\n`;
  });
  return head + lines.join("");
}

function labelText(labels: Labels): string {
  const pairs = Object.keys(labels)
    .sort((a, b) => (a < b ? -1 : 1))
    .map((key) => `${key}="${escapeValue(labels[key]!)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

function escapeValue(text: string): string {
  return text.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`));
}

function escapeHelp(text: string, quotes = false): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return quotes ? escaped.replaceAll('"', '\\"') : escaped;
}
