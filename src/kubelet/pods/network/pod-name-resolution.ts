import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Pod } from "../../../lib/model/pod.ts";
import { type PodDns, podDns } from "./dns.ts";
import { hostNetworkHosts, managedHosts, writeEtcHosts } from "./etc-hosts.ts";
import { kernelHostname, podHostname } from "./hostname.ts";
import { parseResolvConf } from "./resolv-conf.ts";

export interface PodNameResolutionOptions {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** Path of the node's resolver configuration; "" for none. */
  readonly resolvConf: string;
  /** False if spec.hostnameOverride is ignored. */
  readonly hostnameOverrides?: boolean;
}

/** Hostname, /etc/hosts and resolver configuration of pods. */
export class PodNameResolution {
  readonly #o: PodNameResolutionOptions;

  constructor(options: PodNameResolutionOptions) {
    this.#o = options;
  }

  async dns(pod: Pod, nodeIps: readonly string[]): Promise<PodDns> {
    const { clusterDns, clusterDomain, resolvConf } = this.#o;
    // A small local file, read for each request: the thread pool would take several times as long.
    const host = resolvConf === "" ? undefined : parseResolvConf(readFileSync(resolvConf, "utf8"));
    return podDns(pod, { clusterDns, clusterDomain, host, nodeIps });
  }

  /** The hostname of the sandbox; "" for the node's. */
  kernelHostname(pod: Pod): string {
    return pod.spec.hostNetwork ? "" : kernelHostname(this.#name(pod), pod.spec.setHostnameAsFQDN);
  }

  /** The content of /etc/hosts; undefined while the pod has no address. */
  async etcHosts(pod: Pod, podIps: readonly string[]): Promise<string | undefined> {
    if (pod.spec.hostNetwork) return hostNetworkHosts(pod, await readFile("/etc/hosts", "utf8"));
    return podIps.length === 0 ? undefined : managedHosts(pod, podIps, this.#name(pod));
  }

  writeEtcHosts(path: string, content: string): Promise<void> {
    return writeEtcHosts(path, content);
  }

  #name(pod: Pod) {
    return podHostname(pod, this.#o.clusterDomain, this.#o.hostnameOverrides ?? true);
  }
}
