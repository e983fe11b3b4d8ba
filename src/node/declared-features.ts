/** Features that schedulers and the API ask a node for, by the gate that turns each on. */
export const declarable = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
] as const;

export type DeclarableFeature = (typeof declarable)[number];

/**
 * What the node declares: features whose gate is on and that this agent really has, for pods that need them are sent
 * here on the strength of it. Undefined if declaring is off.
 */
export function declaredFeatures(
  enabled: (gate: DeclarableFeature | "NodeDeclaredFeatures") => boolean,
  has: (feature: DeclarableFeature) => boolean,
): string[] | undefined {
  if (!enabled("NodeDeclaredFeatures")) return undefined;
  return declarable.filter((feature) => enabled(feature) && has(feature));
}
