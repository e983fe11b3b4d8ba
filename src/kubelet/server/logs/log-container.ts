import type { ContainerStatus, Pod, PodStatus } from "../../../lib/model/pod.ts";

export type LogContainerChoice = { readonly id: string } | { readonly problem: string };

export function hasContainer({ spec }: Pod, name: string): boolean {
  const all = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return all.some((container) => container.name === name);
}

/** The container of that name with the log, as a full ID ("containerd://…"): the current, or the last terminated one. */
export function chooseLogContainer(
  podName: string,
  status: PodStatus | undefined,
  name: string,
  previous: boolean,
): LogContainerChoice {
  const container = `container "${name}" in pod "${podName}"`;
  const found = statusOf(status, name);
  if (!found) return { problem: `${container} is not available` };
  const { waiting, running, terminated } = found.state ?? {};
  const lastTerminated = found.lastState?.terminated;
  const last = lastTerminated?.containerID;
  if (previous) return last ? { id: last } : { problem: `previous terminated ${container} not found` };
  if (running) return { id: found.containerID ?? "" };
  // A container that failed before it was created has no ID. The log is then the one of the previous container.
  const logged = terminated?.containerID || last;
  if (logged) return { id: logged };
  if (terminated || lastTerminated) return { problem: `${container} is terminated` };
  return {
    problem: `${container} is waiting to start${waiting ? `: ${whyWaiting(waiting.reason)}` : " - no logs yet"}`,
  };
}

function statusOf(status: PodStatus | undefined, name: string): ContainerStatus | undefined {
  const all = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return all.find((container) => container.name === name);
}

function whyWaiting(reason = ""): string {
  if (reason === "ErrImagePull") return "image can't be pulled";
  if (reason === "ImagePullBackOff") return "trying and failing to pull image";
  return reason;
}
