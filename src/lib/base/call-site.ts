import { readFileSync } from "node:fs";

/**
 * The source position of the call to `callee`: "pleg/pleg.ts:99", the file with its folder. In a bundle the
 * position is looked up in the table that the build wrote next to it, because a source map of megabytes is too much to load for that.
 */
export function callSite(callee: AnyFunction): string {
  const { stackTraceLimit, prepareStackTrace } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = 1;
    Error.prepareStackTrace = firstSite;
    Error.captureStackTrace(holder, callee);
    return positionOf(holder.stack as NodeJS.CallSite | undefined);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: any function, as Error.captureStackTrace takes it.
type AnyFunction = (...args: any[]) => unknown;

const unknown = "unknown:1";
const firstSite = (_: Error, sites: NodeJS.CallSite[]) => sites[0];
const tables = new Map<string, Readonly<Record<string, string>>>();

function positionOf(site: NodeJS.CallSite | undefined): string {
  const file = site?.getFileName();
  const line = site?.getLineNumber();
  if (!site || !file || !line) return unknown;
  const position = `${file.split("/").slice(-2).join("/")}:${line}`;
  return file.endsWith(".cjs") ? (tableOf(file)[`${line}:${site.getColumnNumber()}`] ?? position) : position;
}

/** Read when the first line is logged. Without a table, lines name their position in the bundle. */
function tableOf(bundle: string): Readonly<Record<string, string>> {
  let table = tables.get(bundle);
  if (!table) {
    table = readTable(bundle.replace(/\.cjs$/, ".log-sites.json"));
    tables.set(bundle, table);
  }
  return table;
}

function readTable(path: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
  } catch {
    return {};
  }
}
