import { dateOf, type WallTime } from "../../lib/base/time.ts";
import type * as coordination from "../../lib/gen/kubernetes/coordination.d.ts";
import type * as core from "../../lib/gen/kubernetes/core.d.ts";
import type { ObjectMeta } from "../../lib/gen/kubernetes/meta.d.ts";

/** The Node of the API. Status fields that the agent writes are complete; other fields are passed through. */
export interface NodeObject extends Required<core.Node> {
  metadata: NodeMeta;
  status: NodeStatus;
}

export type NodeMeta = ObjectMeta & { name: string };
export type Taint = core.Taint;
export type NodeSystemInfo = core.NodeSystemInfo;
export type NodeImage = Required<core.ContainerImage>;

/** Quantities by the name of the resource, as the API writes them: "2", "1900m", "24580016Ki". */
export type ResourceList = NonNullable<core.NodeStatus["capacity"]>;

export interface NodeStatus extends core.NodeStatus {
  conditions?: NodeCondition[];
  addresses?: NodeAddress[];
  daemonEndpoints?: Required<core.NodeDaemonEndpoints>;
  images?: NodeImage[];
  runtimeHandlers?: NodeRuntimeHandler[];
}

export interface NodeCondition extends Required<core.NodeCondition> {
  status: "True" | "False" | "Unknown";
}

export interface NodeAddress extends core.NodeAddress {
  type: "InternalIP" | "Hostname" | "ExternalIP" | "InternalDNS" | "ExternalDNS";
}

export interface NodeRuntimeHandler extends core.NodeRuntimeHandler {
  name: string;
  features: Required<core.NodeRuntimeHandlerFeatures>;
}

export interface Lease extends Required<coordination.Lease> {
  metadata: ObjectMeta & { name: string; namespace: string };
}

/** A time in API format: whole seconds. */
export function apiTime(time: WallTime): string {
  return `${dateOf(time).toISOString().slice(0, 19)}Z`;
}

/** A MicroTime of a lease; our clock has milliseconds. */
export function apiMicroTime(time: WallTime): string {
  return `${dateOf(time).toISOString().slice(0, 23)}000Z`;
}
