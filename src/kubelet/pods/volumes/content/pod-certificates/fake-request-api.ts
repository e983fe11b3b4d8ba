import { whenAborted } from "../../../../../lib/base/abort.ts";
import type { Clock } from "../../../../../lib/base/clock.ts";
import { dateOf } from "../../../../../lib/base/time.ts";
import type { KubeRequest, KubeStreamRequest } from "../../../../../lib/clients/kube/transport-interface.ts";

type Body = Record<string, Record<string, unknown>>;

/** Service accounts and PodCertificateRequests in memory, with a watch. A test is the signer. */
export class FakeRequestApi {
  /** The created requests, by name. */
  readonly created: { readonly name: string; readonly body: Body }[] = [];
  /** Errors of the next requests, in order. */
  readonly failures: Error[] = [];
  readonly selectors: unknown[] = [];
  readonly #clock: Clock;
  #version = 1;
  #watchers = new Set<(line: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async request<T>({ method, path, body }: KubeRequest): Promise<T> {
    const failure =
      method === "POST" || path.includes("/serviceaccounts/") ? this.failures.shift() : undefined;
    if (failure) throw failure;
    if (method === "POST") return this.#create(body as Body) as T;
    if (path.includes("/serviceaccounts/")) return { metadata: { uid: "account-uid" } } as T;
    return { metadata: { resourceVersion: "1" }, items: [] } as T;
  }

  async stream({ signal, query }: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> {
    this.selectors.push(query?.fieldSelector);
    return this.#events(signal);
  }

  /** Writes the status of a request, as a signer does. */
  sign(name: string, status: Record<string, unknown>): void {
    const { body } = this.created.find((each) => each.name === name) ?? {};
    this.#send("MODIFIED", { ...body, metadata: { ...body?.metadata, name }, status });
  }

  #create(body: Body): unknown {
    const name = `req-${this.created.length + 1}`;
    this.created.push({ name, body });
    const creationTimestamp = dateOf(this.#clock.wall()).toISOString();
    const object = { ...body, metadata: { ...body.metadata, name, uid: `uid-${name}`, creationTimestamp } };
    this.#send("ADDED", object);
    return object;
  }

  #send(type: string, object: Body | { metadata: object }): void {
    const resourceVersion = `${++this.#version}`;
    const changed = { ...object, metadata: { ...object.metadata, resourceVersion } };
    for (const send of this.#watchers) send(`${JSON.stringify({ type, object: changed })}\n`);
  }

  async *#events(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const lines: string[] = [];
    let wake = () => {};
    const send = (line: string) => {
      lines.push(line);
      wake();
    };
    this.#watchers.add(send);
    whenAborted(signal, () => wake());
    while (!signal.aborted) {
      for (const line of lines.splice(0)) yield Buffer.from(line);
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (lines.length > 0) resolve();
      });
    }
    this.#watchers.delete(send);
  }
}
