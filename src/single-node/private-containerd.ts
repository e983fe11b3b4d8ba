import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, msFromNow, msSince, sleep, systemClock } from "../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../lib/base/errors.ts";
import { linux } from "../lib/base/linux.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";
import { createMetrics } from "../lib/base/metrics.ts";
import { createCriClient } from "../lib/clients/cri/client.ts";
import { type ProgramCall, startProgram } from "../lib/host/start-program.ts";
import { containerdConfig, majorVersion } from "./containerd-config.ts";
import type { NodeFiles } from "./node-files.ts";
import type { OciImage } from "./oci-image.ts";
import type { Binaries } from "./requirements.ts";
import { type RunOptions, run } from "./run.ts";

export interface PrivateContainerdOptions {
  readonly files: NodeFiles;
  readonly binaries: Binaries;
  readonly pauseImage: string;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** For starting and for stopping. */
  readonly timeoutMs?: number;
}

export type ContainerdExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** A private containerd. Containers survive stop(): their shims reconnect at the next start(). */
export class PrivateContainerd {
  readonly endpoint: string;
  readonly #options: PrivateContainerdOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  #running: { child: ChildProcess; exited: Promise<ContainerdExit> } | undefined;
  #imports: Promise<unknown> = Promise.resolve();

  constructor(options: PrivateContainerdOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.endpoint = `unix://${options.files.containerd.socket}`;
  }

  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** Resolves when the running containerd exits, for any reason; undefined while none runs. */
  get exited(): Promise<ContainerdExit> | undefined {
    return this.#running?.exited;
  }

  /** Resolves when containerd serves on its socket. */
  async start(signal?: AbortSignal): Promise<void> {
    if (this.#running) throw new KubeletError("ContainerdRunning", "containerd is already running");
    const { files, binaries } = this.#options;
    await this.#writeConfig(signal);
    const log = openSync(files.containerd.log, "a");
    const started = this.#clock.monotonic();
    // A separate process group: Ctrl-C in the terminal must not stop it before the pods.
    const child = startProgram(
      { program: binaries.containerd, options: [["--config", files.containerd.config]] },
      { detached: true, stdio: ["ignore", log, log], env: this.#environment(), cwd: files.base },
    );
    closeSync(log);
    const exited = new Promise<ContainerdExit>((resolve) => {
      child.once("error", () => resolve({ code: null, signal: null }));
      child.once("exit", (code, by) => resolve({ code, signal: by }));
    });
    this.#running = { child, exited };
    void exited.then(() => {
      if (this.#running?.child === child) this.#running = undefined;
    });
    try {
      await this.#waitUntilServing(exited, signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#logger.debug(2, "Containerd is serving", {
      pid: child.pid,
      ms: Math.round(msSince(this.#clock, started)),
    });
  }

  async stop(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    running.child.kill("SIGTERM");
    const cancel = this.#clock.after(this.#timeoutMs, () => running.child.kill("SIGKILL"));
    await running.exited;
    cancel();
  }

  /** Runs ctr against this containerd, in the namespace that the kubelet's containers are in. */
  ctr(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { files, binaries } = this.#options;
    const call: ProgramCall = {
      program: binaries.ctr,
      options: [
        ["--address", files.containerd.socket],
        ["--namespace", "k8s.io"],
      ],
      verbatim: args,
    };
    return run(call, { ...options, env: this.#environment() });
  }

  /**
   * Resolves when the image can be used by pods. One import at a time: containerd names content by its name in the
   * archive, and at the end of an import garbage collection may remove the unfinished "index.json" of another.
   */
  importImage(image: OciImage, signal?: AbortSignal): Promise<void> {
    const imported = this.#imports.then(() => this.#importImage(image, signal));
    this.#imports = imported.catch(() => {});
    return imported;
  }

  async #importImage(image: OciImage, signal?: AbortSignal): Promise<void> {
    const snapshotter = await this.#snapshotter();
    // --local and --no-unpack are omitted: both versions of containerd unpack the image, so that the first pod does not have to.
    await this.ctr(["images", "import", "--snapshotter", snapshotter, "-"], { signal, input: image.archive });
    await this.#waitForCri(image, signal);
  }

  /** The CRI plugin has an imported image only a moment later, and each of its names separately. */
  async #waitForCri(image: OciImage, signal?: AbortSignal): Promise<void> {
    const cri = createCriClient({
      runtimeEndpoint: this.endpoint,
      requestTimeoutMs: 5000,
      logger: silentLogger,
      clock: this.#clock,
      metrics: createMetrics(),
    });
    const isKnown = (name: string) => cri.imageStatus({ image: name }, { signal }).then(Boolean);
    const deadline = msFromNow(this.#clock, this.#timeoutMs);
    try {
      for (;;) {
        // containerd 1.6 serves before its CRI plugin is ready.
        const known = await Promise.all(image.names.map(isKnown)).catch(() => [false]);
        if (known.every(Boolean)) return;
        if (this.#clock.monotonic() >= deadline) {
          throw new KubeletError(
            "ImageImport",
            `${image.names[0]} was imported, but the CRI plugin does not list it`,
          );
        }
        await sleep(this.#clock, 50, signal);
      }
    } finally {
      cri.close();
    }
  }

  async #writeConfig(signal?: AbortSignal): Promise<void> {
    const { files, binaries, pauseImage } = this.#options;
    const version = await run({ program: binaries.containerd, options: ["--version"] }, { signal });
    const major = majorVersion(version);
    if (major === undefined) {
      throw new KubeletError(
        "ContainerdVersion",
        `${binaries.containerd} printed no version: "${version.trim()}"`,
      );
    }
    const snapshotter = await this.#snapshotter();
    const settings = { files, runc: binaries.runc, cniDir: binaries.cniDir, pauseImage, snapshotter };
    writeFileSync(files.containerd.config, containerdConfig(major, settings));
  }

  /** An overlay cannot be the upper directory of another overlay, as it would be in a container without a volume. */
  async #snapshotter(): Promise<"overlayfs" | "native"> {
    const { type } = await statfs(this.#options.files.containerd.root);
    return type === linux.OVERLAYFS_SUPER_MAGIC ? "native" : "overlayfs";
  }

  /** The directory of this containerd comes first in PATH, for its shim; CNI plugins find iptables in PATH. */
  #environment(): NodeJS.ProcessEnv {
    const { containerd, shim, runc, iptables } = this.#options.binaries;
    const dirs = [containerd, shim, runc, iptables].map((file) => dirname(file));
    const path = [...new Set([...dirs, "/usr/sbin", "/usr/bin", "/sbin", "/bin"])].join(":");
    // Only the proxy settings of the caller's environment are passed to containerd.
    const proxySettings = Object.entries(process.env).filter(([key]) => /^(https?|no)_proxy$/i.test(key));
    return { ...Object.fromEntries(proxySettings), PATH: path };
  }

  async #waitUntilServing(exited: Promise<ContainerdExit>, signal?: AbortSignal): Promise<void> {
    const deadline = msFromNow(this.#clock, this.#timeoutMs);
    const exitedEarly = exited.then((exit): never => {
      const how = exit.signal ?? exit.code ?? "failed to start";
      throw new KubeletError(
        "ContainerdStart",
        `containerd exited (${how}) before it was ready: ${this.#lastLog()}`,
      );
    });
    const untilReady = async () => {
      for (;;) {
        try {
          await this.ctr(["version"], { signal, timeoutMs: 5000 });
          return;
        } catch (error) {
          if (isAbort(error)) throw error;
          if (this.#clock.monotonic() >= deadline) {
            const message = messageOf(error);
            throw new KubeletError(
              "ContainerdStart",
              `containerd is not responding: ${message}; ${this.#lastLog()}`,
            );
          }
        }
        await sleep(this.#clock, 25, signal);
      }
    };
    const ready = untilReady();
    ready.catch(() => {}); // if containerd has exited, report that error
    await Promise.race([ready, exitedEarly]);
    exitedEarly.catch(() => {});
  }

  #lastLog(): string {
    const { log } = this.#options.files.containerd;
    try {
      const lines = readFileSync(log, "utf8").trim().split("\n");
      const errorLines = lines.filter((line) => /level=(error|fatal)|^containerd:/.test(line));
      return `${errorLines.at(-1) ?? lines.at(-1) ?? "no log"} (full log: ${log})`;
    } catch {
      return `no log in ${log}`;
    }
  }
}
