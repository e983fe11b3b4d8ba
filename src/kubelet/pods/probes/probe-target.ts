import type { Container, Pod } from "../../../lib/model/pod.ts";
import { type ObservedPod, readySandbox } from "../../state/observed-pods.ts";

/** Where a pod is reached. Undefined as long as the runtime has not told its address. */
export function podAddress(
  pod: Pod,
  observed: ObservedPod | undefined,
  hostIps: readonly string[],
): string | undefined {
  return pod.spec.hostNetwork ? hostIps[0] : readySandbox(observed)?.ips[0];
}

/** The number of a port that may be given by the name that the container has for it. Throws if there is none. */
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
