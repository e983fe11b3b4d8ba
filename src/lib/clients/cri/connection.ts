import { type Clock, sleep } from "../../base/clock.ts";
import type { Component, Health } from "../../base/component.ts";
import { isAbort, messageOf } from "../../base/errors.ts";
import { Listeners } from "../../base/listeners.ts";
import type { Logger } from "../../base/logger.ts";
import type { MonotonicTime } from "../../base/time.ts";
import { WakeUp } from "../../base/wait.ts";
import type { StatusResponse } from "../../gen/runtime/v1/api_pb.js";
import type { CriClient } from "./cri.ts";
import {
  networkHealth,
  type RuntimeIdentity,
  type RuntimeState,
  runtimeHealth,
  stateFrom,
} from "./runtime-state.ts";

const PROBE_EVERY_MS = 5_000;
/** While the runtime is unavailable or not ready: pods wait for it. */
const RETRY_EVERY_MS = 300;
/**
 * While the pod network is not ready: all pods but those on the host's network wait for it, and there is no event for
 * it.
 */
const NETWORK_RETRY_EVERY_MS = 1_000;
/** A runtime that hangs is unavailable, well before the node becomes NotReady. */
const PROBE_TIMEOUT_MS = 10_000;
/** However many calls fail, the runtime is not probed more often than this. */
const MIN_PAUSE_MS = 100;

export interface RuntimeConnectionOptions {
  client: Pick<CriClient, "version" | "status" | "onUnavailable">;
  logger: Logger;
  clock: Clock;
}

/** Watches whether the runtime is available. An outage is logged once, and nothing is stopped because of it. */
export class RuntimeConnection implements Component {
  readonly name = "runtime-connection";
  readonly done: Promise<void>;
  readonly #client: RuntimeConnectionOptions["client"];
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #ended = Promise.withResolvers<void>();
  readonly #listeners = new Listeners<[RuntimeState]>();
  #state: RuntimeState = { kind: "unknown" };
  #runtime: RuntimeIdentity | undefined;
  #networkOk = true;
  #lastStatus: StatusResponse | undefined;
  #lastUp: MonotonicTime | undefined;
  readonly #wake = new WakeUp();

  constructor({ client, logger, clock }: RuntimeConnectionOptions) {
    this.#client = client;
    this.#logger = logger.with({ component: this.name });
    this.#clock = clock;
    this.done = this.#ended.promise;
  }

  /** Starts watching. Does not wait for the runtime. */
  start(signal: AbortSignal): Promise<void> {
    this.#run(signal).then(
      () => this.#ended.resolve(),
      (error: unknown) => this.#ended.reject(error),
    );
    return Promise.resolve();
  }

  /** Calls back when the runtime became available, unavailable, ready or not ready. */
  onChange(listener: (state: RuntimeState) => void): () => void {
    return this.#listeners.add(listener);
  }

  get state(): RuntimeState {
    return this.#state;
  }

  /** The name and version the runtime last reported; undefined before its first response. */
  get runtime(): RuntimeIdentity | undefined {
    return this.#runtime;
  }

  health(): Health {
    return runtimeHealth(this.#state, this.#lastUp, this.#clock.monotonic());
  }

  networkHealth(): Health {
    return networkHealth(this.#state, this.#lastStatus);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#client.onUnavailable(() => this.#probeNow());
    try {
      while (!signal.aborted) {
        this.#wake.reset();
        this.#setState(await this.#probe(signal));
        await sleep(this.#clock, MIN_PAUSE_MS, signal);
        await this.#wake.wait(this.#clock, this.#nextProbeMs() - MIN_PAUSE_MS, signal);
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      unsubscribe();
    }
  }

  #nextProbeMs(): number {
    if (this.#state.kind !== "up") return RETRY_EVERY_MS;
    return this.networkHealth().ok ? PROBE_EVERY_MS : NETWORK_RETRY_EVERY_MS;
  }

  /**
   * Another call found the runtime unavailable: probe immediately. Our own failed probes also arrive here and change
   * nothing.
   */
  #probeNow(): void {
    if (this.#state.kind === "up") this.#wake.notify();
  }

  async #probe(signal: AbortSignal): Promise<RuntimeState> {
    const limits = { signal, timeoutMs: PROBE_TIMEOUT_MS };
    try {
      // The runtime may have been upgraded.
      const known = this.#state.kind === "up" ? this.#runtime : undefined;
      const runtime = known ?? (await this.#readVersion(limits));
      const status = await this.#client.status(false, limits);
      this.#runtime = runtime;
      this.#lastStatus = status;
      return stateFrom(runtime, status);
    } catch (error) {
      if (isAbort(error)) throw error;
      return { kind: "unavailable", reason: messageOf(error) };
    }
  }

  async #readVersion(limits: { signal: AbortSignal; timeoutMs: number }): Promise<RuntimeIdentity> {
    const response = await this.#client.version(limits);
    return {
      name: response.runtimeName,
      version: response.runtimeVersion,
      apiVersion: response.runtimeApiVersion,
    };
  }

  #setState(state: RuntimeState): void {
    const previous = this.#state;
    this.#state = state;
    if (state.kind === "up") this.#lastUp = this.#clock.monotonic();
    const network = state.kind === "up" ? this.networkHealth() : undefined;
    const networkChanged = network !== undefined && network.ok !== this.#networkOk;
    if (network) this.#networkOk = network.ok;
    if (previous.kind === state.kind && !networkChanged) return;
    if (previous.kind !== state.kind) this.#log(state);
    if (networkChanged && !network.ok)
      this.#logger.warn("Pod network is not ready, waiting for it", { reason: network.reason });
    else if (networkChanged && previous.kind === state.kind) this.#logger.info("Pod network is ready");
    this.#listeners.notify(state);
  }

  #log(state: RuntimeState): void {
    if (state.kind === "up") {
      const { name, version } = state.runtime;
      this.#logger.info("Container runtime is ready", { runtime: name, runtimeVersion: version });
    } else if (state.kind === "not-ready") {
      this.#logger.warn("Container runtime is not ready, waiting for it", { reason: state.reason });
    } else if (state.kind === "unavailable") {
      this.#logger.warn("Container runtime is down, waiting for it", { reason: state.reason });
    }
  }
}
