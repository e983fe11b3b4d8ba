import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { isAbort, messageOf } from "../errors.ts";
import type { Sampler } from "./sampler.ts";
import type { TraceContext } from "./trace-context.ts";

export type AttributeValue = string | number | boolean;
export type SpanKind = "internal" | "server" | "client";

/** A running span. */
export interface Span extends TraceContext {
  set(key: string, value: AttributeValue): void;
  /** The work failed. */
  fail(message: string): void;
}

/** An ended span. Times are milliseconds since the epoch, with fractions. */
export interface FinishedSpan extends TraceContext {
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly error: string | undefined;
  readonly links: readonly TraceContext[];
}

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Record<string, AttributeValue>;
  /** The caller in another process; otherwise it belongs to the local work in progress. */
  readonly parent?: TraceContext | undefined;
  /** Starts a new trace, regardless of the caller. */
  readonly isRoot?: boolean;
  readonly links?: readonly TraceContext[];
}

export interface Tracer {
  /** Runs the work in a span: spans started within it are its children. A thrown error is the error of the span. */
  run<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
}

export interface RecordingTracerOptions {
  readonly sampler: Sampler;
  /** Called with each span that is to be kept. Must not throw. */
  readonly onEnd: (span: FinishedSpan) => void;
  /** Milliseconds since the epoch, with fractions. */
  readonly now?: () => number;
  readonly random?: (bytes: number) => string;
}

/** Without a tracer there is no cost: callers check once, at construction, whether there is one. */
export class RecordingTracer implements Tracer {
  readonly #storage = new AsyncLocalStorage<LiveSpan>();
  readonly #o: RecordingTracerOptions;
  readonly #now: () => number;
  readonly #random: (bytes: number) => string;

  constructor(options: RecordingTracerOptions) {
    this.#o = options;
    const wall = new WallClock();
    this.#now = options.now ?? (() => wall.now());
    this.#random = options.random ?? randomIds();
  }

  async run<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
    const span = this.#begin(name, options);
    try {
      return await this.#storage.run(span, work, span);
    } catch (error) {
      // A canceled call is not an error of the work.
      if (!isAbort(error)) span.fail(messageOf(error));
      throw error;
    } finally {
      span.isOver = true;
      if (span.sampled) this.#o.onEnd(span.finished(this.#now()));
    }
  }

  #begin(name: string, options: SpanOptions): LiveSpan {
    const around = this.#storage.getStore();
    // Timers and loops that were started within a span outlive it; their later work is not part of it.
    const parent = options.isRoot
      ? undefined
      : (options.parent ?? (around && !around.isOver ? around : undefined));
    const traceId = parent?.traceId ?? this.#random(16);
    const sampled = parent ? parent.sampled : this.#o.sampler(traceId);
    const context = { traceId, spanId: this.#random(8), sampled };
    return new LiveSpan(name, context, parent?.spanId, options, sampled ? this.#now() : 0);
  }
}

class LiveSpan implements Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  isOver = false;
  readonly #name: string;
  readonly #parentId: string | undefined;
  readonly #options: SpanOptions;
  readonly #startedAt: number;
  #attributes: Record<string, AttributeValue> | undefined;
  #error: string | undefined;

  constructor(
    name: string,
    context: TraceContext,
    parentId: string | undefined,
    options: SpanOptions,
    startedAt: number,
  ) {
    this.#name = name;
    this.traceId = context.traceId;
    this.spanId = context.spanId;
    this.sampled = context.sampled;
    this.#parentId = parentId;
    this.#options = options;
    this.#startedAt = startedAt;
  }

  set(key: string, value: AttributeValue): void {
    if (!this.sampled) return;
    this.#attributes ??= {};
    this.#attributes[key] = value;
  }

  fail(message: string): void {
    this.#error ??= message;
  }

  finished(endedAt: number): FinishedSpan {
    const { kind = "internal", attributes, links = [] } = this.#options;
    return {
      traceId: this.traceId,
      spanId: this.spanId,
      sampled: this.sampled,
      parentId: this.#parentId,
      name: this.#name,
      kind,
      startedAt: this.#startedAt,
      endedAt: Math.max(endedAt, this.#startedAt),
      attributes: { ...attributes, ...this.#attributes },
      error: this.#error,
      links,
    };
  }
}

const poolBytes = 4096;

/**
 * Random bytes as hexadecimal digits. A system call costs more than all the rest of a span, so many are fetched
 * at once.
 */
export function randomIds(): (bytes: number) => string {
  let pool = "";
  let used = 0;
  return (bytes) => {
    if (used + 2 * bytes > pool.length) {
      pool = randomBytes(poolBytes).toString("hex");
      used = 0;
    }
    const id = pool.slice(used, used + 2 * bytes);
    used += 2 * bytes;
    // All zeros is not a valid ID.
    return /[^0]/.test(id) ? id : `${id.slice(1)}1`;
  };
}

/** A larger difference between the two clocks means that the system time was set. */
const toleranceMs = 20;

/** Wall time with a resolution below a millisecond, which Date.now() lacks. It never differs much from Date.now(). */
export class WallClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  #offset: number;

  constructor(wall: () => number = Date.now, monotonic: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#offset = wall() - monotonic();
  }

  now(): number {
    const wall = this.#wall();
    const monotonic = this.#monotonic();
    if (Math.abs(wall - monotonic - this.#offset) > toleranceMs) this.#offset = wall - monotonic;
    return this.#offset + monotonic;
  }
}
