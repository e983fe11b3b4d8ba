import type { Container, PodSpec } from "../pod.ts";
import { defaultContainer, defaultRequestsToLimits, roundList, roundResources } from "./container.ts";
import { defaultPodResources } from "./pod-resources.ts";
import { defaultVolume } from "./volume.ts";

/** A copy of the pod with every default that the API server would set for a v1 Pod. */
export function applyPodDefaults<P extends { spec: PodSpec }>(pod: P): P {
  const copy = structuredClone(pod);
  const { spec } = copy;
  const containers: Container[] = [...spec.containers, ...(spec.initContainers ?? [])];

  for (const container of containers) defaultRequestsToLimits(container);
  defaultPodResources(spec);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork) for (const container of containers) copyHostPorts(container);

  spec.dnsPolicy ||= "ClusterFirst";
  spec.restartPolicy ||= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= "default-scheduler";
  // serviceAccount is the deprecated alias of serviceAccountName; some tools still set it.
  spec.serviceAccountName ||= spec.serviceAccount;
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName;
  else delete spec.serviceAccountName;

  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of containers) defaultContainer(container);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container as Container);
  roundList(spec.overhead as Record<string, string> | undefined);
  if (spec.resources) roundResources(spec.resources);
  return copy;
}

/** Sets the host ports of a pod on the host network, where each container port is a host port. */
function copyHostPorts(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
}
