import type { PodStatus } from "../../lib/model/pod.ts";
import type { StepKind, StepRecord } from "../../lib/model/pod-step.ts";
import {
  type ContainerTermination,
  lastTermination,
  statusesOf,
  terminationCause,
  terminationOf,
  titleOf,
} from "./container-termination.ts";
import type { PodInfo } from "./explain-pod.ts";
import type { PodExplanation } from "./pod-explanation.ts";

type Wait = NonNullable<PodExplanation["waitsFor"]>;

/** A ready pod is explained for this long after a container failed: as long as the back-off is kept. */
const unstableMs = 600_000;

/** Why a pod is not ready, has failed or keeps restarting, in one line; null if there is nothing to explain. */
export function causeOf(info: PodInfo, wait: PodExplanation["waitsFor"]): string | null {
  const { isReady, status } = info;
  const failure = failureCause(info);
  if (failure !== undefined) return failure;
  if (status?.phase === "Failed" && info.terminatedByItself) return failedCause(info);
  const blocked = isReady || !wait ? undefined : waitCause(info, wait);
  if (blocked !== undefined) return blocked;
  // A failure remains the cause while it is retried.
  const cause = unstableCause(info) ?? (isReady ? undefined : (wait?.text ?? unreadyCause(info)));
  return cause ?? resizeCause(status) ?? null;
}

/** The reason why a resize of the pod waits or fails. */
export function resizeCause(status: PodStatus | undefined): string | undefined {
  const conditionOf = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const pending = conditionOf("PodResizePending");
  if (pending) return `resize is ${pending.reason?.toLowerCase() ?? "pending"}: ${pending.message}`;
  const inProgress = conditionOf("PodResizeInProgress");
  return inProgress?.reason === "Error" ? `resize failed, retrying: ${inProgress.message}` : undefined;
}

/** Rejected, evicted or past its deadline: the first failure takes precedence over the containers. */
function failureCause({ failure, status, pod }: PodInfo): string | undefined {
  const source = failure ?? (status?.phase === "Failed" ? status : undefined);
  if (!source?.reason) return undefined;
  const { activeDeadlineSeconds } = pod?.spec ?? {};
  const detail =
    source.reason === "DeadlineExceeded" && activeDeadlineSeconds != null
      ? `activeDeadlineSeconds is ${activeDeadlineSeconds}`
      : failure?.detail;
  // Messages about evictions end with a period and a space.
  const message = detail ? source.message?.replace(/\. $/, "") : source.message;
  return [source.reason, message, detail].filter(Boolean).join(": ");
}

function failedCause(info: PodInfo): string | null {
  const { status } = info;
  const ends = statusesOf(status).flatMap((s) => (s.state?.terminated ? (terminationOf(s) ?? []) : []));
  // The others were terminated because of the first failure.
  const [first] = ends
    .filter(({ end }) => end.exitCode !== 0)
    .sort((a, b) => Date.parse(String(a.end.finishedAt)) - Date.parse(String(b.end.finishedAt)));
  return first ? exitCause(info, first) : (status?.message ?? null);
}

/** Undefined if the step has not failed. */
function waitCause(info: PodInfo, wait: Wait): string | undefined {
  switch (wait.step) {
    case "backoff": {
      const termination = lastTermination(info.status, wait.container);
      return termination && exitCause(info, termination);
    }
    case "startup":
    case "readiness":
      return probeCause(info, wait);
    case "stop":
      return [wait.text, info.running.map(({ name }) => name).join(", ")].filter(Boolean).join(": ");
    default:
      return stepCause(info, wait);
  }
}

function probeCause({ pod, probeFailures }: PodInfo, wait: Wait): string | undefined {
  const found = probeFailures.find(
    ({ kind, container }) => kind === wait.step && container === wait.container,
  );
  if (!found) return undefined;
  const often = found.times === 1 ? "" : ` ${found.times} times in a row`;
  return `${wait.step} probe of ${titleOf(pod, found.container)} failed${often}: ${found.text.trim()}`;
}

/** The steps of a pod in order. A retried sync starts with the first one again. */
const order: readonly StepKind[] = [
  ...([
    "admission",
    "network",
    "volumes",
    "claims",
    "start-slot",
    "sandbox",
    "resize",
    "image",
    "container",
    "hook",
    "init",
  ] as const),
  ...(["backoff", "startup", "readiness", "gate", "stop", "unmount", "remove", "status", "other"] as const),
];

/** A retry repeats several steps of these kinds, so a step that succeeds is not necessarily the step that failed before. */
const severalSteps: ReadonlySet<StepKind> = new Set(["image", "volumes", "claims"]);

/** The last error, until the pod has passed the step that failed: a retry keeps the reason. */
function stepCause({ pod, history }: PodInfo, wait: Wait): string | undefined {
  const { container, step, text } = wait;
  // The text of volumes and gates includes the reason.
  if (step === "gate" || (step === "volumes" && text.includes(": "))) return text;
  const { records } = history;
  const at = records.findLastIndex(
    (r) => r.error !== undefined && (!container || !r.container || r.container === container),
  );
  const failed = records[at];
  if (failed?.error === undefined) return undefined;
  const passed = ({ kind, endedAt, error }: StepRecord) =>
    order.indexOf(kind) > order.indexOf(failed.kind) ||
    (kind === failed.kind && !severalSteps.has(kind) && endedAt !== undefined && !error);
  const later = records.slice(at + 1).filter((r) => !failed.container || r.container === failed.container);
  if (later.some(passed)) return undefined;
  const what = failureText(failed.kind, failed.error, records.slice(0, at + 1));
  return failed.container === undefined ? what : `${titleOf(pod, failed.container)}: ${what}`;
}

function failureText(kind: StepKind, error: string, records: readonly StepRecord[]): string {
  if (kind === "hook") return `postStart hook failed: ${error}`;
  if (kind !== "claims" || error.includes("ResourceClaim")) return error;
  // Some messages of the reference kubelet do not name the claim. The step has it; while a retry is due, its text is the error.
  const step = records.findLast((record) => record.kind === kind && record.text !== error);
  return step ? `${step.text}: ${error}` : error;
}

/** The cause if the pod is not blocked but not ready either. */
function unreadyCause(info: PodInfo): string | undefined {
  const { status, phase } = info;
  if (phase !== "syncing" || status === undefined) return undefined;
  const termination = statusesOf(status).find(
    ({ state }) => state?.terminated && state.terminated.exitCode !== 0,
  );
  const end = termination && terminationOf(termination);
  if (end) return exitCause(info, end);
  return conditionText(status, "Ready") ?? conditionText(status, "Initialized");
}

function exitCause(info: PodInfo, termination: ContainerTermination): string {
  return hookCause(info.history.records, termination, info.pod) ?? terminationCause(termination, info);
}

/** A container whose postStart hook fails is killed: its exit code is meaningless. */
function hookCause(
  records: readonly StepRecord[],
  { container, end }: ContainerTermination,
  pod: PodInfo["pod"],
) {
  // Timestamps in the status have a resolution of one second.
  const [from, to] = [Date.parse(String(end.startedAt)), Date.parse(String(end.finishedAt)) + 1000];
  const hook = records.findLast(
    (r) =>
      r.kind === "hook" && r.container === container && r.error && from <= r.startedAt && r.startedAt < to,
  );
  return hook && `${titleOf(pod, container)} was killed because its postStart hook failed: ${hook.error}`;
}

function conditionText(status: PodStatus, type: string): string | undefined {
  const condition = status.conditions?.find((c) => c.type === type);
  return condition?.status === "False" ? condition.message || condition.reason : undefined;
}

/** The newest failure of a container, even if it has been restarted since. */
function unstableCause(info: PodInfo): string | undefined {
  const { status, now, phase } = info;
  if (phase !== "syncing") return undefined;
  const newest = statusesOf(status)
    .flatMap((s) => terminationOf(s) ?? [])
    .filter(({ end }) => now - Date.parse(String(end.finishedAt)) < unstableMs)
    .sort((a, b) => Date.parse(String(b.end.finishedAt)) - Date.parse(String(a.end.finishedAt)))
    .find((termination) => isFailure(info, termination));
  return newest && exitCause(info, newest);
}

/** A container that was killed may still exit with code 0. */
function isFailure({ kills, history, pod }: PodInfo, termination: ContainerTermination): boolean {
  const { exitCode, containerID } = termination.end;
  return (
    exitCode !== 0 ||
    kills.some(({ id }) => containerID?.endsWith(`://${id}`)) ||
    hookCause(history.records, termination, pod) !== undefined
  );
}
