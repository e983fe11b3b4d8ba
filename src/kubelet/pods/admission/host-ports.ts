import type { Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/resources.ts";

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = "0.0.0.0";

/** The first host port of the pod that another pod uses; undefined if there is none. */
export function conflictingHostPort(
  pod: Pod,
  others: readonly Pod[],
): { port: number; protocol: string; by: Pod } | undefined {
  for (const requested of hostPorts(pod)) {
    const by = others.find((other) => hostPorts(other).some((port) => conflicts(requested, port)));
    if (by) return { port: requested.port, protocol: requested.protocol, by };
  }
  return undefined;
}

function conflicts(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress;
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
