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
import type { PodExplanation, PodFacts } from "./explain-pod.ts";

type Wait = NonNullable<PodExplanation["waitsFor"]>;

/** A ready pod is explained for this long after a container failed: as long as the back-off is kept. */
const unstableMs = 600_000;

/** Why a pod is not ready, has failed or does not stay up, in one line; null if there is nothing to explain. */
export function causeOf(facts: PodFacts, wait: PodExplanation["waitsFor"]): string | null {
  const { isReady, status } = facts;
  const verdict = verdictCause(facts);
  if (verdict !== undefined) return verdict;
  if (status?.phase === "Failed" && facts.endedByItself) return failedCause(facts);
  const blocked = isReady || !wait ? undefined : waitCause(facts, wait);
  if (blocked !== undefined) return blocked;
  // A failure remains the cause while it is retried.
  return unstableCause(facts) ?? (isReady ? null : (wait?.text ?? unreadyCause(facts) ?? null));
}

/** Rejected, evicted or past its deadline: the first verdict takes precedence over the containers. */
function verdictCause({ verdict, status, pod }: PodFacts): string | undefined {
  const source = verdict ?? (status?.phase === "Failed" ? status : undefined);
  if (!source?.reason) return undefined;
  const { activeDeadlineSeconds } = pod?.spec ?? {};
  const detail =
    source.reason === "DeadlineExceeded" && activeDeadlineSeconds != null
      ? `activeDeadlineSeconds is ${activeDeadlineSeconds}`
      : verdict?.detail;
  return [source.reason, source.message, detail].filter(Boolean).join(": ");
}

function failedCause(facts: PodFacts): string | null {
  const { status } = facts;
  const ends = statusesOf(status).flatMap((s) => (s.state?.terminated ? (terminationOf(s) ?? []) : []));
  // The others were terminated because of the first failure.
  const [first] = ends
    .filter(({ end }) => end.exitCode !== 0)
    .sort((a, b) => Date.parse(String(a.end.finishedAt)) - Date.parse(String(b.end.finishedAt)));
  return first ? endedBecause(facts, first) : (status?.message ?? null);
}

/** Undefined if the step has not failed. */
function waitCause(facts: PodFacts, wait: Wait): string | undefined {
  switch (wait.step) {
    case "backoff": {
      const ended = lastTermination(facts.status, wait.container);
      return ended && endedBecause(facts, ended);
    }
    case "startup":
    case "readiness":
      return probeCause(facts, wait);
    case "stop":
      return [wait.text, facts.running.map(({ name }) => name).join(", ")].filter(Boolean).join(": ");
    default:
      return stepCause(facts, wait);
  }
}

function probeCause({ pod, probeFailures }: PodFacts, wait: Wait): string | undefined {
  const found = probeFailures.find(
    ({ kind, container }) => kind === wait.step && container === wait.container,
  );
  if (!found) return undefined;
  const often = found.times === 1 ? "" : ` ${found.times} times in a row`;
  return `${wait.step} probe of ${titleOf(pod, found.container)} failed${often}: ${found.text.trim()}`;
}

/** The steps of a pod in order. A retried sync starts with the first one again. */
const order: readonly StepKind[] = [
  ...(["admission", "network", "volumes", "turn", "sandbox", "image", "container", "hook", "init"] as const),
  ...(["backoff", "startup", "readiness", "gate", "stop", "unmount", "remove", "status", "other"] as const),
];

/** The last error, until the pod has passed the step that failed: a retry keeps the reason. */
function stepCause({ pod, history }: PodFacts, wait: Wait): string | undefined {
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
    (kind === failed.kind && kind !== "image" && kind !== "volumes" && endedAt !== undefined && !error);
  const later = records.slice(at + 1).filter((r) => !failed.container || r.container === failed.container);
  if (later.some(passed)) return undefined;
  const what = failed.kind === "hook" ? `postStart hook failed: ${failed.error}` : failed.error;
  return failed.container === undefined ? what : `${titleOf(pod, failed.container)}: ${what}`;
}

/** The cause if the pod is not blocked but not ready either. */
function unreadyCause(facts: PodFacts): string | undefined {
  const { status, phase } = facts;
  if (phase !== "syncing" || status === undefined) return undefined;
  const ended = statusesOf(status).find(({ state }) => state?.terminated && state.terminated.exitCode !== 0);
  const end = ended && terminationOf(ended);
  if (end) return endedBecause(facts, end);
  return conditionText(status, "Ready") ?? conditionText(status, "Initialized");
}

function endedBecause({ pod, kills, history }: PodFacts, ended: ContainerTermination): string {
  return hookCause(history.records, ended, pod) ?? terminationCause(ended, pod, kills);
}

/** A container whose postStart hook fails is killed: its exit code is meaningless. */
function hookCause(
  records: readonly StepRecord[],
  { container, end }: ContainerTermination,
  pod: PodFacts["pod"],
) {
  // Timestamps in the status have whole seconds.
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

/** The newest failure of a container, even if it was restarted since. */
function unstableCause(facts: PodFacts): string | undefined {
  const { status, now, phase } = facts;
  if (phase !== "syncing") return undefined;
  const newest = statusesOf(status)
    .flatMap((s) => terminationOf(s) ?? [])
    .filter(({ end }) => now - Date.parse(String(end.finishedAt)) < unstableMs)
    .sort((a, b) => Date.parse(String(b.end.finishedAt)) - Date.parse(String(a.end.finishedAt)))
    .find((ended) => isFailure(facts, ended));
  return newest && endedBecause(facts, newest);
}

/** A container that was killed may still exit with code 0. */
function isFailure({ kills, history, pod }: PodFacts, ended: ContainerTermination): boolean {
  const { exitCode, containerID } = ended.end;
  return (
    exitCode !== 0 ||
    kills.some(({ id }) => containerID?.endsWith(`://${id}`)) ||
    hookCause(history.records, ended, pod) !== undefined
  );
}
