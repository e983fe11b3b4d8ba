import type { Clock } from "../../lib/base/clock.ts";
import type { Pod } from "../../lib/model/pod.ts";
import type { Authorizer } from "../access.ts";
import type { ObjectRef, RequestContext } from "../definition.ts";
import { notFoundError } from "../rest/problems.ts";
import { typed } from "../storage/object.ts";
import type { Backend, Credentials } from "./backend.ts";
import { kubeletAddress } from "./kubelet-address.ts";

export interface KubeletConnectionOptions {
  /** Evaluated for each connection, so that they may be renewed. */
  credentials(): Credentials;
  /** Whether a user who may `get` exec, attach or portforward may also `create` it: both are required. */
  readonly authorizer: Authorizer;
  /** Preferred address types of a node, best first. */
  readonly addressTypes?: readonly string[];
  readonly clock?: Clock;
  /** Allowed targets of the node and pod proxies. Default: any but this machine itself. */
  mayProxyTo?(address: string): boolean;
  /** The addresses of a host name; by default from the system's resolver. */
  lookUp?(host: string): Promise<readonly string[]>;
}

export type KubeletBackend = Extract<Backend, { scheme: "https" }>;

export async function podOf({ objects }: RequestContext, ref: ObjectRef): Promise<Pod> {
  const pod = await objects.get(ref);
  if (pod === undefined) throw notFoundError({ name: "pods", group: "" }, "pods", ref.name);
  return typed(pod);
}

export async function kubeletOf(
  { objects }: RequestContext,
  name: string,
  options: KubeletConnectionOptions,
): Promise<KubeletBackend> {
  const node = await objects.get({ resource: "nodes", namespace: "", name });
  if (node === undefined) throw notFoundError({ name: "nodes", group: "" }, "nodes", name);
  const address = kubeletAddress(typed(node), options.addressTypes);
  return { scheme: "https", ...address, credentials: options.credentials() };
}

export function queryOf(url: string | undefined): URLSearchParams {
  return new URLSearchParams(rawQueryOf(url));
}

/** "?a=b", or "". */
export function rawQueryOf(url = ""): string {
  const at = url.indexOf("?");
  return at < 0 ? "" : url.slice(at);
}

export function pathOf(url = ""): string {
  return url.slice(0, url.length - rawQueryOf(url).length);
}
