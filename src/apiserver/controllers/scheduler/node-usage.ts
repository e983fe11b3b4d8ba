import type { Pod } from "../../../lib/model/pod.ts";
import { podRequests } from "../../../lib/model/resources.ts";

/** A host port of a pod. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** The total usage of the pods of a node. */
export interface NodeUsage {
  readonly requests: Map<string, bigint>;
  readonly ports: HostPort[];
  pods: number;
}

export function emptyUsage(): NodeUsage {
  return { requests: new Map(), ports: [], pods: 0 };
}

export function addUsage(usage: NodeUsage, pod: Pod): void {
  usage.pods++;
  for (const [name, amount] of podRequests(pod))
    usage.requests.set(name, (usage.requests.get(name) ?? 0n) + amount);
  usage.ports.push(...hostPorts(pod));
}

export function hostPorts({ spec }: Pod): HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, hostIP, protocol }) =>
      hostPort ? [{ ip: hostIP || "0.0.0.0", protocol: protocol ?? "TCP", port: hostPort }] : [],
    ),
  );
}

export function portsConflict(requested: readonly HostPort[], used: readonly HostPort[]): boolean {
  return requested.some((one) =>
    used.some(
      (other) =>
        one.port === other.port &&
        one.protocol === other.protocol &&
        (one.ip === other.ip || one.ip === "0.0.0.0" || other.ip === "0.0.0.0"),
    ),
  );
}
