import { chmod, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { inDir } from "../../../lib/host/make-dirs.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodHostname } from "./hostname.ts";

const header = "# Kubernetes-managed hosts file.\n";
const hostNetworkHeader = "# Kubernetes-managed hosts file (host network).\n";
const localNames = [
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
];

/** /etc/hosts of a pod with its own network. */
export function managedHosts(pod: Pod, podIps: readonly string[], { hostname, domain }: PodHostname): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [...localNames, ...podIps.map((ip) => `${ip}\t${names}`)];
  return `${header}${lines.join("\n")}\n${aliases(pod)}`;
}

/** /etc/hosts of a pod in the host's network: the node's. */
export function hostNetworkHosts(pod: Pod, nodeHosts: string): string {
  return `${hostNetworkHeader}${nodeHosts}${aliases(pod)}`;
}

function aliases(pod: Pod): string {
  const entries = pod.spec.hostAliases ?? [];
  if (entries.length === 0) return "";
  const lines = entries.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}

/** Written in place: running containers have this file mounted, and would not see a new one. */
export async function writeEtcHosts(path: string, content: string): Promise<void> {
  await inDir(dirname(path), 0o750, () => writeFile(path, content));
  await chmod(path, 0o644);
}
