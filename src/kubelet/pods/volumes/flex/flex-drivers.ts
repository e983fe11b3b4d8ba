import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../../lib/base/clock.ts";
import type { Component } from "../../../../lib/base/component.ts";
import { messageOf } from "../../../../lib/base/errors.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import { watchDirs } from "../../../../lib/host/watch-dirs.ts";
import type { VolumePlugin } from "../volume-plugin.ts";
import { FlexDriver, type FlexOptions } from "./flex-driver.ts";

export interface FlexDriversOptions extends FlexOptions {
  /** volumePluginDir */
  readonly pluginDir: string;
  readonly clock: Clock;
  /** A driver can be used from now on. */
  readonly onDriver: (name: string) => void;
}

/** How often init is repeated while it fails. */
const retryMs = 10_000;

interface Found {
  /** Undefined until init has succeeded. */
  driver: FlexDriver | undefined;
  /** Identifies the file whose init was called last; undefined if it failed. */
  version: string | undefined;
  failure: string | undefined;
}

/** `driver`, or `vendor~driver`; the program has the name of the last part. */
const driverDir = /^[^~.][^~]*(~(?!\.{1,2}$)[^~]+)?$/;

/** The drivers of flexVolumes in a directory, which is watched: a driver can be added, replaced and removed at any time. */
export class FlexDrivers implements Component {
  readonly name = "flex-drivers";
  readonly done: Promise<void>;
  readonly #o: FlexDriversOptions;
  readonly #found = new Map<string, Found>();
  readonly #done = Promise.withResolvers<void>();
  #signal = AbortSignal.abort();

  constructor(options: FlexDriversOptions) {
    this.#o = options;
    this.done = this.#done.promise;
  }

  /** The plugins of all drivers that could be initialized. */
  plugins(): VolumePlugin[] {
    return [...this.#found.values()].flatMap(({ driver }) => driver?.plugin ?? []);
  }

  /** Resolves after the first scan: volumes on disk are reconstructed with the plugins of their drivers. */
  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { pluginDir, clock, logger } = this.#o;
    const first = Promise.withResolvers<void>();
    const scan = async () => {
      const dirs = await this.#scan();
      first.resolve();
      return dirs;
    };
    const rescanMs = () =>
      [...this.#found.values()].some((found) => found.failure !== undefined) ? retryMs : undefined;
    let failure: string | undefined;
    const onError = (error: unknown) => {
      first.resolve();
      const err = messageOf(error);
      // The directory cannot be created if /usr is read-only: logged once.
      if (err !== failure)
        logger.warn("Failed to read FlexVolume plugin directory", { path: pluginDir, err });
      failure = err;
    };
    void watchDirs({ clock, logger, rescanMs, scan, onError }, signal).then(() => {
      first.resolve();
      this.#done.resolve();
    });
    await first.promise;
  }

  async #scan(): Promise<string[]> {
    const { pluginDir } = this.#o;
    await makeDirs(pluginDir, 0o755);
    const entries = await readdir(pluginDir, { withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isDirectory() && driverDir.test(entry.name))
      .map((entry) => entry.name);
    for (const name of [...this.#found.keys()]) if (!names.includes(name)) this.#found.delete(name);
    await Promise.all(names.map((name) => this.#probe(name)));
    return [pluginDir, ...names.map((name) => join(pluginDir, name))];
  }

  async #probe(name: string): Promise<void> {
    const { pluginDir, logger, onDriver } = this.#o;
    const dir = join(pluginDir, name);
    const found = this.#found.get(name) ?? { driver: undefined, version: undefined, failure: undefined };
    this.#found.set(name, found);
    const executable = join(dir, name.slice(name.lastIndexOf("~") + 1));
    try {
      const { dev, ino, size, mtimeMs, mode } = await stat(executable);
      const version = `${dev}:${ino}:${size}:${mtimeMs}:${mode}`;
      if (version === found.version) return;
      const driver = found.driver ?? new FlexDriver(this.#o, dir);
      await driver.init(this.#signal);
      found.driver = driver;
      found.version = version;
      found.failure = undefined;
      logger.info("Registered FlexVolume driver", { driver: driver.name });
      onDriver(driver.name);
    } catch (error) {
      if (this.#signal.aborted) return;
      found.version = undefined;
      // Without its program, a driver is removed. Volumes of a driver that is being replaced wait for it.
      if (isMissing(error)) found.driver = undefined;
      const failure = messageOf(error);
      if (failure === found.failure) return;
      found.failure = failure;
      logger.warn("Failed to create FlexVolume plugin, will retry", { path: dir, err: failure });
    }
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
}
