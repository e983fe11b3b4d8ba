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
