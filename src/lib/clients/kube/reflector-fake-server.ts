import { type Clock, msFromNow, msUntil, sleep } from "../../base/clock.ts";
import { WakeUp } from "../../base/wait.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import type { KubeRequest, KubeStreamRequest, KubeTransport } from "./transport-interface.ts";

/** One version of one object; `broken` ones cannot be read by the client. */
export interface FakeObject {
  metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
  text: string;
  broken: boolean;
}

interface HistoryEvent {
  version: number;
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: FakeObject;
}

export interface FakeServerOptions {
  clock: Clock;
  /** A whole number below the limit. */
  below: (limit: number) => number;
  /** Percentage of requests and chunks that fail; 0 after heal(). */
  faults: number;
  streamedLists: "served" | "rejected" | "ignored";
  pages: boolean;
  /** How it reports that a version is too old to watch from. */
  gone: "response" | "event";
  /** Also rejects lists from a version that is too old. */
  rejectsOldLists: boolean;
}

const expired = () =>
  new KubeApiError({ status: 410, reason: "Expired", message: "too old resource version" });

/** An API server with faults, in memory: its whole history is kept, so that a test can query the state at any time. */
export class FakeServer implements KubeTransport {
  readonly history: HistoryEvent[] = [];
  lists = 0;
  readonly #o: FakeServerOptions;
  #version = 1;
  #compacted = 0;
  #uid = 0;
  #faults: number;
  #wakes = new Set<() => void>();

  constructor(options: FakeServerOptions) {
    this.#o = options;
    this.#faults = options.faults;
  }

  put(name: string, broken = false): void {
    const before = this.objects().get(name);
    const uid = before?.metadata.uid ?? `uid-${++this.#uid}`;
    this.#write(before ? "MODIFIED" : "ADDED", name, uid, broken);
  }

  delete(name: string): void {
    const before = this.objects().get(name);
    if (before) this.#write("DELETED", name, before.metadata.uid, before.broken);
  }

  /** Compacts its history. */
  compact(): void {
    this.#compacted = this.#version;
  }

  heal(): void {
    this.#faults = 0;
  }

  objects(at = this.#version): Map<string, FakeObject> {
    const objects = new Map<string, FakeObject>();
    for (const { version, type, object } of this.history) {
      if (version > at) break;
      if (type === "DELETED") objects.delete(object.metadata.name);
      else objects.set(object.metadata.name, object);
    }
    return objects;
  }

  wasDeleted(uid: string): boolean {
    return this.history.some(({ type, object }) => type === "DELETED" && object.metadata.uid === uid);
  }

  close(): void {}

  async request<T>({ query = {}, signal, timeoutMs = 60_000 }: KubeRequest): Promise<T> {
    await this.#fail(signal, timeoutMs);
    if (!query.continue) this.lists++;
    const from = Number(query.resourceVersion ?? -1);
    if (this.#o.rejectsOldLists && from > 0 && from < this.#compacted) throw expired();
    const limit = this.#o.pages ? Number(query.limit ?? 0) : 0;
    const [at, offset] = query.continue
      ? String(query.continue).split(":").map(Number)
      : [this.#snapshot(from), 0];
    if (query.continue && at! < this.#compacted) throw expired();
    const all = [...this.objects(at).values()];
    const items = limit > 0 ? all.slice(offset, offset! + limit) : all;
    const end = offset! + items.length;
    const more = end < all.length ? `${at}:${end}` : undefined;
    await this.#pause(signal);
    return structuredClone({ metadata: { resourceVersion: String(at), continue: more }, items }) as T;
  }

  async stream({ query = {}, signal }: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> {
    await this.#fail(signal, 30_000);
    const initial = query.sendInitialEvents === true;
    if (initial && this.#o.streamedLists === "rejected")
      throw new KubeApiError({ status: 422, reason: "Invalid", message: "sendInitialEvents is forbidden" });
    const from = Number(query.resourceVersion ?? -1);
    const isGone = !initial && from < this.#compacted;
    if (isGone && this.#o.gone === "response") throw expired();
    // At worst it repeats some of its events.
    const again = this.#fault() ? this.#o.below(4) : 0;
    const sent = initial ? this.#snapshot(from) : Math.max(from - again, this.#compacted);
    const lines = isGone ? [gone] : initial ? this.#initialLines(sent) : [];
    return this.#bytes({ lines, sent, seconds: Number(query.timeoutSeconds), ends: isGone }, signal);
  }

  /** Split into chunks at random positions, slowly or quickly, and sometimes truncated, corrupted or stalled. */
  async *#bytes(
    watch: { lines: string[]; sent: number; seconds: number; ends: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const { clock, below } = this.#o;
    const endAt = msFromNow(clock, watch.seconds * 1000);
    while (!signal.aborted && clock.monotonic() < endAt) {
      this.#moreLines(watch);
      if (watch.lines.length === 0) {
        if (watch.ends) return;
        await this.#change(signal, Math.min(msUntil(clock, endAt), 60_000));
        if (!signal.aborted && below(2) === 0) watch.lines.push(bookmarkLine(watch.sent, false));
        continue;
      }
      const bytes = Buffer.from(watch.lines.splice(0).join(""));
      for (let at = 0; at < bytes.length && !signal.aborted; ) {
        const end = at + 1 + below(below(3) === 0 ? 40 : bytes.length);
        if (this.#fault()) {
          const kind = below(5);
          if (kind === 0) yield bytes.subarray(at, Math.max(at, end - 7));
          if (kind <= 1) return;
          if (kind === 2) throw new TransportError("connection reset");
          if (kind === 3) return await this.#silence(signal);
          if (kind === 4) return yield Buffer.from('{"type":"ADDED","object"\n');
        }
        yield bytes.subarray(at, end);
        at = end;
        if (below(4) === 0) await this.#pause(signal);
      }
    }
  }

  #moreLines(watch: { lines: string[]; sent: number; ends: boolean }): void {
    if (watch.ends) return;
    // A watch ends when its next event was compacted before a slow reader got it.
    if (watch.sent < this.#compacted && this.#fault()) {
      watch.lines.push(gone);
      watch.ends = true;
      return;
    }
    for (const { version, type, object } of this.history) {
      if (version <= watch.sent) continue;
      watch.lines.push(`${JSON.stringify({ type, object })}\n`);
      watch.sent = version;
    }
  }

  #initialLines(at: number): string[] {
    const objects = [...this.objects(at).values()];
    const lines = objects.map((object) => `${JSON.stringify({ type: "ADDED", object })}\n`);
    return this.#o.streamedLists === "served" ? [...lines, bookmarkLine(at, true)] : lines;
  }

  /** A version at least as new as requested (any for 0, the newest without one), or of a server that lags behind. */
  #snapshot(from: number): number {
    if (from < 0 || this.#faults === 0) return this.#version;
    if (from > this.#version)
      throw new KubeApiError({ status: 504, reason: "Timeout", message: "Too large resource version" });
    if (this.#fault()) return Math.max(1, from - this.#o.below(5));
    return from + this.#o.below(this.#version - from + 1);
  }

  #write(type: HistoryEvent["type"], name: string, uid: string, broken: boolean): void {
    const version = ++this.#version;
    const metadata = { namespace: "ns", name, uid, resourceVersion: String(version) };
    this.history.push({ version, type, object: { metadata, text: `v${version} é€😀`, broken } });
    for (const wake of [...this.#wakes]) wake();
  }

  #fault(): boolean {
    return this.#o.below(100) < this.#faults;
  }

  async #fail(signal: AbortSignal | undefined, timeoutMs: number): Promise<void> {
    await this.#pause(signal);
    if (!this.#fault()) return;
    switch (this.#o.below(6)) {
      case 0:
        throw new TransportError("connection refused");
      case 1:
        throw new KubeApiError({
          status: 429,
          reason: "TooManyRequests",
          message: "busy",
          retryAfterMs: 1000,
        });
      case 2:
        throw new KubeApiError({ status: 500, reason: "InternalError", message: "oh" });
      case 3:
        throw expired();
      case 4:
        throw new KubeApiError({ status: 403, reason: "Forbidden", message: "not yet" });
      default:
        await sleep(this.#o.clock, timeoutMs, signal);
        throw new TransportError("no response");
    }
  }

  async #pause(signal: AbortSignal | undefined): Promise<void> {
    const { clock, below } = this.#o;
    if (below(3) === 0) await sleep(clock, below(3000), signal).catch(() => {});
  }

  async #silence(signal: AbortSignal): Promise<void> {
    await sleep(this.#o.clock, 3_600_000, signal).catch(() => {});
  }

  async #change(signal: AbortSignal, atMostMs: number): Promise<void> {
    const changed = new WakeUp();
    const wake = () => changed.notify();
    this.#wakes.add(wake);
    await changed.wait(this.#o.clock, atMostMs, signal);
    this.#wakes.delete(wake);
  }
}

const gone = `${JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } })}\n`;

function bookmarkLine(version: number, initialEnd: boolean): string {
  const annotations = initialEnd ? { "k8s.io/initial-events-end": "true" } : undefined;
  const metadata = { resourceVersion: String(version), annotations };
  return `${JSON.stringify({ type: "BOOKMARK", object: { metadata } })}\n`;
}
