export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly time: number | undefined;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ParsedSample[];
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*/;
const types = ["counter", "gauge", "histogram", "summary", "untyped"];

/** Reads Prometheus text format 0.0.4, and throws at the first violation. */
export function parsePrometheus(text: string): Map<string, ParsedFamily> {
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line is not terminated");
  const families = new Map<string, ParsedFamily>();
  const seen = new Set<string>();
  let helpOf: { name: string; help: string } | undefined;
  let current: ParsedFamily | undefined;
  for (const [index, line] of text.split("\n").slice(0, -1).entries()) {
    const fail = (why: string): never => {
      throw new Error(`line ${index + 1}: ${why}: ${line}`);
    };
    if (line.startsWith("# HELP ")) {
      const [, name = fail("no name"), help = ""] = /^# HELP (\S+) ?(.*)$/.exec(line) ?? [];
      if (metricName.exec(name)?.[0] !== name) fail("invalid name");
      if (!/^(?:[^\\]|\\[\\n])*$/.test(help)) fail("invalid escape");
      helpOf = { name, help };
      continue;
    }
    if (line.startsWith("# TYPE ")) {
      const [, name = fail("no name"), type = fail("no type")] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
      if (!types.includes(type)) fail("unknown type");
      if (families.has(name)) fail("duplicate family");
      if (helpOf?.name !== name) fail("TYPE without HELP");
      current = { name, type, help: helpOf?.help ?? "", samples: [] };
      families.set(name, current);
      continue;
    }
    if (line.startsWith("#") || line === "") fail("neither HELP, TYPE nor sample");
    const sample = parseSample(line, fail);
    if (!current || !belongs(sample.name, current)) fail("sample of another metric");
    const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort(byKey)]);
    if (seen.has(key)) fail("duplicate sample");
    seen.add(key);
    current?.samples.push(sample);
  }
  for (const family of families.values()) checkFamily(family);
  return families;
}

function parseSample(line: string, fail: (why: string) => never): ParsedSample {
  const name = metricName.exec(line)?.[0] ?? fail("invalid name");
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    while (!rest.startsWith("}")) {
      const label = labelName.exec(rest)?.[0] ?? fail("invalid label");
      if (Object.hasOwn(labels, label)) fail("duplicate label");
      const [whole = fail("invalid value"), value = ""] =
        /^="((?:[^"\\\n]|\\["\\n])*)"/.exec(rest.slice(label.length)) ?? [];
      labels[label] = value.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
      rest = rest.slice(label.length + whole.length);
      if (rest.startsWith(",")) rest = rest.slice(1);
      else if (!rest.startsWith("}")) fail("unterminated labels");
    }
    rest = rest.slice(1);
  }
  const [, number = fail("no value"), time] = /^ (\S+)(?: (-?\d+))?$/.exec(rest) ?? [];
  return {
    name,
    labels,
    value: parseValue(number, fail),
    time: time === undefined ? undefined : Number(time),
  };
}

function parseValue(text: string, fail: (why: string) => never): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  if (text === "NaN") return Number.NaN;
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text)) fail("invalid number");
  return Number(text);
}

function belongs(sample: string, { name, type }: ParsedFamily): boolean {
  if (type === "histogram") return ["_bucket", "_sum", "_count"].some((suffix) => sample === name + suffix);
  if (type === "summary") return ["", "_sum", "_count"].some((suffix) => sample === name + suffix);
  return sample === name;
}

/** All samples of a metric have the same labels; bucket counts do not decrease, and the last one is the total count. */
function checkFamily({ name, type, samples }: ParsedFamily): void {
  const sets = new Set(samples.map((sample) => labelsOf(sample).join(",")));
  if (sets.size > 1) throw new Error(`${name} has samples with different labels: ${[...sets].join(" | ")}`);
  if (type === "counter" && samples.some(({ value }) => !(value >= 0)))
    throw new Error(`${name} is negative`);
  if (type !== "histogram") return;
  const series = new Map<string, ParsedSample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(Object.entries(labels).sort(byKey));
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const parts of series.values()) {
    const buckets = parts.filter((part) => part.name === `${name}_bucket`);
    const count = parts.find((part) => part.name === `${name}_count`)?.value;
    const bounds = buckets.map(({ labels }) =>
      labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le),
    );
    if (bounds.some((bound, i) => Number.isNaN(bound) || (i > 0 && bound <= bounds[i - 1]!)))
      throw new Error(`${name} has buckets out of order`);
    if (buckets.some(({ value }, i) => i > 0 && value < buckets[i - 1]!.value))
      throw new Error(`${name} has decreasing bucket counts`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== count)
      throw new Error(`${name} has no +Inf bucket that equals its count`);
    if (!parts.some((part) => part.name === `${name}_sum`)) throw new Error(`${name} has no sum`);
  }
}

/** The names of the labels, except for buckets and quantiles. */
export function labelsOf({ labels }: ParsedSample): string[] {
  return Object.keys(labels)
    .filter((label) => label !== "le" && label !== "quantile")
    .sort((a, b) => (a < b ? -1 : 1));
}

function byKey([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : 1;
}
