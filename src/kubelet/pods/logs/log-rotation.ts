import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import { errnoOf, isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { OpenDir } from "../../../lib/host/open-dir.ts";
import { openRegularFile } from "../../../lib/host/regular-file.ts";
import { compressedSuffix, planRotation, rotatedName, temporarySuffix } from "./rotation-plan.ts";
import { rotationQueue } from "./rotation-queue.ts";

export interface LoggingContainer {
  id: ContainerId;
  logPath: string;
}

export interface LogRotationOptions {
  runtime: Pick<RuntimeService, "reopenContainerLog">;
  /** The running containers: others do not write. */
  running: () => Iterable<LoggingContainer>;
  /** The directory of the logs of all pods. */
  podLogsDir: string;
  /** From this size on a log is rotated; negative for never. */
  maxBytes: number;
  /** Files to keep of a container, including the current one. */
  maxFiles: number;
  /** Maximum of logs that are rotated in parallel. */
  workers: number;
  everyMs: number;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** Rotates logs that are too large, has the runtime reopen them, and removes the oldest. */
export class LogRotation implements Component {
  readonly name = "log-rotation";
  readonly #o: LogRotationOptions;
  readonly #limiter: ConcurrencyLimiter;
  readonly #queue: ReturnType<typeof rotationQueue>;
  /** Logs that are queued or being rotated. */
  #busy = new Map<ContainerId, Promise<void>>();
  /** Logged again only when it changes. */
  #lastErrors = new Map<ContainerId, string>();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: LogRotationOptions) {
    this.#o = options;
    this.#limiter = new ConcurrencyLimiter(options.workers);
    this.#queue = rotationQueue(options.metrics, options.clock);
  }

  get done(): Promise<void> {
    return this.#loop.then(async () => void (await Promise.all(this.#busy.values())));
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, everyMs, maxBytes, logger } = this.#o;
    if (maxBytes < 0) return;
    this.#loop = runPeriodically(async () => this.#sync(signal), {
      clock,
      everyMs,
      signal,
      onError: (error) => logger.warn("Failed to rotate logs", { err: messageOf(error) }),
    });
  }

  /** Does not wait for the work: a large log must not block the check of others. */
  #sync(signal: AbortSignal): void {
    const running = [...this.#o.running()];
    const ids = new Set(running.map((container) => container.id));
    for (const id of this.#lastErrors.keys()) if (!ids.has(id)) this.#lastErrors.delete(id);
    for (const container of running) {
      if (!container.logPath || this.#busy.has(container.id)) continue;
      const queued = this.#queue.add();
      const check = () => {
        queued.started();
        return this.#check(container, signal);
      };
      const work = this.#limiter
        .run(check, { signal })
        .catch((error) => {
          if (!isAbort(error)) throw error;
        })
        .finally(() => {
          queued.ended();
          this.#busy.delete(container.id);
        });
      this.#busy.set(container.id, work);
    }
  }

  async #check(container: LoggingContainer, signal: AbortSignal): Promise<void> {
    try {
      if ((await this.#sizeOf(container)) >= this.#o.maxBytes) await this.#rotate(container, signal);
      this.#lastErrors.delete(container.id);
    } catch (error) {
      // The container was removed in the meantime.
      if (isAbort(error) || hasGrpcCode(error, "NOT_FOUND")) return;
      const message = messageOf(error);
      if (this.#lastErrors.get(container.id) === message) return;
      this.#lastErrors.set(container.id, message);
      const { id, logPath: path } = container;
      this.#o.logger.warn("Failed to rotate container log", { id, path, err: message });
    }
  }

  /** A log that was deleted is reopened, or the output of the container would be lost. */
  async #sizeOf({ id, logPath }: LoggingContainer): Promise<number> {
    try {
      return (await stat(logPath)).size;
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
    await this.#o.runtime.reopenContainerLog(id);
    return (await stat(logPath)).size;
  }

  async #rotate(container: LoggingContainer, signal: AbortSignal): Promise<void> {
    const { logPath } = container;
    const dir = await this.#open(dirname(logPath));
    try {
      const prefix = `${basename(logPath)}.`;
      const entries = (await readdir(dir.path, { withFileTypes: true })).filter(({ name }) =>
        name.startsWith(prefix),
      );
      // A pod with the log directory as a volume may create links with such names.
      const rotated = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
      const plan = planRotation(rotated, this.#o.maxFiles);
      for (const name of plan.remove) await rm(dir.at(Buffer.from(name)), { force: true });
      for (const name of plan.compress) await compressFile(dir, name, signal);
      signal.throwIfAborted();
      const rotatedPath = rotatedName(logPath, this.#o.clock.wall());
      // Two rotations in one second: the later waits for the next check, rather than overwrite the earlier.
      if (entries.some(({ name }) => name === basename(rotatedPath))) return;
      await this.#replace(container, dir, rotatedPath);
    } finally {
      dir.close();
    }
  }

  /** Logs that were created before the directory was configured are elsewhere. */
  async #open(path: string): Promise<OpenDir> {
    const { podLogsDir } = this.#o;
    if (!path.startsWith(`${podLogsDir}/`)) return OpenDir.open(path);
    const dir = await OpenDir.below(podLogsDir, path);
    if (!dir) throw new KubeletError("LogRotation", `${path} is not a directory, or below a symbolic link`);
    return dir;
  }

  async #replace({ id, logPath }: LoggingContainer, dir: OpenDir, rotatedPath: string): Promise<void> {
    const log = dir.at(Buffer.from(basename(logPath)));
    const rotated = dir.at(Buffer.from(basename(rotatedPath)));
    await rename(log, rotated);
    try {
      // Must not be aborted: until the runtime has reopened the log, it writes to the rotated file.
      await this.#o.runtime.reopenContainerLog(id);
    } catch (error) {
      await rename(rotated, log).catch((failure) => {
        throw new KubeletError(
          "LogRotation",
          `${rotatedPath} cannot be renamed back: ${messageOf(failure)}`,
          {
            cause: error,
          },
        );
      });
      throw error;
    }
  }
}

/** Replaces a file with its compressed form. At any time one of the two is complete. Neither is opened if it is a link. */
export async function compressFile(dir: OpenDir, name: string, signal?: AbortSignal): Promise<void> {
  const path = dir.at(Buffer.from(name));
  const temporary = dir.at(Buffer.from(`${name}${temporarySuffix}`));
  try {
    await using original = await openRegularFile(path, { follow: false });
    const { mode } = await original.stat();
    await rm(temporary, { force: true });
    await using compressed = await open(temporary, "wx", mode & 0o7777);
    await pipeline(original.createReadStream(), createGzip(), compressed.createWriteStream(), { signal });
    await rename(temporary, dir.at(Buffer.from(`${name}${compressedSuffix}`)));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await rm(path);
}
