import { errnoOf, messageOf } from "../lib/base/errors.ts";
import type { Logger } from "../lib/base/logger.ts";
import { readableStack } from "../lib/base/readable-stack.ts";

/**
 * Writes unhandled rejections and uncaught exceptions to the structured log, with their stack. After an exception some callback has not
 * completed, and it is unknown which: the process exits, as Node.js does by default. The logger has to write synchronously.
 */
export function logFaults(logger: Logger): void {
  logRejections(logger);
  surviveFullDisk();
  process.on("uncaughtException", (error) => {
    logger.error("Uncaught exception, exiting", fieldsOf(error));
    process.exit(1);
  });
}

/**
 * The process keeps running after an unhandled rejection: the failed work belongs to one pod or one request at most, and a restart
 * would interrupt all others. A loop that it has stopped is detected by /healthz and the watchdog.
 */
export function logRejections(logger: Logger): void {
  process.on("unhandledRejection", (reason) => {
    logger.error("Unhandled promise rejection", fieldsOf(reason));
  });
}

/**
 * A log on a full disk loses lines and does not end the process, which is what frees the disk. If the reader of the log is gone, the process
 * still ends: a restart connects it to a new one.
 */
function surviveFullDisk(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error) => {
      if (errnoOf(error) === "EPIPE") throw error;
    });
}

function fieldsOf(reason: unknown): { err: string; stack?: string | undefined } {
  return { err: messageOf(reason), stack: reason instanceof Error ? readableStack(reason) : undefined };
}
