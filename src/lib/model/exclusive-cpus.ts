import type { Container, Pod } from "./pod.ts";
import { isGuaranteedContainer, podQos } from "./qos.ts";
import { amountsOf, hasPodLevelResources, isSidecar, milliOf } from "./resources.ts";

/**
 * How pods with pod-level resources get exclusive CPUs and memory if the gate PodLevelResourceManagers is on. "container": single
 * containers get them, as if the pod had no resources. "pod": the pod gets them, and its containers get parts and share the rest.
 */
export type PodLevelManagers = "off" | "container" | "pod";

export interface ExclusiveCpuOptions {
  /** False if the PodLevelResources gate is off. */
  readonly podLevel: boolean;
  /** "off" unless set. */
  readonly podLevelManagers?: PodLevelManagers | undefined;
}

/** How many exclusive CPUs the container requests; 0 if it runs in the shared pool, of its pod or of the node. */
export function exclusiveCpus(pod: Pod, container: Container, options: ExclusiveCpuOptions): number {
  if (podQos(pod, options) !== "Guaranteed") return 0;
  if (hasPodLevelResources(pod)) {
    const { podLevelManagers = "off" } = options;
    if (podLevelManagers === "off" || !isGuaranteedContainer(container)) return 0;
    if (podLevelManagers === "pod" && podExclusiveCpus(pod, options) === 0) return 0;
  }
  return wholeCpus(container.resources);
}

/** True if all CPUs of the pod are exclusive to single containers or, without pod-level resources, some of them. */
export function hasExclusiveCpus(pod: Pod, options: ExclusiveCpuOptions): boolean {
  const isExclusive = (container: Container) => exclusiveCpus(pod, container, options) > 0;
  const containers = containersOf(pod);
  return hasPodLevelResources(pod) ? containers.every(isExclusive) : containers.some(isExclusive);
}

function wholeCpus(resources: Container["resources"]): number {
  const milliCpus = milliOf(amountsOf(resources?.requests), "cpu");
  return milliCpus % 1000n === 0n ? Number(milliCpus / 1000n) : 0;
}

/** The CPUs of the pod or, without pod-level resources, the most that its containers have at a time. */
export function podExclusiveCpus(pod: Pod, options: ExclusiveCpuOptions): number {
  if (options.podLevelManagers === "pod" && hasPodLevelResources(pod))
    return podQos(pod, options) === "Guaranteed" ? wholeCpus(pod.spec.resources) : 0;
  let sidecars = 0;
  let init = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const cpus = exclusiveCpus(pod, container, options);
    if (isSidecar(container)) sidecars += cpus;
    else init = Math.max(init, sidecars + cpus);
  }
  const containers = pod.spec.containers.reduce((sum, c) => sum + exclusiveCpus(pod, c, options), 0);
  return Math.max(init, sidecars + containers);
}

/** The containers in the order in which they get their CPUs. */
export function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

export function isInitContainer({ spec }: Pod, { name }: Container): boolean {
  return (spec.initContainers ?? []).some((c) => c.name === name && !isSidecar(c));
}
