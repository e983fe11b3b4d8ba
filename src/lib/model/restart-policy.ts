import type { Container, Pod } from "./pod.ts";

/** The type of a container in its pod. A sidecar is an init container with restartPolicy Always. */
export type ContainerType = "init" | "sidecar" | "regular" | "ephemeral";

/** The consequence of a container's termination: nothing, a restart of the container, or a restart of all containers of the pod. */
export type RestartDecision = "restart" | "restart-all" | "no";

/** The feature gates of restart policies and rules of single containers. */
export interface RestartGates {
  /** ContainerRestartRules: restartPolicy and restartPolicyRules of single containers apply. */
  containerRules: boolean;
  /** RestartAllContainersOnContainerExits: the action RestartAllContainers of these rules has an effect. */
  restartAll: boolean;
}

export const defaultRestartGates: RestartGates = { containerRules: true, restartAll: true };

/** How a container terminated. */
export interface Termination {
  exitCode: number;
  reason?: string;
}

/** The decision for an exit code, by the rules and policies of the container and its pod. */
export function restartDecision(
  pod: Pod,
  container: Container,
  containerType: ContainerType,
  exitCode: number,
  gates: RestartGates = defaultRestartGates,
): RestartDecision {
  if (containerType === "ephemeral") return "no";
  const action = gates.containerRules ? matchingAction(container, exitCode) : undefined;
  if (action === "RestartAllContainers" && gates.restartAll) return "restart-all";
  if (containerType === "sidecar") return "restart";
  // An init container that succeeded is never run again, regardless of its policy.
  if (containerType === "init" && exitCode === 0) return "no";
  if (action === "Restart") return "restart";
  const policy = policyOf(pod, container, containerType, gates);
  if (policy === "Never") return "no";
  // OnFailure applies to regular containers here; init containers that succeeded were handled above.
  return policy === "OnFailure" && exitCode === 0 ? "no" : "restart";
}

/** Whether a container that we stop, for example for a failed probe, is restarted, regardless of its exit code. */
export function restartsWhenKilled(
  pod: Pod,
  container: Container,
  containerType: ContainerType,
  gates: RestartGates = defaultRestartGates,
): boolean {
  if (containerType === "ephemeral") return false;
  return containerType === "sidecar" || policyOf(pod, container, containerType, gates) !== "Never";
}

/** An init container that was OOM-killed has failed, even with exit code 0. */
export function effectiveExitCode(containerType: ContainerType, { exitCode, reason }: Termination): number {
  return containerType === "init" && exitCode === 0 && reason === "OOMKilled" ? 137 : exitCode;
}

export function isSidecar(container: { restartPolicy?: string }): boolean {
  return container.restartPolicy === "Always";
}

/** The last container of a name, as the runtime has it. */
export type LastTermination = (name: string) => (Termination & { state: string }) | undefined;

/**
 * True while all containers of the pod are being restarted: one terminated in a way that triggers it. It is removed
 * last, so that this remains true until the rest is removed.
 */
export function restartsAll(pod: Pod, lastOf: LastTermination, gates?: RestartGates): boolean {
  return restartAllTriggers(pod, lastOf, gates).length > 0;
}

/** The containers whose termination restarts all. */
export function restartAllTriggers(pod: Pod, lastOf: LastTermination, gates?: RestartGates): string[] {
  const triggers = (container: Container, containerType: ContainerType) => {
    const last = lastOf(container.name);
    if (last?.state !== "exited") return false;
    return (
      restartDecision(pod, container, containerType, effectiveExitCode(containerType, last), gates) ===
      "restart-all"
    );
  };
  return [
    ...(pod.spec.initContainers ?? []).filter((c) => triggers(c, isSidecar(c) ? "sidecar" : "init")),
    ...pod.spec.containers.filter((c) => triggers(c, "regular")),
  ].map((c) => c.name);
}

/** The first rule that matches decides; one without exit codes matches nothing. */
function matchingAction({ restartPolicyRules }: Container, exitCode: number): string | undefined {
  return restartPolicyRules?.find(({ exitCodes }) => {
    if (!exitCodes) return false;
    const listed = (exitCodes.values ?? []).includes(exitCode);
    return exitCodes.operator === "In" ? listed : exitCodes.operator === "NotIn" && !listed;
  })?.action;
}

function policyOf(pod: Pod, container: Container, containerType: ContainerType, gates: RestartGates): string {
  const own = gates.containerRules && containerType !== "sidecar" ? container.restartPolicy : undefined;
  return own ?? pod.spec.restartPolicy ?? "Always";
}
