import assert from "node:assert/strict";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";

interface ConfigMap {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data: { readonly n: string };
}

/** The possible values of a name: after a lost response, the last written or the previous one. */
interface Known {
  /** Undefined: no such object. */
  acknowledged: string | undefined;
  readonly unsure: Set<string | undefined>;
}

const path = "/api/v1/namespaces/default/configmaps";

/** Writes continuously, as kubectl would, and records acknowledged writes. */
export class RecordedWrites {
  acknowledged = 0;
  unacknowledged = 0;
  readonly #api: KubeTransport;
  readonly #below: (limit: number) => number;
  readonly #known = new Map<string, Known>();
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
      const known = this.#known.get(name) ?? { acknowledged: undefined, unsure: new Set() };
      this.#known.set(name, known);
      const value = String(++this.#written);
      const isThere = known.acknowledged !== undefined;
      const removes = isThere && this.#below(4) === 0;
      try {
        if (removes) await this.#api.request({ method: "DELETE", path: `${path}/${name}` });
        else await this.#put(name, value, isThere);
        known.acknowledged = removes ? undefined : value;
        known.unsure.clear();
        this.acknowledged++;
        reachable = true;
      } catch (error) {
        if (error instanceof KubeApiError && error.status < 500) {
          // It was not written, which only happens after a lost response.
          assert.ok([404, 409].includes(error.status), error.message);
          await this.#look(name, known);
          continue;
        }
        known.unsure.add(removes ? undefined : value);
        // Those without a response are not reported.
        if (reachable) this.unacknowledged++;
        reachable = false;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #look(name: string, known: Known): Promise<void> {
    try {
      const { data } = await this.#api.request<ConfigMap>({ method: "GET", path: `${path}/${name}` });
      this.#found(name, known, data.n);
    } catch (error) {
      if (error instanceof KubeApiError && error.status === 404) this.#found(name, known, undefined);
      else if (error instanceof assert.AssertionError) throw error;
    }
  }

  #found(name: string, known: Known, found: string | undefined): void {
    const fits = found === known.acknowledged || known.unsure.has(found);
    assert.ok(fits, `${name} is ${found}, acknowledged was ${known.acknowledged}`);
    known.acknowledged = found;
    known.unsure.clear();
  }

  async #put(name: string, value: string, isThere: boolean): Promise<void> {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { n: value } };
    const response = await this.#api.request<ConfigMap>(
      isThere ? { method: "PUT", path: `${path}/${name}`, body } : { method: "POST", path, body },
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
    const there = new Map(list.items.map(({ metadata, data }) => [metadata.name, data?.n]));
    for (const [name, known] of this.#known) {
      this.#found(name, known, there.get(name));
    }
    for (const name of there.keys())
      assert.ok(this.#known.has(name) || name === "kube-root-ca.crt", `${name} was never written`);
    const version = Number(list.metadata.resourceVersion);
    assert.ok(version >= this.#newest, `version ${version} after ${this.#newest} was received`);
  }
}
