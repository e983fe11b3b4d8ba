import { createLogger } from "../../src/lib/base/log-writer.ts";
import type { Logger } from "../../src/lib/base/logger.ts";

/** The log of an agent in this process, as it is written at -v 2, or at another verbosity. */
export class AgentLog {
  readonly lines: string[] = [];
  readonly logger: Logger;

  constructor(verbosity = 2) {
    this.logger = createLogger({
      format: "text",
      verbosity,
      write: (line) => void this.lines.push(line.trimEnd()),
      now: () => new Date(),
      pid: process.pid,
    });
  }

  /** Severity and message of each line from this one on: "W API server rejected event". */
  messages(from = 0): string[] {
    return this.lines.slice(from).map((line) => `${line[0]} ${/\] "([^"]*)"/.exec(line)?.[1]}`);
  }

  /** Warnings and errors only. */
  problems(from = 0): string[] {
    return this.messages(from).filter((message) => /^[WE] /.test(message));
  }
}
