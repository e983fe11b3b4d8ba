import type { WallTime } from "../../lib/base/time.ts";
import { type AddressInfo, planAddresses } from "./addresses.ts";
import { type CapacityInput, planCapacity } from "./capacity.ts";
import { type ConditionInfo, planConditions } from "./conditions.ts";
import { type ImageInfo, nodeImages } from "./images.ts";
import { type NodeEvent, statusEvent } from "./node-events.ts";
import { providedIpAnnotation } from "./node-object.ts";
import type { NodeMeta, NodeObject, NodeRuntimeHandler, NodeSystemInfo } from "./node-types.ts";

/** The identity of the machine. */
export interface SystemInfo {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly os: string;
  readonly arch: string;
  readonly swapBytes: bigint;
}

/** All inputs of a status. Values that could not be determined are undefined, and the previous ones are kept. */
export interface StatusInputs extends CapacityInput {
  readonly addresses: AddressInfo;
  readonly system: SystemInfo;
  /** The runtime's name ("containerd") and version, which may not be known yet. */
  readonly runtime: { readonly name: string; readonly version: string | undefined };
  readonly kubeletVersion: string;
  readonly port: number;
  readonly images: readonly ImageInfo[] | undefined;
  readonly maxImages: number;
  readonly handlers: readonly NodeRuntimeHandler[];
  readonly supplementalGroupsPolicy: boolean | undefined;
  readonly declaredFeatures: readonly string[] | undefined;
  readonly conditions: Omit<ConditionInfo, "required">;
  /** Whether local storage is accounted for. */
  readonly localStorage: boolean;
  /** Volumes that pods use or will use; undefined until the volume manager has synced. */
  readonly volumesInUse: readonly string[] | undefined;
}

export interface StatusPlan {
  node: NodeObject;
  events: NodeEvent[];
  problems: string[];
}

/** The desired node: the API object with the status computed from the info. */
export function planStatus(original: NodeObject, info: StatusInputs, now: WallTime): StatusPlan {
  const { name } = original.metadata;
  const previous = original.status;
  const problems: string[] = [];
  const events: NodeEvent[] = [];

  const addresses = planAddresses(info.addresses, previous.addresses ?? []);
  if (!addresses.ok) problems.push(addresses.reason);
  if (!info.machine) problems.push("the capacity of this machine could not be read");
  if (!info.images) problems.push("the images on this node could not be listed");

  const size = planCapacity(info, previous);
  const bootId = previous.nodeInfo?.bootID;
  if (bootId && bootId !== info.system.bootId)
    events.push({
      type: "Warning",
      reason: "Rebooted",
      message: `Node ${name} has been rebooted, boot id: ${info.system.bootId}`,
    });
  const required = ["cpu", "memory", "pods", ...(info.localStorage ? ["ephemeral-storage"] : [])];
  const conditions = planConditions(
    { name, conditions: previous.conditions ?? [], capacity: size.capacity },
    { ...info.conditions, required },
    now,
  );
  events.push(...conditions.events);
  const status: NodeObject["status"] = {
    ...previous,
    ...size,
    conditions: conditions.conditions,
    ...(addresses.ok && { addresses: addresses.addresses }),
    daemonEndpoints: { kubeletEndpoint: { Port: info.port } },
    nodeInfo: nodeInfo(info),
    ...(info.images && { images: nodeImages(info.images, info.maxImages) }),
    runtimeHandlers: [...info.handlers].sort((a, b) => (a.name < b.name ? -1 : 1)),
    ...(info.supplementalGroupsPolicy !== undefined && {
      features: { supplementalGroupsPolicy: info.supplementalGroupsPolicy },
    }),
    ...(info.declaredFeatures && { declaredFeatures: [...info.declaredFeatures] }),
    ...(info.volumesInUse && { volumesInUse: [...info.volumesInUse] }),
  };
  const metadata = addresses.ok ? withProvidedIp(original.metadata, addresses.providedIp) : original.metadata;
  return { node: { ...original, metadata, status }, events, problems };
}

function nodeInfo({ system, runtime, kubeletVersion }: StatusInputs): NodeSystemInfo {
  return {
    machineID: system.machineId,
    systemUUID: system.systemUuid,
    bootID: system.bootId,
    kernelVersion: system.kernelVersion,
    osImage: system.osImage,
    containerRuntimeVersion: `${runtime.name}://${runtimeVersion(runtime.version ?? "") ?? "Unknown"}`,
    kubeletVersion,
    kubeProxyVersion: "",
    operatingSystem: system.os,
    architecture: system.arch,
    ...(system.swapBytes > 0n && { swap: { capacity: Number(system.swapBytes) } }),
  };
}

/** A cloud controller reads the configured addresses of the node from an annotation. */
function withProvidedIp(metadata: NodeMeta, ip: string | undefined): NodeMeta {
  if (metadata.annotations?.[providedIpAnnotation] === ip) return metadata;
  const { [providedIpAnnotation]: _, ...annotations } = metadata.annotations ?? {};
  return { ...metadata, annotations: ip ? { ...annotations, [providedIpAnnotation]: ip } : annotations };
}

/** Restores system labels that were removed. */
export function withSystemLabels(node: NodeObject, system: { os: string; arch: string }): NodeObject {
  const systemLabels = { "kubernetes.io/os": system.os, "kubernetes.io/arch": system.arch };
  const labels = node.metadata.labels ?? {};
  if (Object.entries(systemLabels).every(([key, value]) => labels[key] === value)) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...systemLabels } } };
}

/** Whether the node was cordoned or uncordoned, if it changed. */
export function schedulableEvent(node: NodeObject, wasUnschedulable: boolean): NodeEvent | undefined {
  const unschedulable = node.spec.unschedulable ?? false;
  if (unschedulable === wasUnschedulable) return undefined;
  return statusEvent(node.metadata.name, unschedulable ? "NodeNotSchedulable" : "NodeSchedulable");
}

const version = /^\s*v?(\d+(?:\.\d+)*)(.*)/s;
const identifiers = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const suffix = new RegExp(`^(?:-(${identifiers}))?(?:\\+(${identifiers}))?\\s*$`);

/**
 * The version of a runtime as nodes report it: without a leading "v", with the suffix of a semantic version and without any other
 * ("1.6.20~ds1" of a distribution is 1.6.20). Undefined if it is not a version.
 */
export function runtimeVersion(text: string): string | undefined {
  const [, numbers, rest] = version.exec(text) ?? [];
  if (numbers === undefined || rest === undefined) return undefined;
  const parts = numbers.split(".");
  const [, preRelease, build] = suffix.exec(rest) ?? [];
  if (
    parts.length === 3 &&
    !parts.some(hasZero) &&
    suffix.test(rest) &&
    !preRelease?.split(".").some(hasZero)
  )
    return numbers + (preRelease ? `-${preRelease}` : "") + (build ? `+${build}` : "");
  if (parts.length < 2 || hasZero(parts[0]!)) return undefined;
  return parts.map(Number).join(".");
}

/** A number with a leading zero. */
const hasZero = (part: string) => /^0\d+$/.test(part);
