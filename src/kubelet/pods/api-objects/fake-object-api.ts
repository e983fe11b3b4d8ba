import { abortable } from "../../../lib/base/abort.ts";
import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { KubeApiError, TransportError } from "../../../lib/clients/kube/api-error.ts";
import type { KubeRequest, KubeStreamRequest } from "../../../lib/clients/kube/transport-interface.ts";

export interface FakeObject {
  metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
  immutable?: boolean;
  type?: string;
  data?: Record<string, string>;
}

interface Written {
  version: number;
  path: string;
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: FakeObject;
}

/** For tests: API objects in memory, listed and watched by name, with a record of all requests. */
export class FakeObjectApi {
  readonly requests: string[] = [];
  /** The error of a request, if it fails. */
  fault: (path: string) => Error | undefined = () => undefined;
  /** How long a response takes. */
  delayMs: () => number = () => 0;
  /** By how many writes the watch cache lags. */
  lag: () => number = () => 0;
  /** Sent once by a watch instead of its next event. */
  garbage: string | undefined;
  readonly #clock: Clock;
  readonly #history: Written[] = [];
  readonly #waiters = new Set<() => void>();
  readonly #watching: string[] = [];
  #uids = 0;
  #disconnects = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Paths of the objects that are watched, sorted. */
  get watching(): string[] {
    return [...this.#watching].sort((a, b) => (a < b ? -1 : 1));
  }

  get version(): number {
    return this.#history.length + 1;
  }

  /** `path`: "secrets/default/x". */
  put(path: string, more: Omit<FakeObject, "metadata"> = {}): string {
    const previous = this.at(path, this.version);
    const uid = previous?.metadata.uid ?? `uid-${++this.#uids}`;
    return this.#write(path, previous ? "MODIFIED" : "ADDED", uid, more);
  }

  delete(path: string): void {
    const previous = this.at(path, this.version);
    if (previous) this.#write(path, "DELETED", previous.metadata.uid, {});
  }

  /** The object at this version. */
  at(path: string, version: number): FakeObject | undefined {
    const last = this.#history.findLast((event) => event.path === path && event.version <= version);
    return last?.type === "DELETED" ? undefined : last?.object;
  }

  async request<T>(call: KubeRequest): Promise<T> {
    const { path, single } = this.#target(call.path, call.query?.fieldSelector);
    const fromCache = call.query?.resourceVersion === "0";
    this.requests.push(`${single ? "GET" : "LIST"} ${path}${fromCache ? " from cache" : ""}`);
    await this.#delay(call.signal);
    const fault = this.fault(path);
    if (fault) throw fault;
    const version = Math.max(1, this.version - (fromCache ? this.lag() : 0));
    const object = structuredClone(this.at(path, version));
    if (!single) {
      const items = object ? [object] : [];
      return { metadata: { resourceVersion: String(version) }, items } as T;
    }
    if (object) return object as T;
    const [resource, , name] = path.split("/");
    throw new KubeApiError({ status: 404, reason: "NotFound", message: `${resource} "${name}" not found` });
  }

  async stream(call: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> {
    const { path } = this.#target(call.path, call.query?.fieldSelector);
    this.requests.push(`WATCH ${path}`);
    await this.#delay(call.signal);
    const fault = this.fault(path);
    if (fault) throw fault;
    return this.#events(path, Number(call.query?.resourceVersion), call.signal);
  }

  /** Disconnects all watches. */
  disconnect(): void {
    this.#disconnects++;
    this.#wake();
  }

  async *#events(path: string, from: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let sent = from;
    const disconnects = this.#disconnects;
    this.#watching.push(path);
    try {
      while (!signal.aborted) {
        if (disconnects !== this.#disconnects) throw new TransportError("connection reset");
        const events = this.#history.filter((event) => event.path === path && event.version > sent);
        for (const { version, type, object } of events) {
          const line = this.garbage ?? JSON.stringify({ type, object });
          this.garbage = undefined;
          yield Buffer.from(`${line}\n`);
          sent = version;
        }
        if (events.length === 0) await this.#nextEvent(signal);
      }
    } finally {
      this.#watching.splice(this.#watching.indexOf(path), 1);
    }
  }

  #nextEvent(signal: AbortSignal): Promise<void> {
    return abortable(signal, (resolve) => {
      const wake = () => resolve();
      this.#waiters.add(wake);
      return () => this.#waiters.delete(wake);
    }).catch(() => {});
  }

  #target(path: string, selector: unknown): { path: string; single: boolean } {
    const [, namespace, resource, name] =
      /^\/api\/v1\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
    const selected = /^metadata\.name=(.+)$/.exec(String(selector))?.[1];
    return { path: `${resource}/${namespace}/${name ?? selected}`, single: name !== undefined };
  }

  #write(path: string, type: Written["type"], uid: string, more: Omit<FakeObject, "metadata">): string {
    const [, namespace = "", name = ""] = path.split("/");
    const version = this.version + 1;
    const metadata = { namespace, name, uid, resourceVersion: String(version) };
    this.#history.push({ version, path, type, object: { metadata, ...more } });
    this.#wake();
    return metadata.resourceVersion;
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  async #delay(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.delayMs();
    if (ms > 0) await sleep(this.#clock, ms, signal);
  }
}
