import { setImmediate as othersTurn } from "node:timers/promises";
import { Backoff } from "../../base/backoff.ts";
import { type Clock, msSince } from "../../base/clock.ts";
import { type Component, type Health, healthy } from "../../base/component.ts";
import { httpStatusOf, KubeletError, messageOf } from "../../base/errors.ts";
import { failureLog, isReported } from "../../base/failure-log.ts";
import type { Logger } from "../../base/logger.ts";
import type { MonotonicTime } from "../../base/time.ts";
import { WakeUp } from "../../base/wait.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { ReflectorCache } from "./reflector-cache.ts";
import type { Incoming } from "./reflector-objects.ts";
import { listPages } from "./reflector-pages.ts";
import { nextStep, type Outcome, type Step, type WatchStep, watchQuery } from "./reflector-plan.ts";
import { type Change, isOlderVersion, type ObjectReader, objectKey } from "./store.ts";
import type { KubeTransport, Query } from "./transport-interface.ts";
import { LineSplitter, parseWatchEvent, type RawObject, type WatchEvent } from "./watch-stream.ts";
import { StreamGuard } from "./watch-stream-guard.ts";

/** Callbacks for metrics. */
export interface ReflectorMetrics {
  listed?(tookMs: number, objects: number): void;
  watchEnded?(durationMs: number, events: number): void;
  failed?(step: Step["do"]): void;
  unreadable?(): void;
}

export interface ReflectorOptions<T> {
  /** For logs and health: "pods". */
  name: string;
  path: string;
  fieldSelector?: string;
  labelSelector?: string;
  transport: Pick<KubeTransport, "request" | "stream" | "onReconnect" | "streamsLists">;
  clock: Clock;
  logger: Logger;
  /**
   * Decodes a received object, without unneeded parts. May throw for an invalid object.
   * The reflector changes the result: it replaces parts of it with equal parts of other objects, to save memory. The objects of a watch have
   * a kind and an apiVersion, the objects of a list do not.
   */
  transform: (raw: RawObject) => T;
  onChange?: (change: Change<T>) => void;
  /** After all changes of a list, or of one chunk, have been reported; also after a first list without objects. */
  onBatch?: () => void;
  metrics?: ReflectorMetrics;
  /** Requests a streamed list instead of one response, where the server supports it. As the transport does unless set. */
  streamList?: boolean;
  pageSize?: number;
  /** Failures that an operator need not know of: they are logged as details. */
  isExpected?: (error: unknown) => boolean;
  /** The longest pause after a failure. */
  maxBackoffMs?: number;
  random?: () => number;
}

const listTimeoutMs = 60_000;
/** Parsed without yielding: about 5 ms of pods. */
const defaultPageSize = 100;
/** Chunks that have already arrived are processed without yielding, up to 2 MiB of them. */
const maxBytesPerTurn = 256 * 1024;
const openTimeoutMs = 30_000;
const watchSeconds = { atLeast: 300, more: 300 };
/** How long after its timeout a watch that the server should have ended is kept. */
const graceMs = 30_000;
/** The server sends a bookmark every minute. */
const idleTimeoutMs = 3 * 60_000;
/** A server that does not support streamed lists never marks one as complete. */
const streamedListMs = 60_000;
/** A watch that ended sooner without events is a failure. */
const usefulAfterMs = 1000;
const backoffLimits = { initialMs: 800, maxMs: 30_000, resetMs: 120_000 };
const maxRetryAfterMs = 60_000;
const unhealthyAfterMs = 5 * 60_000;

/** `logged`: the status of the last logged response; undefined before that. */
interface Failing {
  readonly since: MonotonicTime;
  readonly error: string;
  readonly logged: string | undefined;
}

/** One watch while it is open. `initial`: the objects of a streamed list that is not complete yet. */
interface Session<T> {
  readonly step: WatchStep;
  initial: Map<string, Incoming<T>> | undefined;
  events: number;
  onInitial: () => void;
}

/**
 * Caches all objects of one kind, and reports each change once and in order. After any gap it resumes,
 * or lists again and reports the differences.
 */
export class Reflector<T> implements Component {
  readonly name: string;
  readonly #o: ReflectorOptions<T>;
  readonly #cache: ReflectorCache<T>;
  readonly #backoff = new Backoff(backoffLimits);
  readonly #random: () => number;
  readonly #selectors: Query;
  #loop: Promise<void> = Promise.resolve();
  #paged = false;
  #streams: boolean;
  #failing: Failing | undefined;

  constructor(options: ReflectorOptions<T>) {
    const { name, fieldSelector, labelSelector, transport, random = Math.random } = options;
    this.#o = options;
    this.name = `list-watch ${name}`;
    this.#random = random;
    this.#streams = options.streamList ?? transport.streamsLists ?? false;
    this.#selectors = { fieldSelector, labelSelector };
    this.#cache = new ReflectorCache<T>({
      logger: options.logger,
      transform: options.transform,
      onChange: options.onChange,
      onBatch: options.onBatch,
      onUnreadable: () => options.metrics?.unreadable?.(),
    });
  }

  get store(): ObjectReader<T> {
    return this.#cache.store;
  }

  /** Resolves when all initial objects are in the store and have been reported. Never rejects: an outage may be long. */
  get synced(): Promise<void> {
    return this.#cache.synced;
  }

  get hasSynced(): boolean {
    return this.#cache.hasSynced;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  /** Does not wait for the server: callers that need its objects wait for `synced`. */
  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#run(signal);
  }

  /** The error of the last attempt; undefined while there is a watch, and before the first attempt. */
  get failure(): string | undefined {
    return this.#failing?.error;
  }

  health(): Health {
    const failing = this.#failing;
    const failingMs = failing ? msSince(this.#o.clock, failing.since) : 0;
    if (!failing || failingMs < unhealthyAfterMs) return healthy;
    const seconds = Math.round(failingMs / 1000);
    return { ok: false, reason: `no watch of ${this.#o.name} for ${seconds}s: ${failing.error}` };
  }

  async #run(signal: AbortSignal): Promise<void> {
    let step: Step = { do: "list", from: "0" };
    while (!signal.aborted) {
      if (step.do === "list" && this.#streams)
        step = { do: "stream-list", from: step.from === "0" ? "" : step.from };
      const outcome = await this.#runStep(step, signal);
      if (signal.aborted) return;
      this.#logOutcome(step, outcome);
      const next = nextStep(step, outcome);
      step = next.step;
      if (next.disableStreaming) this.#streams = false;
      if (next.resetBackOff) this.#backoff.succeeded("");
      if (next.backOff) await this.#backOff(outcome, signal);
    }
  }

  /** Waits with jitter, so that the nodes of a cluster do not all come back at the same time. */
  async #backOff(outcome: Outcome, signal: AbortSignal): Promise<void> {
    const { clock, transport, maxBackoffMs = backoffLimits.maxMs } = this.#o;
    const error = "error" in outcome ? outcome.error : undefined;
    const delayMs = this.#backoff.failed("", clock.monotonic()) * (1 + this.#random());
    const requestedMs = error instanceof KubeApiError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(Math.min(delayMs, maxBackoffMs), Math.min(requestedMs, maxRetryAfterMs));
    const reconnected = new WakeUp();
    // Other clients poll an unreachable server more often. A server that responded with an error gets the full back-off.
    const stopListening =
      error instanceof KubeApiError
        ? undefined
        : transport.onReconnect?.(() => {
            this.#backoff.succeeded("");
            reconnected.notify();
          });
    await reconnected.wait(clock, waitMs, signal);
    stopListening?.();
  }

  async #runStep(step: Step, signal: AbortSignal): Promise<Outcome> {
    try {
      return await (step.do === "list" ? this.#list(step.from, signal) : this.#watch(step, signal));
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  async #list(from: string, signal: AbortSignal): Promise<Outcome> {
    const { clock, transport, path, pageSize = defaultPageSize, metrics } = this.#o;
    const startedAt = clock.monotonic();
    const listed: Incoming<T>[] = [];
    // A server that serves from its cache does so for a given version only if all is requested without pages.
    const inPages = this.#paged || from === "" || from === "0";
    const { resourceVersion, paged } = await listPages({
      transport,
      path,
      selectors: this.#selectors,
      from,
      pageSize: inPages ? pageSize : 0,
      timeoutMs: listTimeoutMs,
      signal,
      page: (items) => {
        for (const raw of items) listed.push(this.#cache.read(raw));
      },
      restart: () => {
        listed.length = 0;
      },
    });
    this.#paged ||= paged;
    if (signal.aborted) return { kind: "stale" };
    if (this.#isStale(from, resourceVersion)) return { kind: "stale" };
    metrics?.listed?.(msSince(clock, startedAt), listed.length);
    this.#cache.replace(listed, resourceVersion);
    return { kind: "listed", resourceVersion };
  }

  async #watch(step: WatchStep, signal: AbortSignal): Promise<Outcome> {
    const { clock, transport, path, metrics } = this.#o;
    const cache = this.#cache;
    const seconds = Math.round(watchSeconds.atLeast + watchSeconds.more * this.#random());
    const lifetimeMs = seconds * 1000 + graceMs;
    const isStreamed = step.do === "stream-list";
    const guard = new StreamGuard(clock, signal, {
      idleTimeoutMs: idleTimeoutMs,
      lifetimeMs: isStreamed ? streamedListMs : lifetimeMs,
    });
    const startedAt = clock.monotonic();
    const previousVersion = cache.resourceVersion;
    const session: Session<T> = {
      step,
      initial: isStreamed ? new Map() : undefined,
      events: 0,
      onInitial: () => {
        guard.extend(lifetimeMs);
        metrics?.listed?.(msSince(clock, startedAt), cache.store.size);
        this.#works();
      },
    };
    let error: unknown;
    let isOpen = false;
    try {
      const chunks = await transport.stream({
        path,
        query: { ...this.#selectors, ...watchQuery(step), timeoutSeconds: seconds },
        signal: guard.signal,
        timeoutMs: openTimeoutMs,
      });
      isOpen = true;
      if (!isStreamed) this.#works();
      await this.#follow(chunks, session, guard);
    } catch (thrown) {
      error = thrown;
    } finally {
      guard.release();
    }
    const durationMs = msSince(clock, startedAt);
    if (isOpen) metrics?.watchEnded?.(durationMs, session.events);
    if (error instanceof StaleList) return { kind: "stale" };
    if (session.initial && isOpen && guard.expired) return { kind: "not-streamed" };
    if (session.initial || !isOpen) return { kind: "failed", error: error ?? truncated() };
    const useful = isStreamed || cache.resourceVersion !== previousVersion || durationMs >= usefulAfterMs;
    return { kind: "watched", resourceVersion: cache.resourceVersion, useful, error };
  }

  async #follow(chunks: AsyncIterable<Uint8Array>, session: Session<T>, guard: StreamGuard): Promise<void> {
    const lines = new LineSplitter();
    let bytes = 0;
    for await (const chunk of chunks) {
      guard.received();
      try {
        for (const line of lines.push(chunk)) {
          const event = parseWatchEvent(line);
          if (event) this.#handle(event, session);
        }
      } finally {
        this.#cache.endBatch();
      }
      bytes += chunk.length;
      if (bytes < maxBytesPerTurn) continue;
      bytes = 0;
      await othersTurn();
    }
  }

  #handle(event: WatchEvent, session: Session<T>): void {
    session.events++;
    if (event.type === "ERROR") throw event.error;
    if (session.initial) this.#handleInitial(event, session, session.initial);
    else if (event.type === "BOOKMARK") this.#cache.bookmark(event.resourceVersion);
    else this.#cache.apply(event);
  }

  #handleInitial(
    event: Exclude<WatchEvent, { type: "ERROR" }>,
    session: Session<T>,
    initial: Map<string, Incoming<T>>,
  ): void {
    if (event.type !== "BOOKMARK") {
      const incoming = this.#cache.read(event.object);
      if (!incoming.version) return;
      const key = objectKey(incoming.version);
      if (event.type === "DELETED") initial.delete(key);
      else initial.set(key, incoming);
    } else if (event.initialEventsEnd) {
      if (this.#isStale(session.step.from, event.resourceVersion)) throw new StaleList();
      session.initial = undefined;
      this.#cache.replace(initial.values(), event.resourceVersion);
      session.onInitial();
    }
  }

  /** A server that lags behind must not undo reported changes. The newest version may undo them: the server was then restored. */
  #isStale(from: string, resourceVersion: string): boolean {
    return from !== "" && isOlderVersion(resourceVersion, this.#cache.resourceVersion);
  }

  #works(): void {
    const { logger, name } = this.#o;
    if (this.#failing?.logged) logger.info("Watch resumed", { kind: name });
    else if (this.#failing) logger.debug(4, "Watch resumed", { kind: name });
    this.#failing = undefined;
  }

  #logOutcome(step: Step, outcome: Outcome): void {
    const { clock, logger, metrics, name } = this.#o;
    const error = "error" in outcome ? outcome.error : undefined;
    if (error === undefined) return;
    metrics?.failed?.(step.do);
    const fields = { kind: name, step: step.do, err: messageOf(error) };
    // The end of a watch is normal; a watch that cannot be opened is not.
    if (outcome.kind === "watched") {
      logger.debug(error instanceof TransportError ? 4 : 2, "Watch ended", fields);
      return;
    }
    const { since = clock.monotonic(), logged } = this.#failing ?? {};
    // An error response is a different failure from no response, and is then logged.
    const isDetail = isReported(error) || this.#o.isExpected?.(error);
    const reason = isDetail ? undefined : String(httpStatusOf(error) ?? "no response");
    const isNew = reason !== undefined && reason !== logged;
    failureLog(
      logger,
      isNew ? "warn" : 2,
      error,
    )("Failed to list or watch objects of the API server", fields);
    this.#failing = { since, error: fields.err, logged: reason ?? logged };
  }
}

class StaleList extends Error {}

function truncated(): KubeletError {
  return new KubeletError("WatchCut", "the streamed list ended before it was complete");
}
