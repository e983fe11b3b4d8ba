import type { Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/resources.ts";

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = "0.0.0.0";

/** The first host port of the pod that another pod uses; undefined if there is none. The work is linear in the number of ports. */
export function conflictingHostPort(
  pod: Pod,
  others: readonly Pod[],
): { port: number; protocol: string; by: Pod } | undefined {
  const requests = hostPorts(pod);
  if (requests.length === 0) return undefined;
  const used = usedPorts(others);
  for (const { ip, port, protocol } of requests) {
    const byIp = used.get(`${protocol}/${port}`);
    if (!byIp) continue;
    // The pods were added in their order: the first address is one of the first pod.
    const [first] = byIp.values();
    const index = ip === anyAddress ? first : earlier(byIp.get(ip), byIp.get(anyAddress));
    const by = index === undefined ? undefined : others[index];
    if (by) return { port, protocol, by };
  }
  return undefined;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a;
}

/** By protocol and port, and by address: the index of the first pod. */
function usedPorts(pods: readonly Pod[]): Map<string, Map<string, number>> {
  const used = new Map<string, Map<string, number>>();
  for (const [index, pod] of pods.entries())
    for (const { ip, port, protocol } of hostPorts(pod)) {
      const key = `${protocol}/${port}`;
      const byIp = used.get(key) ?? new Map<string, number>();
      used.set(key, byIp);
      if (!byIp.has(ip)) byIp.set(ip, index);
    }
  return used;
}

/** The host ports of containers and sidecars: other init containers have exited when the pod serves. */
function hostPorts(pod: Pod): HostPort[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  return containers.flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ hostIP, protocol, hostPort = 0 }) => ({
        ip: hostIP || anyAddress,
        protocol: protocol || "TCP",
        port: hostPort,
      })),
  );
}
