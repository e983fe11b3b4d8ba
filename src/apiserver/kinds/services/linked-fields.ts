import type { Unstructured } from "../../definition.ts";
import { same } from "../same.ts";
import {
  isExternal,
  needsClusterIp,
  needsHealthCheck,
  needsNodePorts,
  type ServiceSpec,
  specOf,
} from "./service.ts";

/**
 * Patches fields that depend on each other on update. Clients that write back the fields they know would otherwise drop
 * allocated values, or keep values that are invalid for the new type.
 */
export function linkFields(draft: Unstructured, oldObject: Readonly<Unstructured>): void {
  const spec = specOf(draft);
  const old = specOf(oldObject);
  linkAddresses(spec, old);
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    spec.clusterIP ||= old.clusterIP;
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  }
  if (needsNodePorts(old) && needsNodePorts(spec)) keepNodePorts(spec, old);
  if (needsHealthCheck(old) && needsHealthCheck(spec)) spec.healthCheckNodePort ||= old.healthCheckNodePort;
  dropOfOtherTypes(draft, spec, old);
}

/** `clusterIP` is the first of `clusterIPs`; a client that knows only the older field changes the other as well. */
function linkAddresses(spec: ServiceSpec, old: ServiceSpec): void {
  if (old.clusterIPs?.length && !spec.clusterIPs?.length && same(old.clusterIP, spec.clusterIP))
    spec.clusterIPs = [...old.clusterIPs];
  if (same(old.clusterIP, spec.clusterIP) || !same(old.clusterIPs, spec.clusterIPs)) return;
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP];
  else delete spec.clusterIPs;
}

/** A port that comes back without its node port keeps it, by its name. */
function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): void {
  const used = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
  const byName = new Map((old.ports ?? []).map(({ name = "", nodePort }) => [name, nodePort]));
  for (const port of spec.ports ?? []) {
    const oldNodePort = byName.get(port.name ?? "");
    if (!port.nodePort && oldNodePort && !used.has(oldNodePort)) port.nodePort = oldNodePort;
  }
}

function dropOfOtherTypes(draft: Unstructured, spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if (same(old.clusterIP, spec.clusterIP) && same(old.clusterIPs, spec.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    dropSame(spec, old, "ipFamilies");
    dropSame(spec, old, "ipFamilyPolicy");
  }
  if (needsNodePorts(old) && !needsNodePorts(spec)) {
    const oldNodePorts = new Set((old.ports ?? []).map(({ nodePort }) => nodePort));
    if ((spec.ports ?? []).every(({ nodePort }) => !nodePort || oldNodePorts.has(nodePort)))
      for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheck(old) && !needsHealthCheck(spec)) dropSame(spec, old, "healthCheckNodePort");
  if (old.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    dropSame(spec, old, "allocateLoadBalancerNodePorts");
    dropSame(spec, old, "loadBalancerClass");
  }
  if (isExternal(old) && !isExternal(spec)) dropSame(spec, old, "externalTrafficPolicy");
  if (spec.type !== "LoadBalancer") draft.status = { ...draft.status, loadBalancer: {} };
}

function dropSame(spec: ServiceSpec, old: ServiceSpec, field: keyof ServiceSpec): void {
  if (same(spec[field], old[field])) delete spec[field];
}
