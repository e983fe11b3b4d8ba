import { isBefore, type LogTime, parseLogTime } from "../logs/log-time.ts";

/** The parameters of `/logs/?query=…`: services or one file, and the part of their logs. */
export interface LogQuery {
  readonly services: readonly string[];
  readonly files: readonly string[];
  readonly options: LogQueryOptions;
}

export interface LogQueryOptions {
  readonly since?: { readonly time: LogTime; readonly text: string };
  readonly until?: { readonly time: LogTime; readonly text: string };
  readonly tailLines?: number;
  readonly boot?: number;
  readonly pattern?: string;
}

const maxTailLines = 100_000;
const maxServiceLength = 256;
const maxServices = 4;

/** Undefined if the request is not a query but names a file by its path. */
export function parseLogQuery(
  query: URLSearchParams,
): LogQuery | undefined | { readonly problems: string[] } {
  const problems: string[] = [];
  const queries = query.getAll("query");
  const isFile = (value: string) => /[/\\]/.test(value);
  const files = queries.filter(isFile);
  const services = queries.filter((value) => !isFile(value) && value.trim() !== "");
  if (queries.length > 0 && files.length + services.length === 0)
    problems.push(invalid("query", queries, "may not be empty"));
  const since = time(query, "sinceTime", problems);
  const until = time(query, "untilTime", problems);
  const boot = integer(query, "boot", problems);
  const tailLines = integer(query, "tailLines", problems);
  const pattern = query.get("pattern") || undefined;
  if (problems.length > 0) return { problems };
  const options = {
    ...(since && { since }),
    ...(until && { until }),
    ...(boot !== undefined && { boot }),
    ...(tailLines !== undefined && { tailLines }),
    ...(pattern !== undefined && { pattern }),
  };
  if (queries.length === 0 && !hasOptions(options)) return undefined;
  return { services, files, options };
}

export function hasOptions(options: LogQueryOptions): boolean {
  return Object.keys(options).length > 0;
}

/** The problems of a parsed query. It does not check whether the file exists: opening the file does. */
export function checkLogQuery({ services, files, options }: LogQuery): string[] {
  const problems = services.flatMap((service) => {
    const problem = serviceProblem(service);
    return problem ? [invalid("query", service, problem)] : [];
  });
  if (services.length > maxServices)
    problems.push(`query: Too many: ${services.length}: must have at most ${maxServices} items`);
  if (files.length + services.length === 0)
    problems.push("query: Required value: cannot be empty with options");
  else if (files.length > 0 && services.length > 0)
    problems.push(
      invalid("query", `[${files.join(" ")}], [${services.join(" ")}]`, "cannot specify a file and service"),
    );
  else if (files.length > 1) problems.push(invalid("query", files, "cannot specify more than one file"));
  else if (files.length === 1 && hasOptions(options))
    problems.push(invalid("query", files, "cannot specify file with options"));
  problems.push(...optionProblems(options));
  return problems;
}

function optionProblems({ since, until, boot, tailLines, pattern }: LogQueryOptions): string[] {
  const problems: string[] = [];
  if (since && until && isBefore(until.time, since.time))
    problems.push(invalid("untilTime", until.text, "must be after `sinceTime`"));
  if (boot !== undefined && boot > 0) problems.push(invalid("boot", boot, "must be less than 1"));
  if (tailLines !== undefined && (tailLines < 0 || tailLines > maxTailLines))
    problems.push(invalid("tailLines", tailLines, `must be between 0 and ${maxTailLines}, inclusive`));
  const wrong = pattern === undefined ? undefined : patternProblem(pattern);
  if (wrong !== undefined) problems.push(invalid("pattern", pattern, wrong));
  return problems;
}

/** One message for all of them, each once. */
export function joinProblems(problems: readonly string[]): string {
  const once = [...new Set(problems)];
  return once.length === 1 ? (once[0] ?? "") : `[${once.join(", ")}]`;
}

export function invalid(field: string, value: unknown, detail: string): string {
  return `${field}: Invalid value: ${JSON.stringify(value)}: ${detail}`;
}

/** They become arguments of a program. */
function serviceProblem(service: string): string | undefined {
  if (service.length > maxServiceLength) return `length must be less than ${maxServiceLength}`;
  return /[^a-zA-Z\-_.:0-9@]/.test(service) ? "input contains unsupported characters" : undefined;
}

/** The journal uses Perl syntax: patterns that are invalid in JavaScript are accepted. */
function patternProblem(pattern: string): string | undefined {
  if (pattern.includes("\0")) return "error parsing regexp: invalid character";
  const here = pattern
    .replace(/\(\?[imsU-]+\)/g, "")
    .replace(/\(\?([imsU-]+):/g, "(?:")
    .replaceAll("(?P<", "(?<");
  try {
    new RegExp(here);
    return undefined;
  } catch (error) {
    return `error parsing regexp: ${String((error as Error).message)
      .split(": ")
      .at(-1)}`;
  }
}

function time(query: URLSearchParams, name: string, problems: string[]) {
  const text = query.get(name);
  if (!text) return undefined;
  const found = parseLogTime(text);
  if (!found) problems.push(invalid(name, text, "invalid time format"));
  return found && { time: found, text };
}

function integer(query: URLSearchParams, name: string, problems: string[]): number | undefined {
  const text = query.get(name);
  if (!text) return undefined;
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  const reason = Number.isNaN(number) ? "invalid syntax" : "value out of range";
  problems.push(invalid(name, text, `strconv.Atoi: parsing ${JSON.stringify(text)}: ${reason}`));
  return undefined;
}
