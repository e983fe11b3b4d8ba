import { isDeepStrictEqual } from "node:util";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { DesiredPods } from "../../state/desired-pods.ts";
import type { PodChange } from "../../state/pod-change.ts";

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
function requiredForUpdate({ spec: before }: Pod, { spec: after }: Pod): string[] {
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

/**
 * Reports updates that need features that the node does not declare (`declared`; undefined if it declares none). They are applied anyway, as
 * far as they can be.
 */
export function reportMissingFeatures(
  { op, pods }: PodChange,
  {
    declared,
    desired,
    events,
  }: {
    readonly declared: readonly string[] | undefined;
    /** The pods before the update. */
    readonly desired: Pick<DesiredPods, "get">;
    readonly events: Pick<PodEvents, "warning">;
  },
): void {
  if (op !== "UPDATE" || !declared) return;
  for (const pod of pods) {
    const before = desired.get(pod.metadata.uid);
    const missing = before ? requiredForUpdate(before, pod).filter((name) => !declared.includes(name)) : [];
    if (missing.length === 0) continue;
    const message = `Pod requires node features that are not available: ${missing.join(", ")}`;
    events.warning(pod, "FailedNodeDeclaredFeaturesCheck", message);
  }
}
