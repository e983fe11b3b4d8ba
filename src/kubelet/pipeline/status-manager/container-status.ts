import type { Container, ContainerState, VolumeMount } from "../../../lib/model/pod.ts";
import { type ContainerType, effectiveExitCode, restartDecision } from "../../../lib/model/restart-policy.ts";
import { newestContainer, type ObservedContainer } from "../../state/observed-pods.ts";
import type { ApiContainerStatus, Terminated } from "./api-types.ts";
import {
  completedInit,
  lostWhileRunning,
  messageShare,
  removedForRestartAll,
  type StateOptions,
  stateOf,
  unobservedTermination,
  waitingState,
} from "./container-state.ts";
import { containerResources } from "./resources.ts";
import { startedAndReady } from "./started-and-ready.ts";
import type { StatusInput } from "./status-input.ts";

/** The status of one container, from the runtime, its previous status, its worker and its probes. */
export function containerStatus(
  container: Container,
  containerType: ContainerType,
  previous: ApiContainerStatus | undefined,
  input: StatusInput,
  restartingAll: boolean,
): ApiContainerStatus {
  const o = stateOptions(input);
  const last = newestContainer(input.observed, container.name);
  let status = last
    ? fromRuntime(container, last, previous, input, o, restartingAll)
    : fromPreviousStatus(container, containerType, previous, input, o, restartingAll);
  const why =
    input.waiting.get(container.name) ??
    (isReplaced(last, input) ? { reason: o.startingReason, message: undefined } : undefined);
  if (why && willRun(container, containerType, last, status, input)) {
    // The container waits for its next start: its termination becomes the last state.
    status = {
      ...(last ? status : waitingStatus(container, previous, input, o)),
      state: waitingState(why.reason, why.message),
      lastState: status.state?.terminated ? status.state : status.lastState,
      restartCount: status.restartCount,
    };
  }
  const { started, ready } = startedAndReady(container, containerType, status, previous, input.probe);
  return {
    ...status,
    ready,
    ...(started === undefined ? {} : { started }),
    ...(containerType === "regular" ? resourceHealth(container, previous, input) : {}),
  };
}

/** A terminated pod no longer has devices: their last health is kept. */
function resourceHealth(
  { name }: Container,
  previous: ApiContainerStatus | undefined,
  input: StatusInput,
): Pick<ApiContainerStatus, "allocatedResourcesStatus"> {
  const current = input.resourceHealth?.(name) ?? [];
  const last = input.workerPhase === "syncing" ? [] : (previous?.allocatedResourcesStatus ?? []);
  const health = current.length > 0 ? current : last;
  return health.length > 0 ? { allocatedResourcesStatus: [...health] } : {};
}

function stateOptions({ pod, runtimeName }: StatusInput): StateOptions {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return {
    runtimeName,
    messageBytes: messageShare(containers.length + initContainers.length + ephemeralContainers.length),
    startingReason: initContainers.length > 0 ? "PodInitializing" : "ContainerCreating",
  };
}

/** True if it was stopped to be replaced: it is not done, regardless of its exit code. */
export function isReplaced(last: ObservedContainer | undefined, { replaced }: StatusInput): boolean {
  return last?.state === "exited" && replaced?.(last) === true;
}

/** True if the container is about to start. Its waiting reason is then reported. */
function willRun(
  container: Container,
  containerType: ContainerType,
  last: ObservedContainer | undefined,
  status: ApiContainerStatus,
  input: StatusInput,
): boolean {
  const { pod, workerPhase, gates } = input;
  if (pod.metadata.deletionTimestamp || workerPhase !== "syncing") return false;
  if (!last) return containerType !== "init" || !status.state?.terminated;
  if (last.state === "running") return false;
  if (last.state !== "exited") return true;
  if (isReplaced(last, input)) return containerType !== "init" || !isDoneInSandbox(last, input);
  return restartDecision(pod, container, containerType, last.exitCode, gates.restart) !== "no";
}

/** True if an init container has completed in the current sandbox, even if it was to be replaced. */
function isDoneInSandbox(last: ObservedContainer, { observed }: StatusInput): boolean {
  const [newest] = observed?.sandboxes ?? [];
  return newest?.state === "ready" && last.sandboxId === newest.id && effectiveExitCode("init", last) === 0;
}

function fromRuntime(
  container: Container,
  last: ObservedContainer,
  previous: ApiContainerStatus | undefined,
  { observed, gates, recursiveReadOnly, actuated }: StatusInput,
  o: StateOptions,
  restartingAll: boolean,
): ApiContainerStatus {
  const containerID = `${o.runtimeName}://${last.id}`;
  const unknown = unknownTermination(last, previous, containerID, restartingAll);
  const mounts = mountStatuses(
    container,
    recursiveReadOnly,
    gates.imageVolumeDigests ? last.imageVolumes : {},
  );
  const groups = last.user?.supplementalGroups ?? [];
  const requests = container.resources?.requests;
  return {
    name: container.name,
    state: unknown ? { terminated: unknown } : stateOf(last, o),
    lastState: lastStateOf(
      observed?.containers.find((c) => c.name === last.name && c !== last && c.state === "exited"),
      previous,
      containerID,
      o,
    ),
    ready: false,
    restartCount: restartCount(last, previous, containerID),
    image: last.image || (container.image ?? ""),
    imageID: last.imageRef,
    containerID,
    ...(requests && Object.keys(requests).length > 0 ? { allocatedResources: requests } : {}),
    resources: containerResources(
      container,
      last,
      previous?.containerID === containerID ? previous : undefined,
      actuated?.(container.name),
    ),
    ...(mounts.length > 0 ? { volumeMounts: mounts } : {}),
    ...(last.user
      ? {
          user: {
            linux: {
              uid: last.user.uid,
              gid: last.user.gid,
              ...(groups.length > 0 ? { supplementalGroups: [...groups] } : {}),
            },
          },
        }
      : {}),
    ...(gates.stopSignals && last.stopSignal ? { stopSignal: last.stopSignal } : {}),
  };
}

/** A container that ran and is in unknown state is reported as terminated. */
function unknownTermination(
  last: ObservedContainer,
  previous: ApiContainerStatus | undefined,
  containerID: string,
  restartingAll: boolean,
): Terminated | undefined {
  if (last.state !== "unknown" || previous?.containerID !== containerID) return undefined;
  if (previous.state?.running) return { ...unobservedTermination(restartingAll), containerID };
  // Once reported as terminated it remains so, even while it waits for its restart.
  const reported = previous.state?.terminated ?? previous.lastState?.terminated;
  return reported?.containerID === containerID ? reported : undefined;
}

/** Taken from the previous container in the runtime or, if that was removed, from the previous status. */
function lastStateOf(
  previousContainer: ObservedContainer | undefined,
  previous: ApiContainerStatus | undefined,
  containerID: string,
  o: StateOptions,
): ContainerState {
  if (previousContainer) return stateOf(previousContainer, o);
  const known =
    previous?.containerID !== containerID && previous?.state?.terminated
      ? previous.state.terminated
      : previous?.lastState?.terminated;
  return known && known.containerID !== containerID ? { terminated: known } : {};
}

/** The count never decreases, even if the runtime has lost earlier containers. */
function restartCount(
  last: ObservedContainer,
  previous: ApiContainerStatus | undefined,
  containerID: string,
): number {
  const reported = previous?.restartCount ?? 0;
  const isNext =
    last.state === "running" &&
    previous?.state?.terminated !== undefined &&
    previous.containerID !== containerID;
  return isNext && reported >= last.attempt ? reported + 1 : Math.max(reported, last.attempt);
}

function waitingStatus(
  container: Container,
  previous: ApiContainerStatus | undefined,
  { recursiveReadOnly }: StatusInput,
  o: StateOptions,
): ApiContainerStatus {
  const mounts = mountStatuses(container, recursiveReadOnly);
  return {
    name: container.name,
    state: { waiting: { reason: o.startingReason } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    image: container.image ?? "",
    imageID: "",
    ...(mounts.length > 0 ? { volumeMounts: mounts } : {}),
  };
}

/** The runtime has no container of that name: not yet, or no longer. */
function fromPreviousStatus(
  container: Container,
  containerType: ContainerType,
  previous: ApiContainerStatus | undefined,
  input: StatusInput,
  o: StateOptions,
  restartingAll: boolean,
): ApiContainerStatus {
  const { pod, observed } = input;
  const status = waitingStatus(container, previous, input, o);
  const { waiting, last } = removedForRestartAll();
  if (previous?.state?.waiting?.reason === waiting.reason) return { ...status, state: { waiting } };
  if (restartingAll && previous && !previous.state?.waiting) {
    return {
      ...status,
      state: { waiting },
      lastState: { terminated: last },
      restartCount: previous.restartCount + 1,
    };
  }
  if (previous?.state?.terminated) return { ...previous };
  // A regular container is only created when the init containers are complete.
  const isInitialized = pod.spec.containers.some((c) => {
    const regular = newestContainer(observed, c.name);
    return regular !== undefined && regular.state !== "unknown";
  });
  if (containerType === "init" && isInitialized && !restartingAll)
    return { ...status, state: { terminated: completedInit() } };
  if (previous?.state?.running && !status.lastState?.terminated) {
    status.lastState = { terminated: lostWhileRunning() };
    if (!pod.metadata.deletionTimestamp) status.restartCount++;
  }
  return status;
}

function mountStatuses(
  container: Container,
  recursiveReadOnly: boolean,
  images: ObservedContainer["imageVolumes"] = {},
): NonNullable<ApiContainerStatus["volumeMounts"]> {
  return (container.volumeMounts ?? []).map((mount) => ({
    name: mount.name,
    mountPath: mount.mountPath,
    ...(mount.readOnly
      ? { readOnly: true, recursiveReadOnly: isRecursive(mount, recursiveReadOnly) ? "Enabled" : "Disabled" }
      : {}),
    ...imageStatus(images[absolute(mount.mountPath)]),
  }));
}

/** Converts a mount path in the same way as the request for the container. */
function absolute(mountPath: string): string {
  return mountPath.startsWith("/") ? mountPath : `/${mountPath}`;
}

function imageStatus(imageRef: string | undefined): object {
  return imageRef ? { volumeStatus: { image: { imageRef } } } : {};
}

function isRecursive({ recursiveReadOnly, mountPropagation }: VolumeMount, runtimeCan: boolean): boolean {
  if (mountPropagation && mountPropagation !== "None") return false;
  return runtimeCan && (recursiveReadOnly === "Enabled" || recursiveReadOnly === "IfPossible");
}
