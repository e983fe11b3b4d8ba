import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KubeApiError } from "../../../src/lib/clients/kube/api-error.ts";
import { nodeName } from "../../cluster/cluster-node.ts";
import { podsPath } from "../../cluster/node-with-api.ts";
import { writeManifest } from "../../e2e/manifests.ts";
import { waitFor } from "../../e2e/wait-for.ts";
import type { Random } from "../seeded-random.ts";
import type { FaultNode } from "./fault-node.ts";
import { type Kind, kinds, settings, specOf } from "./pod-kinds.ts";

const maxPods = 8;
const staticCount = 4;
const staticKinds = ["plain", "scratch", "probed", "sidecar"] as const;
const configMaps = "/api/v1/namespaces/default/configmaps";

export interface StaticPod {
  readonly kind: Kind;
  /** Changes with each version of the manifest. */
  readonly note: string;
}

/** Pods that are created, edited and deleted through the API server and the manifest directory, and which of them are desired. */
export class Workload {
  /** Pods in the API server, by name. */
  readonly pods = new Map<string, Kind>();
  /** Static pods, by the name in their manifest. */
  readonly statics = new Map<string, StaticPod>();
  /** The content of the ConfigMap. */
  setting = "0";
  readonly #node: FaultNode;
  readonly #random: Random;
  /** Pods in the API server with the name of a mirror. */
  readonly #impostors = new Set<string>();
  #created = 0;
  #edits = 0;

  constructor(node: FaultNode, random: Random) {
    this.#node = node;
    this.#random = random;
  }

  async begin(): Promise<void> {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: settings }, data: { n: "0" } };
    await this.#request("POST", configMaps, body);
    for (const kind of kinds) await this.create(kind);
    for (let n = 0; n < staticCount; n++) this.writeStatic(n);
  }

  /** One random change; returns what was done. */
  async change(): Promise<string> {
    const { below } = this.#random;
    const [n, kind, pick, what] = [below(staticCount), kinds[below(kinds.length)]!, below(1000), below(12)];
    const names = [...this.pods.keys()];
    const chosen = names[pick % Math.max(1, names.length)];
    if (what < 3 || chosen === undefined)
      return names.length < maxPods ? this.create(kind) : this.delete(chosen!, pick % 3 === 0);
    if (what < 6) return this.delete(chosen, pick % 3 === 0);
    if (what === 6) return this.#annotate(chosen);
    if (what === 7) return this.#configure();
    if (what === 8) return this.#breakStatic(n, pick);
    if (what === 9) return this.#takeMirrorName(n);
    return what === 10 && this.statics.has(`s${n}`) ? this.removeStatic(n) : this.writeStatic(n);
  }

  /** Ends all conflicts and broken manifests, so that what is desired is unambiguous. */
  async resolveConflicts(): Promise<void> {
    for (let n = 0; n < staticCount; n++) {
      rmSync(join(this.#manifests, `twin-s${n}.yaml`), { force: true });
      const pod = this.statics.get(`s${n}`);
      if (pod) this.#write(n, pod);
    }
    for (const name of this.#impostors) await this.#request("DELETE", `${podsPath}/${name}`);
    this.#impostors.clear();
  }

  async deleteAll(): Promise<void> {
    for (const name of [...this.pods.keys()]) await this.delete(name, false);
    for (let n = 0; n < staticCount; n++) this.removeStatic(n);
  }

  async create(kind: Kind): Promise<string> {
    const name = `p${this.#created++}-${kind}`;
    const spec = specOf(kind, this.#node.hostDir);
    await this.#request("POST", podsPath, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
    this.pods.set(name, kind);
    return `create ${name}`;
  }

  async delete(name: string, force: boolean): Promise<string> {
    const query = force ? { gracePeriodSeconds: "0" } : undefined;
    await this.#request("DELETE", `${podsPath}/${name}`, undefined, query);
    this.pods.delete(name);
    return `delete ${name}${force ? " with force" : ""}`;
  }

  writeStatic(n: number): string {
    const pod = { kind: staticKinds[n % staticKinds.length]!, note: String(++this.#edits) };
    this.statics.set(`s${n}`, pod);
    this.#write(n, pod);
    return `write s${n}, version ${pod.note}`;
  }

  removeStatic(n: number): string {
    this.statics.delete(`s${n}`);
    for (const file of [`s${n}.yaml`, `twin-s${n}.yaml`])
      rmSync(join(this.#manifests, file), { force: true });
    return `remove s${n}`;
  }

  get #manifests(): string {
    return this.#node.apiNode.node.manifests;
  }

  #write(n: number, pod: StaticPod): void {
    writeManifest(this.#manifests, `s${n}.yaml`, this.#manifest(n, pod));
  }

  #manifest(n: number, { kind, note }: StaticPod): string {
    const metadata = { name: `s${n}`, namespace: "default", labels: { note } };
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: specOf(kind, this.#node.hostDir),
    });
  }

  /** Half a manifest, or a second manifest with the same name; until the next write, what runs is not defined. */
  #breakStatic(n: number, pick: number): string {
    const pod = this.statics.get(`s${n}`) ?? { kind: "plain", note: "0" };
    if (pick % 2 === 0) {
      const note = String(++this.#edits);
      writeManifest(this.#manifests, `twin-s${n}.yaml`, this.#manifest(n, { ...pod, note }));
      return `write a second manifest of s${n}`;
    }
    if (!this.statics.has(`s${n}`)) return "nothing";
    writeFileSync(join(this.#manifests, `s${n}.yaml`), this.#manifest(n, pod).slice(0, 200));
    return `break the manifest of s${n}`;
  }

  async #takeMirrorName(n: number): Promise<string> {
    const name = `s${n}-${nodeName}`;
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: specOf("plain", "") };
    await this.#request("DELETE", `${podsPath}/${name}`, undefined, { gracePeriodSeconds: "0" });
    await this.#request("POST", podsPath, body);
    this.#impostors.add(name);
    return `create ${name} in the API, the name of a mirror`;
  }

  async #annotate(name: string): Promise<string> {
    const body = { metadata: { annotations: { edit: String(++this.#edits) } } };
    await this.#request("PATCH", `${podsPath}/${name}`, body);
    return `edit ${name}`;
  }

  async #configure(): Promise<string> {
    const n = String(++this.#edits);
    await this.#request("PATCH", `${configMaps}/${settings}`, { data: { n } });
    this.setting = n;
    return `edit the ConfigMap: ${n}`;
  }

  /** Repeats a request until there is a response: the API server may be down. A previous attempt may have been executed. */
  async #request(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body?: object,
    query?: Record<string, string>,
  ) {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : undefined;
    const request = { method, path, timeoutMs: 10_000, ...(body && { body }), ...(query && { query }) };
    await waitFor(async () => {
      try {
        await this.#node.apiNode.admin.request({ ...request, ...(contentType && { contentType }) });
      } catch (error) {
        const [done, status] = [
          method === "POST" ? 409 : 404,
          error instanceof KubeApiError ? error.status : 0,
        ];
        if (status !== done || method === "PATCH") throw error;
      }
    });
  }
}
