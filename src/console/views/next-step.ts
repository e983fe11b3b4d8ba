import type { StepKind } from "../../lib/model/pod-step.ts";
import type { ConsolePod } from "../console-node.ts";

/** The next thing that a user can try for a pod that is not ready; null if there is nothing to do. */
export function nextStep({ explanation, status, terminating }: ConsolePod): string | null {
  const { waitsFor, ready, cause } = explanation;
  if (ready || status?.phase === "Succeeded") return null;
  if (status?.phase === "Failed")
    return status.reason === "Evicted"
      ? "Free the resource that is low on the node, or lower the pod's usage, and start the pod again."
      : "Read the logs of the container that failed, correct the pod, and apply it again.";
  if (!waitsFor) return cause === null ? null : "Read the events and the logs of the pod.";
  const name = waitsFor.container === undefined ? "the container" : `container ${waitsFor.container}`;
  const ended = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    .filter((container) => waitsFor.container === undefined || container.name === waitsFor.container)
    .map((container) => container.lastState?.terminated ?? container.state?.terminated)
    .find((end) => end !== undefined);
  if (waitsFor.step === "backoff" && ended?.reason === "OOMKilled")
    return `Raise the memory limit of ${name}, or reduce the memory that it uses.`;
  if (waitsFor.step === "stop" && terminating)
    return `Wait for the end of the grace period, or delete the pod with a grace period of 0.`;
  const pull = waitsFor.step === "image" ? explanation.pulls?.[0] : undefined;
  if (pull?.state === "stalled") return `Check the network between the node and ${pull.registry}.`;
  // It goes on by itself.
  if (pull) return null;
  return hints[waitsFor.step]?.(name) ?? null;
}

/** A step that ends on its own has none. */
const hints: Partial<Record<StepKind, (container: string) => string>> = {
  admission: () => "Free the resource that is missing on the node, or lower the requests of the pod.",
  network: () => "Check the network plugin of the node: its configuration is in /etc/cni/net.d.",
  volumes: () => "Check that the ConfigMaps, Secrets and claims of the listed volumes exist.",
  claims: () => "Check the driver of the resource claims of the pod.",
  sandbox: () => "Check the container runtime and its network plugin: the last error has the reason.",
  image: (container) => `Check the image name of ${container}, the registry, and the pod's imagePullSecrets.`,
  container: (container) => `Correct the configuration of ${container} as the last error states.`,
  hook: (container) => `Check the lifecycle hook of ${container}: it has not completed.`,
  init: (container) => `Read the logs of ${container}: the others start after it has completed.`,
  backoff: (container) =>
    `Read the previous logs of ${container}, and correct its command or its configuration.`,
  startup: (container) => `Check that ${container} serves its startup probe, and read its logs.`,
  readiness: (container) => `Check that ${container} serves its readiness probe, and read its logs.`,
  gate: () => "Check the controller that sets the pod's readiness gates.",
  unmount: () => "Check which process still uses the volume.",
  status: () => "Check the connection to the API server.",
};
