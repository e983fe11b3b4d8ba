import assert from "node:assert/strict";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";

interface ConfigMap {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data: { readonly n: string };
}

/** The possible values of a name: after a lost response, the last written or the previous one. */
interface PossibleValues {
  /** Undefined if the object does not exist. */
  acknowledged: string | undefined;
  readonly unconfirmed: Set<string | undefined>;
}

const path = "/api/v1/namespaces/default/configmaps";

/** Writes continuously, as kubectl would, and records acknowledged writes. */
export class RecordedWrites {
  acknowledged = 0;
  unacknowledged = 0;
  readonly #api: KubeTransport;
  readonly #below: (limit: number) => number;
  readonly #known = new Map<string, PossibleValues>();
  #newest = 0;
  #written = 0;

  constructor(api: KubeTransport, below: (limit: number) => number) {
    this.#api = api;
    this.#below = below;
  }

  /** Several writers, each with its own names, until they are stopped. */
  async run(writers: number, signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: writers }, (_, i) => this.#write(`w${i}`, signal)));
  }

  async #write(writer: string, signal: AbortSignal): Promise<void> {
    let reachable = true;
    while (!signal.aborted) {
      const name = `${writer}-${this.#below(5)}`;
      const known = this.#known.get(name) ?? { acknowledged: undefined, unconfirmed: new Set() };
      this.#known.set(name, known);
      const value = String(++this.#written);
      const exists = known.acknowledged !== undefined;
      const removes = exists && this.#below(4) === 0;
      try {
        if (removes) await this.#api.request({ method: "DELETE", path: `${path}/${name}` });
        else await this.#put(name, value, exists);
        known.acknowledged = removes ? undefined : value;
        known.unconfirmed.clear();
        this.acknowledged++;
        reachable = true;
      } catch (error) {
        if (error instanceof KubeApiError && error.status < 500) {
          // The write was rejected, which only happens after a lost response.
          assert.ok([404, 409].includes(error.status), error.message);
          await this.#read(name, known);
          continue;
        }
        known.unconfirmed.add(removes ? undefined : value);
        // Only the first of several writes without a response is counted.
        if (reachable) this.unacknowledged++;
        reachable = false;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #read(name: string, known: PossibleValues): Promise<void> {
    try {
      const { data } = await this.#api.request<ConfigMap>({ method: "GET", path: `${path}/${name}` });
      this.#found(name, known, data.n);
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) this.#found(name, known, undefined);
      else if (error instanceof assert.AssertionError) throw error;
    }
  }

  #found(name: string, known: PossibleValues, found: string | undefined): void {
    const isExpected = found === known.acknowledged || known.unconfirmed.has(found);
    assert.ok(isExpected, `${name} is ${found}, the acknowledged value is ${known.acknowledged}`);
    known.acknowledged = found;
    known.unconfirmed.clear();
  }

  async #put(name: string, value: string, exists: boolean): Promise<void> {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { n: value } };
    const response = await this.#api.request<ConfigMap>(
      exists ? { method: "PUT", path: `${path}/${name}`, body } : { method: "POST", path, body },
    );
    const version = Number(response.metadata.resourceVersion);
    this.#newest = Math.max(this.#newest, version);
  }

  /** Throws if an acknowledged object is missing, or an object exists that was never written. */
  async check(): Promise<void> {
    const list = await this.#api.request<{ metadata: { resourceVersion: string }; items: ConfigMap[] }>({
      method: "GET",
      path,
    });
    const stored = new Map(list.items.map(({ metadata, data }) => [metadata.name, data?.n]));
    for (const [name, known] of this.#known) {
      this.#found(name, known, stored.get(name));
    }
    for (const name of stored.keys())
      assert.ok(this.#known.has(name) || name === "kube-root-ca.crt", `${name} was never written`);
    const version = Number(list.metadata.resourceVersion);
    assert.ok(version >= this.#newest, `the list has version ${version}, older than ${this.#newest}`);
  }
}
