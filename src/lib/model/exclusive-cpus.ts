import type { Container, Pod } from "./pod.ts";
import { podQos } from "./qos.ts";
import { amountsOf, hasPodLevelResources, isSidecar, milliOf } from "./resources.ts";

/** How many exclusive CPUs the container requests; 0 if it runs in the shared pool. */
export function exclusiveCpus(pod: Pod, container: Container, podLevel: boolean): number {
  // Containers that share the resources of their pod get no CPUs of their own.
  if (hasPodLevelResources(pod)) return 0;
  if (podQos(pod, { podLevel }) !== "Guaranteed") return 0;
  const milliCpus = milliOf(amountsOf(container.resources?.requests), "cpu");
  return milliCpus % 1000n === 0n ? Number(milliCpus / 1000n) : 0;
}

/** The most that the containers have at a time. */
export function podExclusiveCpus(pod: Pod, podLevel: boolean): number {
  let sidecars = 0;
  let init = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const cpus = exclusiveCpus(pod, container, podLevel);
    if (isSidecar(container)) sidecars += cpus;
    else init = Math.max(init, sidecars + cpus);
  }
  const containers = pod.spec.containers.reduce((sum, c) => sum + exclusiveCpus(pod, c, podLevel), 0);
  return Math.max(init, sidecars + containers);
}

/** In the order in which they get their CPUs. */
export function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

export function isInitContainer({ spec }: Pod, { name }: Container): boolean {
  return (spec.initContainers ?? []).some((c) => c.name === name && !isSidecar(c));
}
