import type { Fields, Logger } from "./logger.ts";

export type LogFormat = "text" | "json";
type Severity = "I" | "W" | "E";

export interface LogWriterOptions {
  format: LogFormat;
  verbosity: number;
  write: (line: string) => void;
  now: () => Date;
  pid: number;
}

/** Writes log lines: as text in the form that Kubernetes components share, or as JSON. */
export function createLogger(options: LogWriterOptions, bound: Fields = {}): Logger {
  const log = (severity: Severity, level: number, message: string, fields: Fields = {}) => {
    const line =
      options.format === "json"
        ? jsonLine(options, severity, level, message, { ...bound, ...fields })
        : textLine(options, severity, message, { ...bound, ...fields });
    options.write(`${line}\n`);
  };
  return {
    info: (message, fields) => log("I", 0, message, fields),
    warn: (message, fields) => log("W", 0, message, fields),
    error: (message, fields) => log("E", 0, message, fields),
    debug: (level, message, fields) => {
      if (level <= options.verbosity) log("I", level, message, fields);
    },
    with: (fields) => createLogger(options, { ...bound, ...fields }),
  };
}

function textLine(o: LogWriterOptions, severity: Severity, message: string, fields: Fields): string {
  const t = o.now();
  const two = (n: number) => String(n).padStart(2, "0");
  const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3, "0")}000`;
  const head = `${severity}${two(t.getMonth() + 1)}${two(t.getDate())} ${time} ${String(o.pid).padStart(7)} kubelet]`;
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${quoted(value)}`);
  return `${head} ${JSON.stringify(message)}${rest.join("")}`;
}

function quoted(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message);
  return typeof value === "string"
    ? JSON.stringify(value)
    : typeof value === "object"
      ? json(value)
      : String(value);
}

/** A line that cannot be written must not end the one who wanted to write it. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner) =>
      typeof inner === "bigint" ? String(inner) : inner instanceof Error ? inner.message : inner,
    );
  } catch {
    return JSON.stringify(String(value));
  }
}

function jsonLine(
  o: LogWriterOptions,
  severity: Severity,
  level: number,
  message: string,
  fields: Fields,
): string {
  const { err, ...rest } = fields;
  const head = {
    ts: o.now().getTime(),
    caller: "kubelet",
    msg: message,
    ...(severity === "I" ? { v: level } : severity === "W" ? { level: "warning" } : {}),
  };
  const tail = Object.entries({ ...rest, err })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `,${JSON.stringify(key)}:${json(value) ?? "null"}`);
  return `${JSON.stringify(head).slice(0, -1)}${tail.join("")}}`;
}
