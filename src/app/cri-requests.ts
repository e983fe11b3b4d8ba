import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { containerHash } from "../model/container-hash.ts";
import type { Container, Pod } from "../model/pod.ts";
import type { PodEvents } from "../model/pod-events.ts";
import { buildContainerConfig } from "../pipeline/pod-runtime/config/container-config.ts";
import type { NodeFacts, RuntimeSettings } from "../pipeline/pod-runtime/config/context.ts";
import { containerDir, etcHostsFile, terminationFileName } from "../pipeline/pod-runtime/config/paths.ts";
import { buildSandboxConfig } from "../pipeline/pod-runtime/config/sandbox-config.ts";
import type { PodRuntimeOptions } from "../pipeline/pod-runtime/pod-runtime.ts";
import { podDns } from "../pods/network/dns.ts";
import { hostNetworkHosts, managedHosts, writeEtcHosts } from "../pods/network/etc-hosts.ts";
import { kernelHostname, podHostname } from "../pods/network/hostname.ts";
import { parseResolvConf } from "../pods/network/resolv-conf.ts";

export interface CriRequestsOptions {
  node: NodeFacts;
  settings: RuntimeSettings;
  clusterDns: readonly string[];
  clusterDomain: string;
  /** The node's own resolver configuration; "" for none. */
  resolvConf: string;
  cgroupParentOf: (pod: Pod) => string;
  events: PodEvents;
}

/** Joins what a pod asks for with what the node is, and writes the files that its containers mount. */
export function criRequests(o: CriRequestsOptions): PodRuntimeOptions["requests"] {
  const noticed = new WeakSet<Pod>();
  return {
    hashOf: containerHash,
    runtimeHandler: () => "",

    async sandbox(pod, attempt) {
      const host = o.resolvConf === "" ? undefined : parseResolvConf(await readFile(o.resolvConf, "utf8"));
      const { clusterDns, clusterDomain, node } = o;
      const dns = podDns(pod, { clusterDns, clusterDomain, host, nodeIps: node.hostIps });
      if (!noticed.has(pod))
        for (const { reason, message } of dns.notices) o.events.warning(pod, reason, message);
      noticed.add(pod);
      return buildSandboxConfig(pod, {
        node,
        settings: o.settings,
        attempt,
        dns: dns.config,
        hostname: kernelHostname(podHostname(pod, clusterDomain), pod.spec.setHostnameAsFQDN),
        cgroupParent: o.cgroupParentOf(pod),
      });
    },

    async container(pod, container, { attempt, image, podIPs }) {
      const terminationFile = terminationFileName();
      await writeHostsFile(o, pod, podIPs);
      await makeTerminationFile(o, pod, container, terminationFile);
      return buildContainerConfig(pod, container, {
        node: o.node,
        settings: o.settings,
        attempt,
        imageRef: image.ref,
        imageUser: image.user,
        podIps: podIPs,
        terminationFile,
      });
    },
  };
}

async function writeHostsFile(o: CriRequestsOptions, pod: Pod, podIPs: readonly string[]): Promise<void> {
  if (!pod.spec.hostNetwork && podIPs.length === 0) return;
  const content = pod.spec.hostNetwork
    ? hostNetworkHosts(pod, await readFile("/etc/hosts", "utf8"))
    : managedHosts(pod, podIPs, podHostname(pod, o.clusterDomain));
  await writeEtcHosts(etcHostsFile(o.settings.rootDir, pod), content);
}

/** The runtime would make a folder of a path that is not there, so the file has to be there first. */
async function makeTerminationFile(
  o: CriRequestsOptions,
  pod: Pod,
  container: Container,
  name: string,
): Promise<void> {
  if (!container.terminationMessagePath) return;
  const path = join(containerDir(o.settings.rootDir, pod, container.name), name);
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  await writeFile(path, "");
  await chmod(path, 0o666);
}
