import { isIPv4, isIPv6 } from "node:net";
import { type Container, isStatic, type PodStatus } from "../../../lib/model/pod.ts";
import { isTerminalPhase, type PodPhase } from "../../../lib/model/pod-phase.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { type ContainerType, isSidecar } from "../../../lib/model/restart-policy.ts";
import { type ApiContainerStatus, type ApiPodStatus, isoSeconds } from "./api-types.ts";
import { podConditions } from "./conditions.ts";
import { containerStatus, isReplaced } from "./container-status.ts";
import { podPhase } from "./phase.ts";
import { podResources } from "./resources.ts";
import { isRestartingAll } from "./restart-all.ts";
import type { StatusInput } from "./status-input.ts";
import { terminateStatuses } from "./terminate-statuses.ts";

type Addresses = Pick<PodStatus, "hostIP" | "hostIPs" | "podIP" | "podIPs">;

/** The API status of a pod. Pure. */
export function podStatus(input: StatusInput): ApiPodStatus {
  const { pod, observed, previous, gates } = input;
  if (input.rejected && input.failure) return rejectedStatus(input);
  const isTerminated =
    input.workerPhase !== "syncing" || input.failure !== undefined || isTerminalPhase(previous?.phase);
  return fullStatus(input, !isTerminated && isRestartingAll(pod, observed, previous, gates));
}

function fullStatus(input: StatusInput, restartingAll: boolean): ApiPodStatus {
  const { pod, previous } = input;
  const statusOf = (
    container: Container,
    containerType: ContainerType,
    old: ApiContainerStatus[] | undefined,
  ) =>
    containerStatus(
      container,
      containerType,
      old?.find((s) => s.name === container.name),
      input,
      restartingAll,
    );
  let containers = pod.spec.containers.map((c) => statusOf(c, "regular", previous?.containerStatuses));
  let inits = (pod.spec.initContainers ?? []).map((c) =>
    statusOf(c, isSidecar(c) ? "sidecar" : "init", previous?.initContainerStatuses),
  );
  const ephemeral = (pod.spec.ephemeralContainers ?? []).map((c) =>
    statusOf(c as Container, "ephemeral", previous?.ephemeralContainerStatuses),
  );
  if (input.workerPhase === "terminated")
    ({ containers, inits } = terminateStatuses(pod, { containers, inits }, previous?.containerStatuses));
  const phase = phaseWithReason(input, containers, inits, restartingAll);
  const statuses = [...inits, ...containers];
  return {
    ...generationOf(input),
    ...phase,
    conditions: podConditions(input, { phase: phase.phase, statuses, restartingAll }),
    ...addresses(input),
    startTime: isoSeconds(input.startTime),
    ...(inits.length > 0 ? { initContainerStatuses: inits } : {}),
    containerStatuses: containers.sort(byName),
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral.sort(byName) } : {}),
    qosClass: podQos(pod),
    ...podResources(input, phase.phase),
  };
}

/** The status of a pod that was not admitted. */
function rejectedStatus(input: StatusInput): ApiPodStatus {
  const { phase, reason, message } = input.failure!;
  return {
    ...generationOf(input),
    phase,
    reason,
    message,
    startTime: isoSeconds(input.startTime),
    qosClass: podQos(input.pod),
  };
}

function generationOf({ pod, previous }: StatusInput): { observedGeneration?: number } {
  const generation = Math.max(pod.metadata.generation ?? 0, previous?.observedGeneration ?? 0);
  return generation > 0 ? { observedGeneration: generation } : {};
}

/**
 * The phase with its reason. A terminal phase is kept, with its reason; a failure takes precedence over the states of the containers.
 */
function phaseWithReason(
  input: StatusInput,
  containers: ApiContainerStatus[],
  inits: ApiContainerStatus[],
  restartingAll: boolean,
): { phase: PodPhase; reason?: string; message?: string } {
  const { pod, previous, failure, workerPhase, gates } = input;
  const old =
    [isStatic(pod) ? undefined : pod.status, previous].find((s) => isTerminalPhase(s?.phase)) ?? previous;
  const reasons = (from: { reason?: string; message?: string } | undefined) => ({
    ...(from?.reason ? { reason: from.reason } : {}),
    ...(from?.message ? { message: from.message } : {}),
  });
  const isDecided = isTerminalPhase(isStatic(pod) ? undefined : pod.status?.phase);
  const isEnded = failure?.untilEnded && workerPhase === "terminated" && old?.reason === failure.reason;
  if (old && isTerminalPhase(old.phase) && (isDecided || !isEnded))
    return { phase: old.phase, ...reasons(old) };
  if (failure && !isEnded) return { phase: failure.phase, ...reasons(failure) };
  const found = podPhase(pod, {
    containers,
    inits,
    terminating: workerPhase !== "syncing",
    initialized: isInitialized(input),
    restartingAll,
    // Older containers count, too: while the next one is being created, the previous one determines the phase.
    replaced: (name, containerID) =>
      input.observed?.containers.some(
        (c) => c.name === name && containerID?.endsWith(`://${c.id}`) && isReplaced(c, input),
      ) ?? false,
    gates: gates.restart,
  });
  if (isEnded)
    return found === "Succeeded" ? { phase: found } : { phase: failure.phase, ...reasons(failure) };
  // A pod that was terminated before it succeeded has failed.
  const isTerminated = workerPhase === "terminated" && !isStatic(pod) && !isTerminalPhase(found);
  // Only init containers that run again, in a new sandbox, take a pod from Running to Pending.
  const keepsRunning = found === "Pending" && old?.phase === "Running" && !pod.spec.initContainers?.length;
  const phase = isTerminated ? "Failed" : keepsRunning ? "Running" : found;
  return { phase, ...(phase === old?.phase ? reasons(old) : {}) };
}

/** True if a regular container was created in the current sandbox. */
function isInitialized({ pod, observed }: StatusInput): boolean {
  const [newest] = observed?.sandboxes ?? [];
  if (newest?.state !== "ready") return false;
  return pod.spec.containers.some((c) =>
    observed?.containers.some((s) => s.name === c.name && s.sandboxId === newest.id),
  );
}

function byName(a: ApiContainerStatus, b: ApiContainerStatus): number {
  return a.name < b.name ? -1 : 1;
}

/** The addresses of node and pod: one of each family at most, the family of the node's first address first. */
function addresses({ pod, observed, previous, hostIPs }: StatusInput): Addresses {
  const host = hostIPs.slice(0, 2);
  return {
    ...(host[0] ? { hostIP: host[0], hostIPs: host.map((ip) => ({ ip })) } : {}),
    ...podAddresses(
      pod.spec.hostNetwork ? byFamily(host, host[0]) : ownAddresses(observed, previous, host[0]),
    ),
  };
}

/** A pod without a ready sandbox keeps the addresses that it had. */
function ownAddresses(
  observed: StatusInput["observed"],
  previous: StatusInput["previous"],
  nodeIP: string | undefined,
): string[] {
  const [newest] = observed?.sandboxes ?? [];
  if (newest?.state === "ready") return byFamily(newest.ips, nodeIP);
  if (observed?.sandboxes.some((s) => s.state === "ready")) return [];
  return (previous?.podIPs ?? []).flatMap(({ ip }) => ip ?? []);
}

function byFamily(ips: readonly string[], nodeIP: string | undefined): string[] {
  const families = nodeIP && isIPv6(nodeIP) ? [isIPv6, isIPv4] : [isIPv4, isIPv6];
  return families.flatMap((isOfFamily) => ips.find((ip) => isOfFamily(ip)) ?? []);
}

function podAddresses(ips: readonly string[]): Addresses {
  return ips[0] ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {};
}
