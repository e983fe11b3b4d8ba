import { isIPv6 } from "node:net";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import { type ObservedPod, readySandbox } from "../../state/observed-pods.ts";

/** The address in the status of a pod: of the family of the node's first address, if there is one. Undefined until it is known. */
export function podAddress(
  pod: Pod,
  observed: ObservedPod | undefined,
  hostIps: readonly string[],
): string | undefined {
  const [hostIp] = hostIps;
  if (pod.spec.hostNetwork) return hostIp;
  const ips = readySandbox(observed)?.ips ?? [];
  const prefersIpv6 = hostIp !== undefined && isIPv6(hostIp);
  return ips.find((ip) => isIPv6(ip) === prefersIpv6) ?? ips[0];
}

/** Resolves a port number or the name of a container port. Throws if there is none. */
export function portNumber(port: number | string, container: Pick<Container, "ports">): number {
  const found = typeof port === "number" ? port : (namedPort(port, container) ?? digits(port));
  if (found > 0 && found < 65536) return found;
  throw new Error(`invalid port number: ${found}`);
}

function namedPort(name: string, container: Pick<Container, "ports">): number | undefined {
  return container.ports?.find((p) => p.name === name)?.containerPort;
}

function digits(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`the container has no port with the name "${text}"`);
  return Number(text);
}
