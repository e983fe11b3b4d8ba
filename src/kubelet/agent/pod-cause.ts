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

/** For so long after a container has failed, its pod is explained also while it is ready. As long as a back-off is kept. */
const unstableMs = 600_000;

/** Why a pod is not ready, has failed or does not stay up, in one line; null if there is nothing to explain. */
export function causeOf(facts: PodFacts, wait: PodExplanation["waitsFor"]): string | null {
  const { isReady, status } = facts;
  const judged = verdictCause(facts);
  if (judged !== undefined) return judged;
  if (status?.phase === "Failed" && facts.endedByItself) return failedCause(facts);
  const blocked = isReady || !wait ? undefined : waitCause(facts, wait);
  if (blocked !== undefined) return blocked;
  // What failed before is still the cause while it is tried again.
  return unstableCause(facts) ?? (isReady ? null : (wait?.text ?? unreadyCause(facts) ?? null));
}

/** Refused, evicted, out of time: the first verdict counts, whatever the containers did. */
function verdictCause({ verdict, status, pod }: PodFacts): string | undefined {
  const judged = verdict ?? (status?.phase === "Failed" ? status : undefined);
  if (!judged?.reason) return undefined;
  const { activeDeadlineSeconds } = pod?.spec ?? {};
  const detail =
    judged.reason === "DeadlineExceeded" && activeDeadlineSeconds != null
      ? `activeDeadlineSeconds is ${activeDeadlineSeconds}`
      : verdict?.detail;
  return [judged.reason, judged.message, detail].filter(Boolean).join(": ");
}

function failedCause(facts: PodFacts): string | null {
  const { status } = facts;
  const ends = statusesOf(status).flatMap((s) => (s.state?.terminated ? (terminationOf(s) ?? []) : []));
  // The first to fail is what the others were ended for.
  const [first] = ends
    .filter(({ end }) => end.exitCode !== 0)
    .sort((a, b) => Date.parse(String(a.end.finishedAt)) - Date.parse(String(b.end.finishedAt)));
  return first ? endedBecause(facts, first) : (status?.message ?? null);
}

/** Undefined if nothing went wrong with what is waited for. */
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

/** The order in which a pod gets through its steps. A pass that is repeated begins with the first one again. */
const order: readonly StepKind[] = [
  ...(["admission", "network", "volumes", "turn", "sandbox", "image", "container", "hook", "init"] as const),
  ...(["backoff", "startup", "readiness", "gate", "stop", "unmount", "remove", "status", "other"] as const),
];

/** What went wrong the last time, as long as the pod has not got beyond that: a retry does not make the reason go away. */
function stepCause({ pod, history }: PodFacts, wait: Wait): string | undefined {
  const { container, step, text } = wait;
  // Volumes and gates have the reason in the text.
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

/** Nothing is to be done for the pod, and yet it is not ready. */
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

/** A container whose postStart hook fails is killed: its own exit code says nothing. */
function hookCause(
  records: readonly StepRecord[],
  { container, end }: ContainerTermination,
  pod: PodFacts["pod"],
) {
  // Times of the status have no fractions of a second.
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

/** The newest failure of a container, also if it was restarted since. */
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

/** One that was killed may still have ended well. */
function isFailure({ kills, history, pod }: PodFacts, ended: ContainerTermination): boolean {
  const { exitCode, containerID } = ended.end;
  return (
    exitCode !== 0 ||
    kills.some(({ id }) => containerID?.endsWith(`://${id}`)) ||
    hookCause(history.records, ended, pod) !== undefined
  );
}
