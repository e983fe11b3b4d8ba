import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type MonotonicTime, plusMs } from "../../../lib/base/time.ts";
import { type DockerConfig, parseDockerCfg, parseDockerConfigJson } from "./docker-config.ts";

const cachedForMs = 5 * 60_000;

export interface NodeDockerConfigOptions {
  rootDir: string;
  workingDir: string;
  homeDir: string;
  clock: Clock;
  logger: Logger;
}

/** The node's registry credentials, for every pod: from the first file that can be read. */
export class NodeDockerConfig {
  readonly #o: NodeDockerConfigOptions;
  #cached: { config: DockerConfig; until: MonotonicTime } | undefined;

  constructor(options: NodeDockerConfigOptions) {
    this.#o = options;
  }

  async read(): Promise<DockerConfig> {
    const now = this.#o.clock.monotonic();
    if (!this.#cached || now >= this.#cached.until)
      this.#cached = { config: await this.#readFirst(), until: plusMs(now, cachedForMs) };
    return this.#cached.config;
  }

  async #readFirst(): Promise<DockerConfig> {
    for (const { path, parse } of searchPath(this.#o)) {
      try {
        return parse(await readFile(path, "utf8"));
      } catch (error) {
        if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR")
          this.#o.logger.warn("Skipping invalid registry credentials of the node", {
            path,
            err: messageOf(error),
          });
      }
    }
    return [];
  }
}

/** Files of the newer format first, in all directories. */
export function searchPath(o: { rootDir: string; workingDir: string; homeDir: string }) {
  const newer = [o.rootDir, o.workingDir, join(o.homeDir, ".docker"), "/.docker"];
  const older = [o.rootDir, o.workingDir, o.homeDir, "/"];
  return [
    ...newer.map((dir) => ({ path: join(dir, "config.json"), parse: parseDockerConfigJson })),
    ...older.map((dir) => ({ path: join(dir, ".dockercfg"), parse: parseDockerCfg })),
  ];
}
