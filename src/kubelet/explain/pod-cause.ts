import type { PodStatus } from "../../lib/model/pod.ts";
import type { StepKind, StepRecord } from "../../lib/model/pod-step.ts";
import {
  type CauseContext,
  causeValues,
  hookText,
  probeValues,
  titleOf,
  volumeText,
} from "./cause-values.ts";
import {
  type ContainerTermination,
  lastTermination,
  statusesOf,
  terminationCause,
  terminationOf,
} from "./container-termination.ts";
import type { PodInfo } from "./explain-pod.ts";
import type { PodExplanation } from "./pod-explanation.ts";
import type { Cause, CauseKind } from "./reading/read-cause.ts";

type Wait = NonNullable<PodExplanation["waitsFor"]>;

/** A ready pod is explained for this long after a container failed: as long as the back-off is kept. */
const unstableMs = 600_000;

/** Why a pod is not ready, has failed or keeps restarting; null if there is nothing to explain. */
export function causeOf(info: PodInfo, wait: PodExplanation["waitsFor"]): Cause | null {
  const { isReady, status } = info;
  const failure = failureCause(info);
  if (failure !== undefined) return reported("pod", failure, info);
  if (status?.phase === "Failed" && info.terminatedByItself) return failedCause(info);
  const blocked = isReady || !wait ? undefined : waitCause(info, wait);
  if (blocked !== undefined) return blocked;
  // A failure remains the cause while it is retried.
  const unstable = unstableCause(info);
  if (unstable) return unstable;
  if (!isReady) {
    if (wait) return reported("wait", wait.text, info);
    const unready = unreadyCause(info);
    if (unready) return unready;
  }
  const resize = resizeCause(status);
  return resize === undefined ? null : reported("wait", resize, info);
}

/** A cause without further values. */
function reported(kind: CauseKind, text: string, info: CauseContext, container?: string): Cause {
  return { kind, text, line: text, values: causeValues(info, container) };
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

function failedCause(info: PodInfo): Cause | null {
  const { status } = info;
  const ends = statusesOf(status).flatMap((s) => (s.state?.terminated ? (terminationOf(s) ?? []) : []));
  // The others were terminated because of the first failure.
  const [first] = ends
    .filter(({ end }) => end.exitCode !== 0)
    .sort((a, b) => Date.parse(String(a.end.finishedAt)) - Date.parse(String(b.end.finishedAt)));
  if (first) return exitCause(info, first);
  return status?.message ? reported("pod", status.message, info) : null;
}

/** Undefined if the step has not failed. */
function waitCause(info: PodInfo, wait: Wait): Cause | undefined {
  switch (wait.step) {
    case "backoff": {
      const termination = lastTermination(info.status, wait.container);
      return termination && exitCause(info, termination);
    }
    case "startup":
    case "readiness":
      return probeCause(info, wait);
    case "stop": {
      const failed = stepCause(info, wait);
      if (failed?.kind === "sandbox") return failed;
      const text = [wait.text, info.running.map(({ name }) => name).join(", ")].filter(Boolean).join(": ");
      return reported("wait", text, info);
    }
    default:
      return stepCause(info, wait);
  }
}

function probeCause(info: PodInfo, wait: Wait): Cause | undefined {
  const found = info.probeFailures.find(
    ({ kind, container }) => kind === wait.step && container === wait.container,
  );
  return found && failedProbe(info, found);
}

export function failedProbe(info: PodInfo, failure: PodInfo["probeFailures"][number]): Cause {
  const { pod } = info;
  const { kind, container, times } = failure;
  const often = times === 1 ? "" : ` ${times} times in a row`;
  const check = `${kind} probe of ${titleOf(pod, container)} failed${often}`;
  const text = failure.text.trim();
  const values = { ...causeValues(info, container), ...probeValues(pod, failure), check };
  return { kind: "probe", text, line: `${check}: ${text}`, values };
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
function stepCause(info: PodInfo, wait: Wait): Cause | undefined {
  const { pod, history } = info;
  const { container, step, text } = wait;
  // The text of volumes and gates includes the reason.
  if (step === "gate") return reported("pod", text, info);
  if (step === "volumes" && text.includes(": ")) return errorCause(info, { kind: step, error: text });
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
  const error = failureText(failed.kind, failed.error, records.slice(0, at + 1));
  const cause = errorCause(info, { ...failed, error });
  return failed.container === undefined
    ? cause
    : { ...cause, line: `${titleOf(pod, failed.container)}: ${error}` };
}

const kindOfStep: Partial<Record<StepKind, CauseKind>> = {
  image: "image",
  container: "start",
  hook: "hook",
  volumes: "volume",
  sandbox: "sandbox",
  network: "sandbox",
  claims: "pod",
};

/** containerd 1.6 keeps a sandbox without a network: it is stopped before the next attempt, which calls the same CNI plugin. */
const stopsSandbox = /^(?:error killing pod|stopping the pod): .*network for sandbox/s;

/** The error of a step. Its line names no container. */
export function errorCause(
  info: CauseContext,
  {
    kind,
    container,
    error,
  }: { readonly kind: StepKind; readonly container?: string; readonly error: string },
): Cause {
  const causeKind = stopsSandbox.test(error) ? "sandbox" : (kindOfStep[kind] ?? "pod");
  const cause = reported(causeKind, error, info, container);
  switch (causeKind) {
    case "volume": {
      const { values, ...of } = volumeText(error, info.pod);
      return { ...cause, ...of, values: { ...cause.values, ...values } };
    }
    case "sandbox":
      return {
        ...cause,
        text: error.replace(/^(?:error killing pod: )?(?:(?:creating the sandbox|stopping the pod): )?/, ""),
      };
    case "hook": {
      const { text, values } = hookText(
        error.replace(/^postStart hook failed: /, ""),
        info.pod,
        container ?? "",
      );
      const check = `${cause.values.subject}: postStart hook failed`;
      return { ...cause, text, values: { ...cause.values, ...values, check } };
    }
    default:
      return cause;
  }
}

function failureText(kind: StepKind, error: string, records: readonly StepRecord[]): string {
  if (kind === "hook") return `postStart hook failed: ${error}`;
  if (kind !== "claims" || error.includes("ResourceClaim")) return error;
  // Some messages of the reference kubelet do not name the claim. The step has it; while a retry is due, its text is the error.
  const step = records.findLast((record) => record.kind === kind && record.text !== error);
  return step ? `${step.text}: ${error}` : error;
}

/** The cause if the pod is not blocked but not ready either. */
function unreadyCause(info: PodInfo): Cause | undefined {
  const { status, phase } = info;
  if (phase !== "syncing" || status === undefined) return undefined;
  const termination = statusesOf(status).find(
    ({ state }) => state?.terminated && state.terminated.exitCode !== 0,
  );
  const end = termination && terminationOf(termination);
  if (end) return exitCause(info, end);
  const text = conditionText(status, "Ready") ?? conditionText(status, "Initialized");
  return text === undefined ? undefined : reported("wait", text, info);
}

function exitCause(info: PodInfo, termination: ContainerTermination): Cause {
  const { container } = termination;
  const values = causeValues(info, container);
  const error = hookError(info.history.records, termination);
  if (error === undefined) return terminationCause(termination, { ...info, values });
  const check = `${titleOf(info.pod, container)} was killed because its postStart hook failed`;
  const { text, values: more } = hookText(error, info.pod, container);
  return { kind: "hook", text, line: `${check}: ${error}`, values: { ...values, ...more, check } };
}

/** A container whose postStart hook fails is killed: its exit code is meaningless. */
function hookError(
  records: readonly StepRecord[],
  { container, end }: ContainerTermination,
): string | undefined {
  // Timestamps in the status have a resolution of one second.
  const [from, to] = [Date.parse(String(end.startedAt)), Date.parse(String(end.finishedAt)) + 1000];
  const hook = records.findLast(
    (r) =>
      r.kind === "hook" && r.container === container && r.error && from <= r.startedAt && r.startedAt < to,
  );
  return hook?.error;
}

function conditionText(status: PodStatus, type: string): string | undefined {
  const condition = status.conditions?.find((c) => c.type === type);
  return condition?.status === "False" ? condition.message || condition.reason : undefined;
}

/** The newest failure of a container, even if it has been restarted since. */
function unstableCause(info: PodInfo): Cause | undefined {
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
function isFailure({ kills, history }: PodInfo, termination: ContainerTermination): boolean {
  const { exitCode, containerID } = termination.end;
  return (
    exitCode !== 0 ||
    kills.some(({ id }) => containerID?.endsWith(`://${id}`)) ||
    hookError(history.records, termination) !== undefined
  );
}
