import { Backoff } from "../../lib/base/backoff.ts";
import { type Clock, systemClock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { failureLog } from "../../lib/base/failure-log.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { type OpenPlugin, openPlugin, SocketChanged } from "../../lib/clients/plugin-rpc/plugin-channel.ts";
import type { PluginHandlers } from "./plugin-handler.ts";
import { type Registered, registerPlugin } from "./register-plugin.ts";
import { watchSockets } from "./socket-watch.ts";

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
interface Place {
  identity: string | undefined;
  registered: { readonly identity: string; readonly by: Registered } | undefined;
  work: { readonly identity: string | undefined; readonly abort: AbortController } | undefined;
  cancelRetry: () => void;
}

/**
 * Registers the plugins whose sockets are in the directory, again when a socket is created again, and deregisters those
 * whose socket is gone. One that hangs blocks no other. When the agent stops, plugins stay registered: their pods keep
 * running.
 */
export class PluginManager implements Component {
  readonly name = "plugin-manager";
  readonly done: Promise<void>;
  readonly #o: PluginManagerOptions;
  readonly #clock: Clock;
  readonly #open: OpenPlugin;
  readonly #places = new Map<string, Place>();
  readonly #backoff = new Backoff(backoffLimits);
  readonly #running = new Set<Promise<void>>();
  /** Deregistrations in progress: a plugin that moved to another socket must not be removed after it was added. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #ended = Promise.withResolvers<void>();
  #signal = AbortSignal.abort();

  constructor(options: PluginManagerOptions) {
    this.#o = options;
    this.#clock = options.clock ?? systemClock;
    this.#open = options.open ?? ((endpoint) => openPlugin(endpoint, this.#clock));
    this.done = this.#ended.promise;
    options.metrics.gauge({
      name: "plugin_manager_total_plugins",
      help: "Number of plugins in Plugin Manager. Broken down by socket path and state.",
      labels: ["socket_path", "state"] as const,
      collect: (gauge) => {
        gauge.reset();
        for (const [socket_path, place] of this.#places) {
          if (place.identity) gauge.set({ socket_path, state: "desired_state_of_world" }, 1);
          if (place.registered) gauge.set({ socket_path, state: "actual_state_of_world" }, 1);
        }
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { dir, logger } = this.#o;
    const onSockets = (sockets: ReadonlyMap<string, string>) => this.#seen(sockets);
    void watchSockets({ dir, clock: this.#clock, logger, onSockets }, signal).then(async () => {
      for (const place of this.#places.values()) {
        place.cancelRetry();
        place.work?.abort.abort();
      }
      await Promise.allSettled(this.#running);
      this.#ended.resolve();
    });
  }

  /** The cause of failed registrations may be gone: retry them now. */
  retry(): void {
    for (const [path, place] of this.#places) {
      if (place.work || place.registered) continue;
      this.#backoff.succeeded(path);
      place.cancelRetry();
      this.#advance(path, place);
    }
  }

  #seen(sockets: ReadonlyMap<string, string>): void {
    const paths = new Set([...this.#places.keys(), ...sockets.keys()]);
    const left = [...paths].filter((path) => !sockets.has(path));
    for (const path of [...left, ...sockets.keys()]) {
      let place = this.#places.get(path);
      if (!place) {
        place = { identity: undefined, registered: undefined, work: undefined, cancelRetry: () => {} };
        this.#places.set(path, place);
      }
      const identity = sockets.get(path);
      if (identity === place.identity) continue;
      place.identity = identity;
      this.#backoff.succeeded(path);
      place.cancelRetry();
      if (place.work) place.work.abort.abort(new SocketChanged());
      else this.#advance(path, place);
    }
  }

  #advance(path: string, place: Place): void {
    if (this.#signal.aborted || place.work) return;
    const { identity, registered } = place;
    if (registered && registered.identity !== identity) {
      const leaving = this.#work(path, place, identity, () => this.#deregister(path, place, registered.by));
      this.#leaving.add(leaving);
      void leaving.then(() => this.#leaving.delete(leaving));
    } else if (!registered && identity) {
      void this.#work(path, place, identity, (signal) => this.#register(path, place, identity, signal));
    } else if (!identity) this.#places.delete(path);
  }

  #work(
    path: string,
    place: Place,
    identity: string | undefined,
    work: (signal: AbortSignal) => Promise<boolean>,
  ): Promise<void> {
    const abort = new AbortController();
    place.work = { identity, abort };
    const running = work(AbortSignal.any([abort.signal, this.#signal])).then((isDone) => {
      place.work = undefined;
      this.#running.delete(running);
      if (this.#signal.aborted) return;
      if (isDone || place.identity !== identity) return this.#advance(path, place);
      const delayMs = this.#backoff.failed(path, this.#clock.monotonic());
      place.cancelRetry = this.#clock.after(delayMs, () => this.#advance(path, place));
    });
    this.#running.add(running);
    return running;
  }

  async #register(path: string, place: Place, identity: string, signal: AbortSignal): Promise<boolean> {
    const { handlers, logger } = this.#o;
    await Promise.all(this.#leaving);
    try {
      const by = await registerPlugin(path, handlers, this.#open, signal);
      place.registered = { identity, by };
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

  async #deregister(path: string, place: Place, { plugin, handler }: Registered): Promise<boolean> {
    const { logger } = this.#o;
    place.registered = undefined;
    logger.info("Deregistered plugin", { plugin: plugin.name, path });
    try {
      await handler.deregister(plugin);
    } catch (error) {
      logger.warn("Failed to deregister plugin", { plugin: plugin.name, path, err: messageOf(error) });
    }
    return true;
  }
}
