import type { Pod } from "../../model/pod.ts";
import { isSidecar } from "../../model/resources.ts";

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const anyAddress = "0.0.0.0";

/** True if the pod wants a port of the node that another pod has. */
export function hostPortTaken(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return false;
  const taken = others.flatMap(hostPorts);
  return wanted.some((port) => taken.some((other) => clash(port, other)));
}

function clash(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress;
}

/** Of containers and sidecars: other init containers have ended when the pod serves. */
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
