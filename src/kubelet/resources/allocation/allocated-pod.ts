import type { Container, Pod, ResourceRequirements } from "../../../lib/model/pod.ts";
import { amountsOf, isSidecar } from "../../../lib/model/resources.ts";
import type { PodResourceInfo } from "./checkpoint.ts";

export interface AllocationGates {
  /** InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel: boolean;
  /** InPlacePodVerticalScalingInitContainers. */
  readonly initContainers: boolean;
}

/** The resources of the container can change while its pod runs. */
export function isResizable(container: Container, isInit: boolean, gates: AllocationGates): boolean {
  return !isInit || gates.initContainers || isSidecar(container);
}

/** The allocation of a pod when it is admitted: the resources of its spec. */
export function allocationOf({ spec }: Pod, gates: AllocationGates): PodResourceInfo {
  const inits = (spec.initContainers ?? []).filter((c) => isResizable(c, true, gates));
  return {
    containers: new Map([...inits, ...spec.containers].map((c) => [c.name, c.resources ?? {}])),
    ...(gates.podLevel && spec.resources ? { pod: spec.resources } : {}),
  };
}

/** The resources that a container is started with: a missing limit defaults to the pod-level one. */
export function actuationOf({ spec }: Pod, { podLevel }: AllocationGates): PodResourceInfo {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  const hasPodResources = spec.resources?.requests || spec.resources?.limits;
  return {
    containers: new Map(
      all.map((c) => [c.name, actuatedResources(c, podLevel ? spec.resources : undefined)]),
    ),
    ...(hasPodResources ? { pod: spec.resources } : {}),
  };
}

export function actuatedResources(
  { resources = {} }: Container,
  pod: ResourceRequirements | undefined,
): ResourceRequirements {
  const limits: Record<string, string> = { ...resources.limits };
  for (const name of ["cpu", "memory"]) {
    const ofPod = pod?.limits?.[name];
    if (isZero(limits, name) && ofPod !== undefined) limits[name] = ofPod;
  }
  return { ...resources, limits };
}

/** The pod with its allocated resources, or undefined if these equal its spec. */
export function withAllocation(pod: Pod, info: PodResourceInfo, gates: AllocationGates): Pod | undefined {
  const { spec } = pod;
  const isOther = (c: Container) => {
    const allocated = info.containers.get(c.name);
    return allocated !== undefined && !sameResources(c.resources, allocated);
  };
  const podDiffers = gates.podLevel && !sameResources(spec.resources, info.pod);
  const { initContainers = [], containers } = spec;
  if (!podDiffers && ![...initContainers, ...containers].some(isOther)) return undefined;
  const asGiven = (c: Container): Container =>
    isOther(c) ? { ...c, resources: info.containers.get(c.name) ?? {} } : c;
  const { resources: requested, ...rest } = spec;
  const ofPod = gates.podLevel ? info.pod : requested;
  return {
    ...pod,
    spec: {
      ...rest,
      containers: containers.map(asGiven),
      ...(spec.initContainers ? { initContainers: initContainers.map(asGiven) } : {}),
      ...(ofPod ? { resources: ofPod } : {}),
    },
  };
}

export function sameResources(
  a: ResourceRequirements | undefined,
  b: ResourceRequirements | undefined,
): boolean {
  const claims = (r: ResourceRequirements | undefined) => JSON.stringify(r?.claims ?? []);
  return (
    sameAmounts(a?.requests, b?.requests) && sameAmounts(a?.limits, b?.limits) && claims(a) === claims(b)
  );
}

/** True if the resources have the same amounts: "1" equals "1000m". */
function sameAmounts(a: ResourceRequirements["limits"], b: ResourceRequirements["limits"]): boolean {
  const [left, right] = [amountsOf(a), amountsOf(b)];
  return left.size === right.size && [...left].every(([name, amount]) => right.get(name) === amount);
}

function isZero(list: Readonly<Record<string, string>>, name: string): boolean {
  return (amountsOf(list).get(name) ?? 0n) === 0n;
}
