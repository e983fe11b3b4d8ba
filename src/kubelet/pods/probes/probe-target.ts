import type { Container, Pod } from "../../../lib/model/pod.ts";
import { type ObservedPod, readySandbox } from "../../state/observed-pods.ts";

/** The address of a pod. Undefined until the runtime has reported it. */
export function podAddress(
  pod: Pod,
  observed: ObservedPod | undefined,
  hostIps: readonly string[],
): string | undefined {
  return pod.spec.hostNetwork ? hostIps[0] : readySandbox(observed)?.ips[0];
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
