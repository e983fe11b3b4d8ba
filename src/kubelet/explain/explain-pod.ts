import { isImageReason } from "../../lib/model/image-reasons.ts";
import type { OomKill } from "../../lib/model/oom-kill.ts";
import type { Pod, PodStatus } from "../../lib/model/pod.ts";
import type { PodFailure } from "../../lib/model/pod-failure.ts";
import type { StepRecord } from "../../lib/model/pod-step.ts";
import { type PullProgress, pullDetail, pullText } from "../../lib/model/pull-progress.ts";
import type { PodHistory } from "../state/pod-sync-status.ts";
import { lastTermination, type ProbeKill, statusesOf, terminationText } from "./container-termination.ts";
import { causeOf, errorCause, failedProbe, resizeCause } from "./pod-cause.ts";
import type { ExplainedStep, PodExplanation } from "./pod-explanation.ts";
import { readCause } from "./reading/read-cause.ts";
import { awaitedPull, waitText } from "./wait-text.ts";

/** The information that explains why a pod is not ready. */
export interface PodInfo {
  readonly id: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly source: string;
  readonly nodeName: string;
  /** Undefined for an orphan. */
  readonly pod: Pod | undefined;
  readonly phase: "syncing" | "terminating" | "terminated";
  readonly blockedOn: { readonly text: string; readonly since: number } | undefined;
  readonly history: PodHistory;
  readonly status: PodStatus | undefined;
  readonly isReady: boolean;
  readonly failure: PodFailure | undefined;
  /** Its termination was not requested. */
  readonly terminatedByItself: boolean;
  /** Waiting reason and message by container. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
  readonly probeFailures: readonly {
    readonly kind: string;
    readonly container: string;
    readonly text: string;
    readonly exitCode?: number;
    readonly at: number;
    readonly times: number;
  }[];
  /** Containers that were killed for a failed probe, oldest first. */
  readonly kills: readonly ProbeKill[];
  /** Processes of containers that the kernel killed because memory ran out, by container ID. */
  readonly oomKills: ReadonlyMap<string, OomKill>;
  /** Containers that are still running, and how far their stop has progressed. */
  readonly running: readonly {
    readonly name: string;
    readonly stop?: { readonly endsAt: number; readonly inHook: boolean };
  }[];
  /** A line for each volume that is not mounted. */
  readonly volumes: readonly string[];
  readonly pulls: readonly PullProgress[];
  /** When the writing of the last status of a terminated API pod, or its deletion, became due; undefined if it is done, or for other sources. */
  readonly unwrittenSince: number | undefined;
  readonly now: number;
}

export function explainPod(info: PodInfo): PodExplanation {
  const { id, source, phase, status, history, isReady } = info;
  const { start } = history;
  const waitsFor = waitOf(info);
  const cause = causeOf(info, waitsFor);
  const reading = cause && readCause(cause);
  return {
    namespace: id.namespace,
    name: id.name,
    uid: id.uid,
    source,
    phase: phase === "terminating" ? "Terminating" : (status?.phase ?? "Unknown"),
    ready: isReady,
    seenAt: iso(history.startedAt),
    cause: reading?.sentence ?? null,
    raw: reading?.raw ?? null,
    try: reading?.step ?? null,
    failedAt: failedAtOf(info),
    waitsFor,
    details: detailsOf(info, waitsFor),
    ...(info.pulls.length > 0 && { pulls: pullsOf(info) }),
    lastError: lastErrorOf(info, waitsFor),
    start: start
      ? {
          readyAt: iso(start.readyAt),
          tookMs: start.tookMs,
          steps: start.steps.map(({ kind, ms }) => ({ step: kind, ms })),
        }
      : null,
    history: history.records.map((record) => explainedStep(record, info)),
    dropped: history.dropped,
  };
}

function waitOf(info: PodInfo): PodExplanation["waitsFor"] {
  const { blockedOn, history, unwrittenSince } = info;
  if (blockedOn) {
    const { kind, container, until } = history.current ?? { kind: "other" as const };
    return {
      step: kind,
      text: waitText(info, info.pulls) ?? blockedOn.text,
      ...(container !== undefined && { container }),
      since: iso(blockedOn.since),
      ...(until !== undefined && { until: iso(until) }),
    };
  }
  if (unwrittenSince === undefined) return null;
  const text = "waiting for the API server to accept the last status and delete the pod";
  return { step: "status", text, since: iso(unwrittenSince) };
}

/** The lines that the cause does not state. */
function detailsOf(info: PodInfo, wait: PodExplanation["waitsFor"]): string[] {
  const { waiting, volumes } = info;
  const lines: string[] = [];
  switch (wait?.step) {
    case "startup":
    case "readiness":
      lines.push(...probeLines(info, wait));
      break;
    case "stop":
      lines.push(...stopLines(info));
      break;
    case "volumes":
      for (const error of volumes)
        if (!wait.text.endsWith(error))
          lines.push(readCause(errorCause(info, { kind: "volumes", error })).sentence);
      break;
    default:
  }
  lines.push(...pullLines(info));
  const resize = resizeCause(info.status);
  if (resize !== undefined) lines.push(resize);
  for (const [container, { reason, message }] of waiting)
    if (container !== wait?.container) lines.push(waitingLine(info, container, reason, message));
  return lines;
}

/** The one that the pod waits for comes first. */
function pullsOf(info: PodInfo): PullProgress[] {
  const awaited = awaitedPull(info, info.pulls);
  return [...(awaited ? [awaited] : []), ...info.pulls.filter((pull) => pull !== awaited)];
}

function pullLines(info: PodInfo): string[] {
  const awaited = awaitedPull(info, info.pulls);
  return pullsOf(info).flatMap((pull) => {
    const detail = pullDetail(pull);
    if (pull === awaited) return detail ?? [];
    return detail ? `${pullText(pull)}: ${detail}` : pullText(pull);
  });
}

function waitingLine(info: PodInfo, container: string, reason: string, message: string): string {
  const kind = isImageReason(reason) ? "image" : "container";
  const { sentence } = readCause(errorCause(info, { kind, container, error: message }));
  return `${container}: ${reason}${message && `: ${sentence}`}`;
}

/** The other probes that fail; a probe that neither passes nor fails is not a cause. */
function probeLines(info: PodInfo, wait: { step: string; container?: string }): string[] {
  const isCause = ({ kind, container }: { kind: string; container: string }) =>
    kind === wait.step && container === wait.container;
  const lines = info.probeFailures
    .filter((failure) => !isCause(failure))
    .map((failure) => readCause(failedProbe(info, failure)).sentence);
  return info.probeFailures.some(isCause)
    ? lines
    : [`${wait.step} probe of ${wait.container} has neither passed nor failed yet`, ...lines];
}

/** When a pod failed without a request to terminate it; null for any other. */
function failedAtOf({ status, failure, terminatedByItself, history }: PodInfo): string | null {
  if (status?.phase !== "Failed" || !(failure || terminatedByItself)) return null;
  const ends = statusesOf(status).map(({ state }) => Date.parse(String(state?.terminated?.finishedAt)));
  const last = Math.max(...ends.filter((at) => !Number.isNaN(at)));
  if (Number.isFinite(last)) return iso(last);
  return status.startTime ? iso(Date.parse(String(status.startTime))) : iso(history.startedAt);
}

function stopLines({ running, now }: PodInfo): string[] {
  if (running.length === 0) return ["no container is running"];
  return running.map(({ name, stop }) => {
    if (!stop) return `${name} is still running; it is stopped after the others`;
    const left = stop.endsAt - now;
    const grace = !Number.isFinite(left)
      ? "the runtime did not stop it, retrying"
      : left > 0
        ? `${seconds(left)} of its grace period are left`
        : "its grace period is over";
    return `${name} is still running${stop.inHook ? ", in its preStop hook" : ""}; ${grace}`;
  });
}

function lastErrorOf(info: PodInfo, wait: PodExplanation["waitsFor"]): PodExplanation["lastError"] {
  const { probeFailures, history } = info;
  if (wait?.step === "readiness" || wait?.step === "startup") {
    const latest = [...probeFailures].sort((a, b) => b.at - a.at)[0];
    if (latest) return { text: latest.text, at: iso(latest.at) };
  }
  if (wait?.step === "backoff") {
    const end = lastTermination(info.status, wait.container)?.end;
    if (end?.finishedAt)
      return { text: `${wait.container} ${terminationText(end)}`, at: String(end.finishedAt) };
  }
  const failed = history.records.findLast(({ error }) => error !== undefined);
  return failed?.error === undefined
    ? null
    : { text: failed.error, at: iso(failed.endedAt ?? failed.startedAt) };
}

function explainedStep(record: StepRecord, info: PodInfo): ExplainedStep {
  const { kind, text, container, startedAt, endedAt, until, error } = record;
  return {
    step: kind,
    text,
    ...(container !== undefined && { container }),
    startedAt: iso(startedAt),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    ms: Math.max(0, (endedAt ?? info.now) - startedAt),
    ...(until !== undefined && { until: iso(until) }),
    ...(error !== undefined && {
      error,
      problem: readCause(errorCause(info, { ...record, error })).sentence,
    }),
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** A duration in seconds, with one decimal below ten seconds. */
function seconds(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
}
