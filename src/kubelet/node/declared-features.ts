/** Features that the scheduler and the API server require of a node, by the gate that enables each; sorted. */
const declarable = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
  "UserNamespacesHostNetworkSupport",
] as const;

type Gate = (typeof declarable)[number] | "NodeDeclaredFeatures";

/**
 * The features that the node declares: those whose gate is on and that the runtime supports, as upstream. Undefined if
 * NodeDeclaredFeatures is off.
 */
export function declaredFeatures(
  gates: { enabled(gate: Gate): boolean },
  runtime: { userNamespacesHostNetwork(): boolean },
): string[] | undefined {
  if (!gates.enabled("NodeDeclaredFeatures")) return undefined;
  return declarable.filter(
    (feature) =>
      gates.enabled(feature) &&
      (feature !== "UserNamespacesHostNetworkSupport" || runtime.userNamespacesHostNetwork()),
  );
}
