import { whenAborted } from "../../../lib/base/abort.ts";
import type { ProgramOption } from "../../../lib/host/start-program.ts";
import { startProgram } from "../../../lib/host/start-program.ts";
import type { LogTime } from "../logs/log-time.ts";
import type { LogQueryOptions } from "./log-query.ts";

/** Maximum number of units. */
const maxListBytes = 8 * 1024 * 1024;

/** The options of journalctl for a query. */
export function journalOptions(services: readonly string[], options: LogQueryOptions): ProgramOption[] {
  const { since, until, tailLines, pattern, boot } = options;
  return [
    "--utc",
    "--no-pager",
    ["--output=", "short-precise"],
    ...(since ? [["--since=", journalTime(since.time)] as const] : []),
    ...(until ? [["--until=", journalTime(until.time)] as const] : []),
    ...(tailLines !== undefined ? (["--pager-end", ["--lines=", `${tailLines}`]] as const) : []),
    ...services.map((service) => ["--unit=", service] as const),
    ...(pattern !== undefined ? [["--grep=", pattern] as const] : []),
    ...(boot !== undefined ? [["--boot=", `${boot}`] as const] : []),
  ];
}

/** systemd rejects earlier and later times. */
const firstMs = 0;
const lastMs = Date.UTC(9999, 11, 30, 23, 59, 59);

/** "2026-1-31 7:5:0 UTC": without a zone, the time would be one of the node's time zone. */
function journalTime({ ms }: LogTime): string {
  const t = new Date(Math.min(Math.max(ms, firstMs), lastMs));
  const day = [t.getUTCFullYear(), t.getUTCMonth() + 1, t.getUTCDate()].join("-");
  return `${day} ${[t.getUTCHours(), t.getUTCMinutes(), t.getUTCSeconds()].join(":")} UTC`;
}

/** The services that write to the journal. None without a journal. */
export async function journalServices(
  command: string,
  services: readonly string[],
  signal: AbortSignal,
): Promise<Set<string>> {
  const parts: Buffer[] = [];
  let size = 0;
  const ended = await runJournal(command, [["--field", "_SYSTEMD_UNIT"]], signal, async (bytes) => {
    size += bytes.length;
    if (size <= maxListBytes) parts.push(bytes);
  });
  if (ended !== "ok") return new Set();
  const units = Buffer.concat(parts).toString();
  return new Set(services.filter((service) => units.includes(`${service}.service`)));
}

/** Streams the output of the program, with back-pressure and including stderr. */
export async function runJournal(
  command: string,
  options: readonly ProgramOption[],
  signal: AbortSignal,
  write: (bytes: Buffer) => Promise<void>,
): Promise<"ok" | "failed" | "missing"> {
  if (signal.aborted) return "failed";
  const child = startProgram({ program: command, options }, { stdio: ["ignore", "pipe", "pipe"] });
  const exit = new Promise<"ok" | "failed" | "missing">((resolve) => {
    child.once("error", () => resolve("missing"));
    child.once("close", (code) => resolve(code === 0 ? "ok" : "failed"));
  });
  const kill = () => child.kill("SIGKILL");
  using _ = whenAborted(signal, kill);
  try {
    const copy = async (output: AsyncIterable<Buffer>) => {
      for await (const bytes of output) await write(bytes);
    };
    await Promise.all([copy(child.stdout), copy(child.stderr)]);
  } catch (error) {
    kill();
    await exit;
    throw error;
  }
  return await exit;
}
