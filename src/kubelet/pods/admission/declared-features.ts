import { isDeepStrictEqual } from "node:util";
import type { Pod } from "../../../lib/model/pod.ts";

/** The features that a node must declare for a pod to run on it, sorted. */
export function requiredFeatures({ spec }: Pod): string[] {
  const restartsAll = [...(spec.initContainers ?? []), ...spec.containers].some(({ restartPolicyRules }) =>
    restartPolicyRules?.some(({ action }) => action === "RestartAllContainers"),
  );
  return [
    ...(restartsAll ? ["RestartAllContainersOnContainerExits"] : []),
    ...(spec.hostNetwork && spec.hostUsers === false ? ["UserNamespacesHostNetworkSupport"] : []),
  ];
}

/** The features that a node must declare for an update of a pod, sorted. All other fields that need one are immutable. */
export function requiredForUpdate({ spec: before }: Pod, { spec: after }: Pod): string[] {
  const changesInit = (before.initContainers ?? []).some(
    ({ resources, restartPolicy }, i) =>
      restartPolicy !== "Always" && !isDeepStrictEqual(resources, after.initContainers?.[i]?.resources),
  );
  return [
    ...(isDeepStrictEqual(before.resources, after.resources)
      ? []
      : ["InPlacePodLevelResourcesVerticalScaling"]),
    ...(changesInit ? ["InPlacePodVerticalScalingInitContainers"] : []),
  ];
}
