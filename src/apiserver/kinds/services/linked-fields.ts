import type { Draft } from "../../definition.ts";
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
export function linkFields(draft: Draft, before: Readonly<Draft>): void {
  const now = specOf(draft);
  const old = specOf(before);
  linkAddresses(now, old);
  if (needsClusterIp(old) && needsClusterIp(now)) {
    now.clusterIP ||= old.clusterIP;
    if (!now.clusterIPs?.length && old.clusterIPs?.length) now.clusterIPs = [...old.clusterIPs];
  }
  if (needsNodePorts(old) && needsNodePorts(now)) keepNodePorts(now, old);
  if (needsHealthCheck(old) && needsHealthCheck(now)) now.healthCheckNodePort ||= old.healthCheckNodePort;
  dropOfOtherTypes(draft, now, old);
}

/** `clusterIP` is the first of `clusterIPs`; a client that knows only the older field changes the other as well. */
function linkAddresses(now: ServiceSpec, old: ServiceSpec): void {
  if (old.clusterIPs?.length && !now.clusterIPs?.length && same(old.clusterIP, now.clusterIP))
    now.clusterIPs = [...old.clusterIPs];
  if (same(old.clusterIP, now.clusterIP) || !same(old.clusterIPs, now.clusterIPs)) return;
  if (now.clusterIP) now.clusterIPs = [now.clusterIP];
  else delete now.clusterIPs;
}

/** A port that comes back without its node port keeps it, by its name. */
function keepNodePorts(now: ServiceSpec, old: ServiceSpec): void {
  const used = new Set((now.ports ?? []).map(({ nodePort }) => nodePort));
  const byName = new Map((old.ports ?? []).map(({ name = "", nodePort }) => [name, nodePort]));
  for (const port of now.ports ?? []) {
    const kept = byName.get(port.name ?? "");
    if (!port.nodePort && kept && !used.has(kept)) port.nodePort = kept;
  }
}

function dropOfOtherTypes(draft: Draft, now: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && !needsClusterIp(now)) {
    if (same(old.clusterIP, now.clusterIP) && same(old.clusterIPs, now.clusterIPs)) {
      delete now.clusterIP;
      delete now.clusterIPs;
    }
    dropSame(now, old, "ipFamilies");
    dropSame(now, old, "ipFamilyPolicy");
  }
  if (needsNodePorts(old) && !needsNodePorts(now)) {
    const had = new Set((old.ports ?? []).map(({ nodePort }) => nodePort));
    if ((now.ports ?? []).every(({ nodePort }) => !nodePort || had.has(nodePort)))
      for (const port of now.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheck(old) && !needsHealthCheck(now)) dropSame(now, old, "healthCheckNodePort");
  if (old.type === "LoadBalancer" && now.type !== "LoadBalancer") {
    dropSame(now, old, "allocateLoadBalancerNodePorts");
    dropSame(now, old, "loadBalancerClass");
  }
  if (isExternal(old) && !isExternal(now)) dropSame(now, old, "externalTrafficPolicy");
  if (now.type !== "LoadBalancer") draft.status = { ...draft.status, loadBalancer: {} };
}

function dropSame(now: ServiceSpec, old: ServiceSpec, field: keyof ServiceSpec): void {
  if (same(now[field], old[field])) delete now[field];
}
