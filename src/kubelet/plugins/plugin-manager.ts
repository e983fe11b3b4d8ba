import { mkdir } from "node:fs/promises";
import { Backoff } from "../../lib/base/backoff.ts";
import { type Clock, systemClock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { failureLog } from "../../lib/base/failure-log.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { type OpenPlugin, openPlugin, SocketChanged } from "../../lib/clients/plugin-rpc/plugin-channel.ts";
import { watchDirs } from "../../lib/host/watch-dirs.ts";
import type { PluginHandlers } from "./plugin-handler.ts";
import { type Registered, registerPlugin } from "./register-plugin.ts";
import { scanSockets } from "./scan.ts";

/** Inotify reports each change; this finds what it may have missed. */
const rescanEveryMs = 10_000;

interface SocketWatchOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onSockets: (sockets: ReadonlyMap<string, string>) => void;
}

const backoffLimits = { initialMs: 500, maxMs: 122_000, resetMs: 600_000 };

export interface PluginManagerOptions {
  /** `<root-dir>/plugins_registry` */
  readonly dir: string;
  readonly handlers: PluginHandlers;
  readonly clock?: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly open?: OpenPlugin;
}

/** One socket: desired state, actual state, and the operation in progress. */
interface SocketState {
  identity: string | undefined;
  registered: { readonly identity: string; readonly by: Registered } | undefined;
  work: { readonly identity: string | undefined; readonly abort: AbortController } | undefined;
  cancelRetry: () => void;
}

/**
 * Registers the plugins whose sockets are in the directory, again when a socket is recreated, and deregisters those
 * whose socket is gone. A plugin that hangs does not block the others. When the agent stops, plugins remain registered: their pods keep
 * running.
 */
export class PluginManager implements Component {
  readonly name = "plugin-manager";
  readonly done: Promise<void>;
  readonly #o: PluginManagerOptions;
  readonly #clock: Clock;
  readonly #open: OpenPlugin;
  readonly #sockets = new Map<string, SocketState>();
  readonly #backoff = new Backoff(backoffLimits);
  readonly #running = new Set<Promise<void>>();
  /** Deregistrations in progress: a plugin that moved to another socket must not be removed after it was added. */
  readonly #deregistering = new Set<Promise<void>>();
  readonly #done = Promise.withResolvers<void>();
  #signal = AbortSignal.abort();

  constructor(options: PluginManagerOptions) {
    this.#o = options;
    this.#clock = options.clock ?? systemClock;
    this.#open = options.open ?? ((endpoint) => openPlugin(endpoint, this.#clock));
    this.done = this.#done.promise;
    options.metrics.gauge({
      name: "plugin_manager_total_plugins",
      help: "Number of plugins in Plugin Manager. Broken down by socket path and state.",
      labels: ["socket_path", "state"] as const,
      collect: (gauge) => {
        gauge.reset();
        for (const [socket_path, state] of this.#sockets) {
          if (state.identity) gauge.set({ socket_path, state: "desired_state_of_world" }, 1);
          if (state.registered) gauge.set({ socket_path, state: "actual_state_of_world" }, 1);
        }
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { dir, logger } = this.#o;
    const onSockets = (sockets: ReadonlyMap<string, string>) => this.#update(sockets);
    void watchSockets({ dir, clock: this.#clock, logger, onSockets }, signal).then(async () => {
      for (const state of this.#sockets.values()) {
        state.cancelRetry();
        state.work?.abort.abort();
      }
      await Promise.allSettled(this.#running);
      this.#done.resolve();
    });
  }

  /** The cause of failed registrations may be gone: retry them now. */
  retry(): void {
    for (const [path, state] of this.#sockets) {
      if (state.work || state.registered) continue;
      this.#backoff.succeeded(path);
      state.cancelRetry();
      this.#advance(path, state);
    }
  }

  #update(sockets: ReadonlyMap<string, string>): void {
    const paths = new Set([...this.#sockets.keys(), ...sockets.keys()]);
    const removed = [...paths].filter((path) => !sockets.has(path));
    for (const path of [...removed, ...sockets.keys()]) {
      let state = this.#sockets.get(path);
      if (!state) {
        state = { identity: undefined, registered: undefined, work: undefined, cancelRetry: () => {} };
        this.#sockets.set(path, state);
      }
      const identity = sockets.get(path);
      if (identity === state.identity) continue;
      state.identity = identity;
      this.#backoff.succeeded(path);
      state.cancelRetry();
      if (state.work) state.work.abort.abort(new SocketChanged());
      else this.#advance(path, state);
    }
  }

  #advance(path: string, state: SocketState): void {
    if (this.#signal.aborted || state.work) return;
    const { identity, registered } = state;
    if (registered && registered.identity !== identity) {
      const deregistering = this.#work(path, state, identity, () =>
        this.#deregister(path, state, registered.by),
      );
      this.#deregistering.add(deregistering);
      void deregistering.then(() => this.#deregistering.delete(deregistering));
    } else if (!registered && identity) {
      void this.#work(path, state, identity, (signal) => this.#register(path, state, identity, signal));
    } else if (!identity) this.#sockets.delete(path);
  }

  #work(
    path: string,
    state: SocketState,
    identity: string | undefined,
    work: (signal: AbortSignal) => Promise<boolean>,
  ): Promise<void> {
    const abort = new AbortController();
    state.work = { identity, abort };
    const running = work(AbortSignal.any([abort.signal, this.#signal])).then((isDone) => {
      state.work = undefined;
      this.#running.delete(running);
      if (this.#signal.aborted) return;
      if (isDone || state.identity !== identity) return this.#advance(path, state);
      const delayMs = this.#backoff.failed(path, this.#clock.monotonic());
      state.cancelRetry = this.#clock.after(delayMs, () => this.#advance(path, state));
    });
    this.#running.add(running);
    return running;
  }

  async #register(path: string, state: SocketState, identity: string, signal: AbortSignal): Promise<boolean> {
    const { handlers, logger } = this.#o;
    await Promise.all(this.#deregistering);
    try {
      const by = await registerPlugin(path, handlers, this.#open, signal);
      state.registered = { identity, by };
      this.#backoff.succeeded(path);
      const { name, endpoint } = by.plugin;
      logger.info("Plugin registered", { plugin: name, endpoint, path });
      return true;
    } catch (error) {
      if (!signal.aborted)
        failureLog(
          logger,
          "warn",
          error,
        )("Failed to register plugin, will retry", {
          path,
          err: messageOf(error),
        });
      return false;
    }
  }

  async #deregister(path: string, state: SocketState, { plugin, handler }: Registered): Promise<boolean> {
    const { logger } = this.#o;
    state.registered = undefined;
    logger.info("Deregistered plugin", { plugin: plugin.name, path });
    try {
      await handler.deregister(plugin);
    } catch (error) {
      logger.warn("Failed to deregister plugin", { plugin: plugin.name, path, err: messageOf(error) });
    }
    return true;
  }
}

/** Reports the sockets below a directory, at first and whenever something in it changes, until the signal is aborted. */
function watchSockets(options: SocketWatchOptions, signal: AbortSignal): Promise<void> {
  const { dir, clock, logger, onSockets } = options;
  const scan = async () => {
    await mkdir(dir, { recursive: true, mode: 0o755 });
    const { sockets, dirs } = await scanSockets(dir);
    onSockets(sockets);
    return dirs;
  };
  const onError = (error: unknown) =>
    logger.warn("Failed to read plugin directory", { path: dir, err: messageOf(error) });
  return watchDirs({ clock, logger, rescanMs: () => rescanEveryMs, scan, onError }, signal);
}
