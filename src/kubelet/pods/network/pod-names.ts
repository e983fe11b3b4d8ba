import { readFile } from "node:fs/promises";
import type { Pod } from "../../../lib/model/pod.ts";
import { type PodDns, podDns } from "./dns.ts";
import { hostNetworkHosts, managedHosts } from "./etc-hosts.ts";
import { kernelHostname, podHostname } from "./hostname.ts";
import { parseResolvConf } from "./resolv-conf.ts";

export interface PodNamesOptions {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The node's own resolver configuration; "" for none. */
  readonly resolvConf: string;
  /** False if spec.hostnameOverride does not count. */
  readonly hostnameOverrides?: boolean;
}

/** What pods are called, and how they resolve names. */
export class PodNames {
  readonly #o: PodNamesOptions;

  constructor(options: PodNamesOptions) {
    this.#o = options;
  }

  async dns(pod: Pod, nodeIps: readonly string[]): Promise<PodDns> {
    const { clusterDns, clusterDomain, resolvConf } = this.#o;
    const host = resolvConf === "" ? undefined : parseResolvConf(await readFile(resolvConf, "utf8"));
    return podDns(pod, { clusterDns, clusterDomain, host, nodeIps });
  }

  /** As the kernel of the sandbox has it; "" for the node's own. */
  kernelHostname(pod: Pod): string {
    return pod.spec.hostNetwork ? "" : kernelHostname(this.#name(pod), pod.spec.setHostnameAsFQDN);
  }

  /** The content of /etc/hosts; undefined while the pod has no address. */
  async etcHosts(pod: Pod, podIps: readonly string[]): Promise<string | undefined> {
    if (pod.spec.hostNetwork) return hostNetworkHosts(pod, await readFile("/etc/hosts", "utf8"));
    return podIps.length === 0 ? undefined : managedHosts(pod, podIps, this.#name(pod));
  }

  #name(pod: Pod) {
    return podHostname(pod, this.#o.clusterDomain, this.#o.hostnameOverrides ?? true);
  }
}
