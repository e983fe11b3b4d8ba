import { isDeepStrictEqual } from "node:util";
import type { LeaseApi, NodeApi } from "./node-api.ts";
import type { Lease, NodeObject } from "./node-types.ts";

type Json = Record<string, unknown>;

/**
 * The fields that a patch of the agent may contain. NodeRestriction lets a node write its status, annotations and some labels; spec (with
 * taints), owners and finalizers cannot be changed by a node.
 */
export const writable = ["metadata.labels", "metadata.annotations", "status"] as const;

export class FakeApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An API server for one node, in memory, with NodeRestriction. For tests. */
export class FakeNodeApi implements NodeApi {
  readonly name: string;
  node: NodeObject | undefined;
  /** Every request, in order: "GET", "POST", "PATCH". */
  readonly calls: string[] = [];
  readonly patches: Json[] = [];
  /** Requests that NodeRestriction rejected; a test with any of these fails. */
  readonly forbidden: string[] = [];
  /** Called before each request; an error it throws is the response. */
  fault: ((call: string) => void) | undefined;
  #version = 0;
  #uids = 0;

  constructor(name: string) {
    this.name = name;
  }

  async get(): Promise<NodeObject> {
    this.#record("GET");
    return structuredClone(this.#existing());
  }

  async create(node: NodeObject): Promise<NodeObject> {
    this.#record("POST");
    if (node.metadata.name !== this.name) this.#forbid(`modify node "${node.metadata.name}"`);
    this.#checkLabels({}, node.metadata.labels ?? {});
    if (this.node) throw new FakeApiError(409, `nodes "${this.name}" already exists`);
    this.put({ ...node, metadata: { ...node.metadata, uid: `uid-${++this.#uids}` } });
    return structuredClone(this.#existing());
  }

  async patchStatus(patch: object): Promise<NodeObject> {
    this.#record("PATCH");
    this.patches.push(structuredClone(patch) as Json);
    const before = this.#existing();
    const after = applyNodePatch(before, patch as Json);
    if (!isDeepStrictEqual(before.spec, after.spec)) this.#forbid("change spec");
    this.#checkLabels(before.metadata.labels ?? {}, after.metadata.labels ?? {});
    this.put(after);
    return structuredClone(this.#existing());
  }

  /** Another client writes the node. */
  put(node: NodeObject): void {
    const copy = structuredClone(node);
    copy.metadata.uid ??= `uid-${++this.#uids}`;
    copy.metadata.resourceVersion = String(++this.#version);
    this.node = copy;
  }

  #existing(): NodeObject {
    if (!this.node) throw new FakeApiError(404, `nodes "${this.name}" not found`);
    return this.node;
  }

  #record(call: string): void {
    this.calls.push(call);
    this.fault?.(call);
  }

  #forbid(what: string): never {
    this.forbidden.push(what);
    throw new FakeApiError(403, `node "${this.name}" is not allowed to ${what}`);
  }

  #checkLabels(before: Record<string, string>, after: Record<string, string>): void {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (before[key] !== after[key] && !mayLabel(key)) this.#forbid(`modify label ${key}`);
  }
}

const ownLabel =
  /^((beta\.)?kubernetes\.io\/(os|arch)|kubernetes\.io\/hostname|(failure-domain\.beta|topology)\.kubernetes\.io\/(zone|region)|(beta|node)\.kubernetes\.io\/instance-type)$/;

function mayLabel(key: string): boolean {
  const domain = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  if (!/(^|\.)(kubernetes|k8s)\.io$/.test(domain)) return true;
  return ownLabel.test(key) || /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(domain);
}

/** A strategic merge patch as the API server applies it to a node. */
export function applyNodePatch(node: NodeObject, patch: Json): NodeObject {
  return merge(JSON.parse(JSON.stringify(node)), structuredClone(patch)) as object as NodeObject;
}

function merge(target: Json, patch: Json): Json {
  const order = "$setElementOrder/";
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(order)) continue;
    if (value === null) delete target[key];
    else if (Array.isArray(value))
      target[key] = mergeList(key, (target[key] ?? []) as Json[], value as Json[]);
    else if (typeof value === "object") target[key] = merge({ ...(target[key] as Json) }, value as Json);
    else target[key] = value;
  }
  for (const key of Object.keys(patch).filter((k) => k.startsWith(order))) {
    const types = (patch[key] as Json[]).map(({ type }) => type);
    const rank = (item: Json) => types.indexOf(item.type);
    (target[key.slice(order.length)] as Json[] | undefined)?.sort((a, b) => rank(a) - rank(b));
  }
  return target;
}

function mergeList(key: string, target: Json[], patch: Json[]): Json[] {
  const replace = patch.some((item) => item?.$patch === "replace");
  if (replace || (key !== "conditions" && key !== "addresses"))
    return patch.filter((item) => item?.$patch === undefined);
  const result = [...target];
  for (const item of patch) {
    const at = result.findIndex(({ type }) => type === item.type);
    if (item.$patch === "delete") result.splice(at, at < 0 ? 0 : 1);
    else if (at < 0) result.push(item);
    else result[at] = merge({ ...result[at] }, item);
  }
  return result;
}

/** The API server's side of one lease. For tests. */
export class FakeLeaseApi implements LeaseApi {
  lease: Lease | undefined;
  readonly calls: string[] = [];
  fault: ((call: string) => void) | undefined;
  #version = 0;

  async get(): Promise<Lease> {
    this.#record("GET");
    return structuredClone(this.#existing());
  }

  async create(lease: Lease): Promise<Lease> {
    this.#record("POST");
    if (this.lease) throw new FakeApiError(409, "already exists");
    return this.put({ ...lease, metadata: { ...lease.metadata, uid: "lease-uid" } });
  }

  async update(lease: Lease): Promise<Lease> {
    this.#record("PUT");
    const { resourceVersion } = this.#existing().metadata;
    if (lease.metadata.resourceVersion !== resourceVersion) throw new FakeApiError(409, "conflict");
    return this.put(lease);
  }

  put(lease: Lease): Lease {
    this.lease = structuredClone(lease);
    this.lease.metadata.resourceVersion = String(++this.#version);
    return structuredClone(this.lease);
  }

  #existing(): Lease {
    if (!this.lease) throw new FakeApiError(404, "not found");
    return this.lease;
  }

  #record(call: string): void {
    this.calls.push(call);
    this.fault?.(call);
  }
}
