import { isIPv4 } from "node:net";
import { formatMap, resourceFieldText } from "../../../../lib/model/downward-api.ts";
import type { Container, EnvVar, Pod } from "../../../../lib/model/pod.ts";
import { amountsOf, isPodLevelResource, type ResourceAmounts } from "../../../../lib/model/resources.ts";
import type { NodeInfo, RuntimeSettings } from "./context.ts";
import { containerConfigError } from "./errors.ts";

type FieldRef = NonNullable<NonNullable<EnvVar["valueFrom"]>["fieldRef"]>;
type ResourceFieldRef = NonNullable<NonNullable<EnvVar["valueFrom"]>["resourceFieldRef"]>;

export interface PodInfo {
  readonly node: NodeInfo;
  readonly settings: RuntimeSettings;
  readonly podIps: readonly string[];
}

/** A field of the pod as text, for fieldRef. */
export function fieldValue(ref: FieldRef, pod: Pod, info: PodInfo): string {
  const version = ref.apiVersion ?? "v1";
  if (version !== "v1") throw containerConfigError(`unsupported pod version: ${version}`);
  const subscript = /^([^[]+)\['([^']*)'\]$/.exec(ref.fieldPath);
  if (subscript) {
    const [, path, key = ""] = subscript;
    if (path === "metadata.labels") return entry(pod.metadata.labels, key);
    if (path === "metadata.annotations") return entry(pod.metadata.annotations, key);
    throw containerConfigError(`field label does not support subscript: ${ref.fieldPath}`);
  }
  const podIps = preferredIps(info.podIps, info.node.hostIps);
  switch (ref.fieldPath) {
    case "metadata.name":
      return pod.metadata.name;
    case "metadata.namespace":
      return pod.metadata.namespace;
    case "metadata.uid":
      return pod.metadata.uid;
    case "metadata.labels":
      return formatMap(pod.metadata.labels);
    case "metadata.annotations":
      return formatMap(pod.metadata.annotations);
    case "spec.nodeName":
    case "spec.host":
      return pod.spec.nodeName ?? "";
    case "spec.serviceAccountName":
      return pod.spec.serviceAccountName ?? "";
    case "status.hostIP":
      return hostIpsOf(info.node)[0] ?? "";
    case "status.hostIPs":
      return hostIpsOf(info.node).join(",");
    case "status.podIP":
      return podIps[0] ?? "";
    case "status.podIPs":
      return podIps.join(",");
    default:
      throw containerConfigError(`field label not supported: ${ref.fieldPath}`);
  }
}

/** The addresses of the node. With a cloud provider it has none until it is initialized, and containers that need one wait. */
function hostIpsOf({ hostIps }: NodeInfo): readonly string[] {
  if (hostIps.length === 0) throw containerConfigError("host IP unknown; known addresses: []");
  return hostIps;
}

function entry(map: Readonly<Record<string, string>> = {}, key: string): string {
  return Object.hasOwn(map, key) ? (map[key] ?? "") : "";
}

/** One address of each family, the family of the node's primary address first. */
function preferredIps(podIps: readonly string[], hostIps: readonly string[]): string[] {
  const v4First = hostIps[0] === undefined || isIPv4(hostIps[0]);
  const v4 = podIps.find((ip) => isIPv4(ip));
  const v6 = podIps.find((ip) => !isIPv4(ip));
  return (v4First ? [v4, v6] : [v6, v4]).filter((ip) => ip !== undefined);
}

/** A request or limit of a container, in units of the divisor, rounded up. */
export function resourceValue(ref: ResourceFieldRef, pod: Pod, container: Container, info: PodInfo): string {
  const target = ref.containerName ? findContainer(pod, ref.containerName) : container;
  // An init container that is referred to by name has only its own limits, without defaults.
  const defaulted = !ref.containerName || pod.spec.containers.includes(target);
  const text = resourceFieldText(ref, {
    requests: amountsOf(target.resources?.requests),
    limits: defaulted ? limitsOf(pod, target, info) : amountsOf(target.resources?.limits),
  });
  if (text === undefined) throw containerConfigError(`Unsupported container resource : ${ref.resource}`);
  return text;
}

/** A missing limit defaults to the limit of the pod, or to the allocatable of the node. */
function limitsOf(pod: Pod, container: Container, { node, settings }: PodInfo): ResourceAmounts {
  const limits = amountsOf(container.resources?.limits);
  const most = amountsOf(node.allocatable);
  if (settings.gates.podLevelResources) {
    for (const [name, amount] of amountsOf(pod.spec.resources?.limits)) {
      if (isPodLevelResource(name) && amount !== 0n && most.has(name)) most.set(name, amount);
    }
  }
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const amount = most.get(name);
    if (!limits.get(name) && amount !== undefined) limits.set(name, amount);
  }
  return limits;
}

function findContainer(pod: Pod, name: string): Container {
  const found = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((c) => c.name === name);
  if (!found) throw containerConfigError(`container ${name} not found`);
  return found;
}
