import { isIPv6 } from "node:net";
import type { Pod } from "../../../lib/model/pod.ts";
import { type DnsConfig, emptyDns } from "./resolv-conf.ts";

const maxNameservers = 3;
export const maxSearches = 32;
export const maxSearchLength = 253;
export const maxSearchLineLength = 2048;

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The content of the configured resolvConf; undefined if resolvConf is "": pods then get none of the node's nameservers. */
  readonly host: DnsConfig | undefined;
  readonly nodeIps: readonly string[];
}

/** An event to record, about the pod or about the node. */
export interface DnsEvent {
  readonly about: "pod" | "node";
  readonly reason: "DNSConfigForming" | "MissingClusterDNS";
  readonly message: string;
}

export interface PodDns {
  readonly config: DnsConfig;
  readonly events: readonly DnsEvent[];
}

type Policy = { kind: "none" } | { kind: "cluster" } | { kind: "host" };

/** The pod's resolver configuration, by its dnsPolicy and dnsConfig, within the limits of resolvers. */
export function podDns(pod: Pod, settings: DnsSettings): PodDns {
  const events: DnsEvent[] = [];
  const base = baseConfig(pod, settings, events);
  const merged = pod.spec.dnsConfig ? extend(base, pod.spec.dnsConfig) : base;
  const config = {
    servers: limitServers(merged.servers, events),
    searches: limitSearches(merged.searches, events),
    options: merged.options,
  };
  return { config, events };
}

function policyOf(pod: Pod): Policy {
  switch (pod.spec.dnsPolicy) {
    case "None":
      return { kind: "none" };
    case "Default":
      return { kind: "host" };
    case "ClusterFirstWithHostNet":
      return { kind: "cluster" };
    case "ClusterFirst":
      return { kind: pod.spec.hostNetwork ? "host" : "cluster" };
    default:
      return { kind: "cluster" };
  }
}

function baseConfig(pod: Pod, settings: DnsSettings, events: DnsEvent[]): DnsConfig {
  const policy = policyOf(pod);
  if (policy.kind === "none") return emptyDns;
  const { clusterDns, clusterDomain, host } = settings;
  if (policy.kind === "cluster") {
    if (clusterDns.length > 0) {
      const { namespace } = pod.metadata;
      const own = clusterDomain
        ? [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain]
        : [];
      const searches = [...own, ...(host?.searches ?? [])];
      return {
        servers: clusterDns,
        searches: clusterDomain ? unique(searches) : searches,
        options: ["ndots:5"],
      };
    }
    const message =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
      'Falling back to "Default" policy.';
    const { name, namespace, uid } = pod.metadata;
    events.push(
      { about: "node", reason: "MissingClusterDNS", message },
      {
        about: "pod",
        reason: "MissingClusterDNS",
        message: `pod: "${name}_${namespace}(${uid})". ${message}`,
      },
    );
  }
  return host ?? noLookups(settings.nodeIps);
}

/** An empty resolvConf means no lookups outside of the pod: the runtime would otherwise copy the node's file. */
function noLookups(nodeIps: readonly string[]): DnsConfig {
  const servers = nodeIps.map((ip) => (isIPv6(ip) ? "::1" : "127.0.0.1"));
  return { servers: servers.length > 0 ? servers : ["127.0.0.1"], searches: ["."], options: [] };
}

function extend(base: DnsConfig, own: NonNullable<Pod["spec"]["dnsConfig"]>): DnsConfig {
  const options = new Map<string, string>();
  for (const option of base.options) {
    const [name = "", ...value] = option.split(":");
    options.set(name, value.join(":"));
  }
  for (const { name, value } of own.options ?? []) options.set(name ?? "", value ?? "");
  return {
    servers: unique([...base.servers, ...(own.nameservers ?? [])]),
    searches: unique([...base.searches, ...(own.searches ?? [])]),
    options: [...options].map(([name, value]) => (value === "" ? name : `${name}:${value}`)),
  };
}

function limitServers(servers: readonly string[], events: DnsEvent[]): readonly string[] {
  if (servers.length <= maxNameservers) return servers;
  const kept = servers.slice(0, maxNameservers);
  events.push({
    about: "pod",
    reason: "DNSConfigForming",
    message:
      "Nameserver limits were exceeded, some nameservers have been omitted, " +
      `the applied nameserver line is: ${kept.join(" ")}`,
  });
  return kept;
}

function limitSearches(searches: readonly string[], events: DnsEvent[]): readonly string[] {
  // Some resolvers abort on a search path that is longer than a domain name may be.
  const kept = searches.slice(0, maxSearches).filter((search) => search.length <= maxSearchLength);
  while (kept.join(" ").length > maxSearchLineLength) kept.pop();
  if (kept.length < searches.length) {
    events.push({
      about: "pod",
      reason: "DNSConfigForming",
      message:
        "Search Line limits were exceeded, some search paths have been omitted, " +
        `the applied search line is: ${kept.join(" ")}`,
    });
  }
  return kept;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
