import { matchesGlob } from "node:path";
import { callSite } from "./call-site.ts";
import type { Fields, Logger } from "./logger.ts";
import { escapeInterpreted } from "./terminal-text.ts";

export type LogFormat = "text" | "json";
/** The longest message or field of a line. */
const maxText = 16 * 1024;

type Severity = "I" | "W" | "E";

export interface LogWriterOptions {
  format: LogFormat;
  verbosity: number;
  /** Verbosities of the files whose names match a pattern (*, ?, […]), without folder and extension. The first match counts. */
  vmodule?: readonly { readonly filePattern: string; readonly verbosity: number }[];
  write: (line: string) => void;
  /** Writes info messages, and in JSON also warnings, if they go elsewhere. */
  writeInfo?: ((line: string) => void) | undefined;
  now: () => Date;
  pid: number;
}

/** Writes log lines: as text in the form that Kubernetes components share, or as JSON. */
export function createLogger(options: LogWriterOptions, bound: Fields = {}): Logger {
  const log = (
    method: (...args: never[]) => void,
    severity: Severity,
    level: number,
    message: string,
    fields: Fields = {},
  ) => {
    const caller = callSite(method);
    const line =
      options.format === "json"
        ? jsonLine(options, caller, severity, level, message, { ...bound, ...fields })
        : textLine(options, caller, severity, message, { ...bound, ...fields });
    // Texts of containers, plugins and clients are in it: they must not control the terminal that shows the log.
    const isInfo = severity === "I" || (severity === "W" && options.format === "json");
    const write = (isInfo && options.writeInfo) || options.write;
    write(`${escapeInterpreted(line)}\n`);
  };
  const logger: Logger = {
    info: (message, fields) => log(logger.info, "I", 0, message, fields),
    warn: (message, fields) => log(logger.warn, "W", 0, message, fields),
    error: (message, fields) => log(logger.error, "E", 0, message, fields),
    debug: (level, message, fields) => {
      const isEnabled =
        level <= options.verbosity ||
        (options.vmodule?.length && level <= moduleVerbosity(options.vmodule, callSite(logger.debug)));
      if (isEnabled) log(logger.debug, "I", level, message, fields);
    },
    with: (fields) => createLogger(options, { ...bound, ...fields }),
  };
  return logger;
}

/** Verbosities of files seen before: patterns are matched once for each file. */
const moduleVerbosities = new WeakMap<object, Map<string, number>>();

function moduleVerbosity(vmodule: NonNullable<LogWriterOptions["vmodule"]>, caller: string): number {
  const known = moduleVerbosities.get(vmodule) ?? new Map<string, number>();
  moduleVerbosities.set(vmodule, known);
  const file = caller.slice(caller.lastIndexOf("/") + 1).replace(/\.\w+:\d+$/, "");
  let verbosity = known.get(file);
  if (verbosity === undefined) {
    verbosity = vmodule.find(({ filePattern }) => matchesGlob(file, filePattern))?.verbosity ?? 0;
    known.set(file, verbosity);
  }
  return verbosity;
}

function textLine(
  o: LogWriterOptions,
  caller: string,
  severity: Severity,
  message: string,
  fields: Fields,
): string {
  const t = o.now();
  const two = (n: number) => String(n).padStart(2, "0");
  const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}.${String(t.getMilliseconds()).padStart(3, "0")}000`;
  const head = `${severity}${two(t.getMonth() + 1)}${two(t.getDate())} ${time} ${String(o.pid).padStart(7)} ${caller.slice(caller.indexOf("/") + 1)}]`;
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${quoted(value)}`);
  return `${head} ${JSON.stringify(bounded(message))}${rest.join("")}`;
}

function quoted(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(bounded(value.message));
  return typeof value === "string"
    ? JSON.stringify(bounded(value))
    : typeof value === "object"
      ? json(value)
      : String(value);
}

/** Messages contain fields of objects, which pod authors make as long as they like: each retry would write megabytes. */
function bounded(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText)}… (${text.length} characters)`;
}

/** A line that cannot be written must not fail its caller. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner) => {
      if (typeof inner === "bigint") return String(inner);
      if (inner instanceof Error) return bounded(inner.message);
      return typeof inner === "string" ? bounded(inner) : inner;
    });
  } catch {
    return JSON.stringify(String(value));
  }
}

function jsonLine(
  o: LogWriterOptions,
  caller: string,
  severity: Severity,
  level: number,
  message: string,
  fields: Fields,
): string {
  const { err, ...rest } = fields;
  const head = {
    ts: o.now().getTime(),
    caller,
    msg: bounded(message),
    ...(severity === "I" ? { v: level } : severity === "W" ? { level: "warning" } : {}),
  };
  const tail = Object.entries({ ...rest, err })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `,${JSON.stringify(key)}:${json(value) ?? "null"}`);
  return `${JSON.stringify(head).slice(0, -1)}${tail.join("")}}`;
}
