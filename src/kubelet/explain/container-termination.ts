import { containerIdIn, isSystemOom, type OomKill } from "../../lib/model/oom-kill.ts";
import type { ContainerStatus, Pod, PodStatus } from "../../lib/model/pod.ts";
import { probeValues, titleOf } from "./cause-values.ts";
import type { Cause } from "./reading/read-cause.ts";
import type { Values } from "./reading/shape.ts";

const units = ["Ki", "Mi", "Gi", "Ti"];

/** A container that was killed because a probe failed, with the result of that probe. */
export interface ProbeKill {
  readonly kind: string;
  readonly container: string;
  readonly id: string;
  readonly text: string;
  /** The exit code of the command of an exec probe. */
  readonly exitCode?: number;
  readonly at: number;
  readonly times: number;
}

export type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

/** The last termination of a container. */
export interface ContainerTermination {
  readonly container: string;
  readonly restarts: number;
  readonly end: Terminated;
}

/** Enough of a message for one line; the status has all of it. */
const longestMessage = 300;
/** The cause is at the end of what a runtime reports. */
const longestStartError = 1000;
/** The exit code of a process that was ended with SIGKILL. */
const killedCode = 137;

export function statusesOf(status: PodStatus | undefined): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

export function lastTermination(
  status: PodStatus | undefined,
  container: string | undefined,
): ContainerTermination | undefined {
  const found = statusesOf(status).find(({ name }) => name === container);
  return found && terminationOf(found);
}

export function terminationOf({
  name,
  restartCount,
  state,
  lastState,
}: ContainerStatus): ContainerTermination | undefined {
  const end = state?.terminated ?? lastState?.terminated;
  return end && { container: name, restarts: restartCount, end };
}

/** "exited with code 3 (Error): database is locked" */
export function terminationText({ exitCode, reason, message }: Terminated): string {
  const text = message ? `: ${message.trim().slice(0, longestMessage)}` : "";
  return `exited with code ${exitCode} (${reason ?? "unknown"})${text}`;
}

/** Why a container terminated, with the failed probe or the memory limit that caused it. */
export function terminationCause(
  { container, end, restarts }: ContainerTermination,
  {
    pod,
    kills,
    oomKills,
    values,
  }: {
    readonly pod: Pod | undefined;
    readonly kills: readonly ProbeKill[];
    /** By container ID. */
    readonly oomKills: ReadonlyMap<string, OomKill>;
    readonly values: Values;
  },
): Cause {
  const title = titleOf(pod, container);
  const again = restarts === 0 ? "" : `; restarted ${times(restarts)}`;
  const kill = kills.findLast(({ id }) => end.containerID?.endsWith(`://${id}`));
  if (kill) {
    const often = kill.times === 1 ? "" : ` ${kill.times} times in a row`;
    const check = `${title} was killed because its ${kill.kind} probe failed${often}`;
    const text = kill.text.trim();
    return {
      kind: "probe",
      text,
      line: `${check}: ${text}${again}`,
      again,
      values: { ...values, ...probeValues(pod, kill), check },
    };
  }
  const memory = oomCause(container, end, pod, oomKills);
  const text = `${terminationText(end)}${memory === undefined ? "" : `, ${memory}`}`;
  const line = `${title} ${text}${again}`;
  if (end.reason === "StartError" && end.message)
    return { kind: "start", text: end.message.slice(0, longestStartError), line, again, values };
  const ended = `${title} exited with code ${end.exitCode} (${end.reason ?? "unknown"})`;
  // Before the first restart there is no previous container.
  const previousLogs = restarts === 0 ? values.logs : values.previousLogs;
  return { kind: "exit", text, line, again, values: { ...values, ended, previousLogs } };
}

/** Runtimes report OOMKilled only if the container's own limit was reached: the kernel log also covers the pod and the node. */
function oomCause(
  container: string,
  { reason, exitCode, containerID }: Terminated,
  pod: Pod | undefined,
  oomKills: ReadonlyMap<string, OomKill>,
): string | undefined {
  const kill = oomKills.get(containerID?.split("://")[1] ?? "");
  if (kill && (reason === "OOMKilled" || exitCode === killedCode)) return oomText(kill, pod);
  return reason === "OOMKilled" ? memoryLimit(pod, container) : undefined;
}

/** "once", "2 times". */
function times(n: number): string {
  return n === 1 ? "once" : `${n} times`;
}

function memoryLimit(pod: Pod | undefined, name: string): string | undefined {
  const { initContainers = [], containers = [], resources } = pod?.spec ?? {};
  const own = [...initContainers, ...containers].find((c) => c.name === name)?.resources?.limits?.memory;
  if (own !== undefined) return `its memory limit is ${own}`;
  const whole = resources?.limits?.memory;
  return whole === undefined
    ? "the node or the pod ran out of memory"
    : `the memory limit of the pod is ${whole}`;
}

/** Which process the kernel killed, and which memory limit was reached. */
function oomText(kill: OomKill, pod: Pod | undefined): string {
  const { process, pid, residentBytes } = kill;
  const size = residentBytes === undefined ? "" : `, ${shortBytes(residentBytes)}`;
  return `the kernel killed process ${process} (pid ${pid}${size}) because ${limitText(kill, pod)}`;
}

function limitText(kill: OomKill, pod: Pod | undefined): string {
  if (isSystemOom(kill)) return "the node ran out of memory";
  const { cgroup, usage } = kill;
  const used = usage
    ? `used ${shortBytes(usage.bytes)} of its memory limit of ${shortBytes(usage.limit)}`
    : "reached its memory limit";
  if (containerIdIn(cgroup) !== undefined) return `the container ${used}`;
  if (!pod || !isOfPod(cgroup, pod)) return `cgroup ${cgroup} ${used}`;
  // The sandbox uses memory too, so the pod may reach its limit before its only container does.
  const isSum = pod.spec.resources?.limits?.memory === undefined;
  return `the pod ${used}${isSum ? ", the sum of the limits of its containers" : ""}`;
}

/** Names of systemd slices have no dashes in the UID. */
function isOfPod(cgroup: string, { metadata }: Pod): boolean {
  return cgroup.replaceAll("_", "-").includes(`pod${metadata.uid}`);
}

/** "21.5Mi", "8Gi". */
function shortBytes(bytes: number): string {
  const power = Math.max(1, Math.min(units.length, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10}${units[power - 1]}`;
}
