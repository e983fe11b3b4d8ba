import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
} from "../../model/pod.ts";
import { podQos } from "../../model/qos.ts";
import {
  newestContainer,
  type ObservedContainer,
  type ObservedPod,
  readySandbox,
} from "../../state/observed-pods.ts";
import { type PodPhase, podPhase } from "./phase.ts";

export interface StatusInput {
  pod: Pod;
  seen: ObservedPod | undefined;
  /** Why containers do not run, as the worker found out. */
  waiting: ReadonlyMap<string, { reason: string; message: string }>;
  hostIPs: readonly string[];
  runtimeName: string;
  startTime: number;
  now: number;
  before: PodStatus | undefined;
}

/** The status of a pod as the API has it. Pure. */
export function podStatus(input: StatusInput): PodStatus {
  const { pod, seen, before } = input;
  const phase = keepFinal(before?.phase as PodPhase | undefined, podPhase(pod, seen));
  const inits = pod.spec.initContainers ?? [];
  const initialized = isInitialized(inits, seen, phase, pod);
  const initContainerStatuses = inits.map((c) => containerStatus(c, input, "PodInitializing"));
  const containerStatuses = pod.spec.containers.map((c) =>
    containerStatus(c, input, initialized ? "ContainerCreating" : "PodInitializing"),
  );
  const sandbox = readySandbox(seen);
  const ips = pod.spec.hostNetwork ? input.hostIPs : (sandbox?.ips ?? []);
  const needed = [
    ...initContainerStatuses.filter((_, i) => inits[i]?.restartPolicy === "Always"),
    ...containerStatuses,
  ];
  const status: PodStatus = {
    observedGeneration: pod.metadata.generation,
    phase,
    conditions: conditions(input, phase, {
      initialized,
      incomplete: initContainerStatuses.filter((c) => !c.ready).map((c) => c.name),
      sandbox: sandbox !== undefined,
      needed,
    }),
    ...(input.hostIPs[0] ? { hostIP: input.hostIPs[0], hostIPs: input.hostIPs.map((ip) => ({ ip })) } : {}),
    ...(ips[0] ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {}),
    startTime: isoSeconds(input.startTime),
    containerStatuses: containerStatuses.sort((a, b) => (a.name < b.name ? -1 : 1)),
    qosClass: podQos(pod),
  };
  if (inits.length > 0) status.initContainerStatuses = initContainerStatuses;
  return status;
}

/** A pod that has ended stays ended. */
function keepFinal(before: PodPhase | undefined, now: PodPhase): PodPhase {
  return before === "Succeeded" || before === "Failed" ? before : now;
}

function isInitialized(
  inits: Container[],
  seen: ObservedPod | undefined,
  phase: PodPhase,
  pod: Pod,
): boolean {
  if (phase === "Succeeded") return true;
  if (pod.spec.containers.some((c) => newestContainer(seen, c.name))) return true;
  return inits.every((c) => {
    const last = newestContainer(seen, c.name);
    return c.restartPolicy === "Always"
      ? last?.state === "running"
      : last?.state === "exited" && last.exitCode === 0;
  });
}

function containerStatus(container: Container, input: StatusInput, defaultReason: string): ContainerStatus {
  const { seen, waiting, runtimeName } = input;
  const last = newestContainer(seen, container.name);
  const former = seen?.containers.find(
    (c) => c.name === container.name && c !== last && c.state === "exited",
  );
  const why = waiting.get(container.name);
  let state: ContainerState = last ? stateOf(last, runtimeName) : { waiting: { reason: defaultReason } };
  let lastState: ContainerState = former ? stateOf(former, runtimeName) : {};
  if (why && last?.state !== "running") {
    // What ended is now what was before; what is, is the wait for the next one.
    if (last?.state === "exited") lastState = state;
    state = { waiting: { reason: why.reason, message: why.message } };
  }
  const running = state.running !== undefined;
  const isInit = input.pod.spec.initContainers?.includes(container) && container.restartPolicy !== "Always";
  return {
    name: container.name,
    state,
    lastState,
    ready: isInit ? state.terminated?.exitCode === 0 : running,
    restartCount: last?.attempt ?? 0,
    image: last?.image || (container.image ?? ""),
    imageID: last?.imageRef ?? "",
    ...(last ? { containerID: `${runtimeName}://${last.id}` } : {}),
    started: running && !isInit,
  };
}

function stateOf(container: ObservedContainer, runtimeName: string): ContainerState {
  switch (container.state) {
    case "running":
      return { running: { startedAt: isoSeconds(container.startedAt) } };
    case "exited":
      return {
        terminated: {
          exitCode: container.exitCode,
          reason: container.reason || (container.exitCode === 0 ? "Completed" : "Error"),
          ...(container.message ? { message: container.message } : {}),
          startedAt: isoSeconds(container.startedAt),
          finishedAt: isoSeconds(container.finishedAt),
          containerID: `${runtimeName}://${container.id}`,
        },
      };
    case "created":
    case "unknown":
      return { waiting: { reason: "ContainerCreating" } };
    default:
      return container.state satisfies never;
  }
}

function conditions(
  input: StatusInput,
  phase: PodPhase,
  facts: { initialized: boolean; incomplete: string[]; sandbox: boolean; needed: ContainerStatus[] },
): PodCondition[] {
  const unready = facts.needed.filter((c) => !c.ready).map((c) => c.name);
  const notReady: Partial<PodCondition> =
    phase === "Succeeded"
      ? { reason: "PodCompleted" }
      : phase === "Failed"
        ? { reason: "PodFailed" }
        : { reason: "ContainersNotReady", message: `containers with unready status: [${unready.join(" ")}]` };
  const ready = unready.length === 0 && phase === "Running";
  const initialized: Partial<PodCondition> = facts.initialized
    ? phase === "Succeeded"
      ? { reason: "PodCompleted" }
      : {}
    : {
        reason: "ContainersNotInitialized",
        message: `containers with incomplete status: [${facts.incomplete.join(" ")}]`,
      };
  const list: [string, boolean, Partial<PodCondition>][] = [
    ["PodReadyToStartContainers", facts.sandbox, {}],
    ["Initialized", facts.initialized, initialized],
    ["Ready", ready, ready ? {} : notReady],
    ["ContainersReady", ready, ready ? {} : notReady],
    ["PodScheduled", true, {}],
  ];
  return list.map(([type, ok, more]) => condition(input, type, ok, more));
}

function condition(input: StatusInput, type: string, ok: boolean, more: Partial<PodCondition>): PodCondition {
  const status = ok ? "True" : "False";
  const before = input.before?.conditions?.find((c) => c.type === type);
  const lastTransitionTime =
    before?.status === status
      ? before.lastTransitionTime
      : (isoSeconds(input.now) as PodCondition["lastTransitionTime"]);
  const generation = input.pod.metadata.generation;
  return {
    type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    status,
    lastTransitionTime,
    ...more,
  };
}

/** Times in the API have whole seconds. */
export function isoSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
