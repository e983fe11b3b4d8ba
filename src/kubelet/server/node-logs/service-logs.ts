import { orAbort } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { deadline } from "../../../lib/base/wait.ts";
import { readAt } from "../../../lib/host/regular-file.ts";
import { HttpError } from "../http-error.ts";
import { journalOptions, journalServices, runJournal } from "./journal.ts";
import { isNotFound, openEntry } from "./log-dir.ts";
import { hasOptions, type LogQuery } from "./log-query.ts";

type Write = (bytes: Buffer) => Promise<void>;

/** Each query is a process. */
const maxConcurrentQueries = 8;
const timeoutMs = 30_000;
const chunkBytes = 128 * 1024;

/** The logs of services: from the journal, if they write there, and otherwise from files named after them. */
export class ServiceLogs {
  readonly #dir: string;
  readonly #command: string;
  readonly #clock: Clock;
  #inProgress = 0;

  constructor(options: { dir: string; command: string; clock: Clock }) {
    this.#dir = options.dir;
    this.#command = options.command;
    this.#clock = options.clock;
  }

  /** Throws an HttpError at the concurrency limit; otherwise the returned function must be called at the end. */
  acquire(): () => void {
    if (this.#inProgress >= maxConcurrentQueries)
      throw new HttpError(429, "too many concurrent log queries\n");
    this.#inProgress++;
    return () => void this.#inProgress--;
  }

  async copy({ services, options }: LogQuery, send: Write, signal: AbortSignal): Promise<void> {
    using limit = deadline(this.#clock, timeoutMs, signal);
    // A client that does not read must not keep others from their queries.
    const write = (bytes: Buffer) => orAbort(send(bytes), limit.signal);
    const inJournal = await journalServices(this.#command, services, limit.signal);
    const [native, others] = [true, false].map((is) => services.filter((one) => inJournal.has(one) === is));
    const print = (text: string) => write(Buffer.from(text));
    if (native!.length > 0) {
      const selected = journalOptions(native!, options);
      const ended = await runJournal(this.#command, selected, limit.signal, write);
      if (ended === "missing" && !options.boot) await print("\nerror: journal output not available\n");
    }
    if (others!.length === 0) return;
    if (hasOptions(options)) {
      const names = `[${others!.join(" ")}]`;
      return await print(
        `\noptions present and query resolved to log files for ${names}\ntry without specifying options\n`,
      );
    }
    for (const service of others!) await this.#copyFile(service, write, limit.signal);
  }

  async #copyFile(service: string, write: Write, signal: AbortSignal): Promise<void> {
    const print = (text: string) => write(Buffer.from(text));
    for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
      try {
        if (await this.#tryFile(name, write, signal)) return;
      } catch (error) {
        if (isNotFound(error)) continue;
        if (errnoOf(error) === undefined || signal.aborted) throw error;
        return await print(`\nerror getting log for ${service}: ${messageOf(error)}\n`);
      }
    }
    await print(`\nlog not found for ${service}\n`);
  }

  /** False if it is a directory: the log may be in it. */
  async #tryFile(name: string, write: Write, signal: AbortSignal): Promise<boolean> {
    const entry = await openEntry(this.#dir, name);
    if (entry.kind === "directory") return false;
    try {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, entry.size)));
      for (let at = 0; at < entry.size; ) {
        signal.throwIfAborted();
        const read = await readAt(
          entry.file,
          buffer.subarray(0, Math.min(buffer.length, entry.size - at)),
          at,
        );
        if (read === 0) break;
        await write(Buffer.from(buffer.subarray(0, read)));
        at += read;
      }
      return true;
    } finally {
      await entry.file.close();
    }
  }
}
