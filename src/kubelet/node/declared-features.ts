/** Features that schedulers and the API require of a node, by the gate that turns each on; sorted. */
const declarable = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
] as const;

type Gate = (typeof declarable)[number] | "NodeDeclaredFeatures";

/**
 * What the node declares: the features whose gate is on, as the reference does. A resize that needs one of them is accepted by the API and
 * handled here, if only with Infeasible. Undefined if declaring is off.
 */
export function declaredFeatures(enabled: (gate: Gate) => boolean): string[] | undefined {
  if (!enabled("NodeDeclaredFeatures")) return undefined;
  return declarable.filter((feature) => enabled(feature));
}
