import { type FoldedStep, foldedSteps } from "../kubelet/explain/folded-steps.ts";
import type { PodExplanation } from "../kubelet/explain/pod-explanation.ts";
import type { Explanations } from "../kubelet/explain/pod-explanations.ts";
import { printable } from "../lib/base/terminal-text.ts";
import { withoutRepeats } from "./without-repeats.ts";

export interface LineOptions {
  /** Each step on a line of its own, instead of equal ones as one; and all of them. */
  readonly allSteps?: boolean;
  /** Characters in a line of the screen. */
  readonly columns?: number;
}

/** The explanation of a pod fits on a screen of this height. */
const screenLines = 24;
/** The first line has room for this much. */
const longestFirstLine = 160;

/** The explanations as text: for each pod its state, its cause with what to try, and a timeline. */
export function explanationLines({ at, node, pods }: Explanations, options: LineOptions = {}): string[] {
  if (pods.length === 0) return [`all pods of ${node} are ready, and none has failed in the last hour`];
  const now = Date.parse(at);
  return pods.flatMap((pod, i) => [...(i > 0 ? [""] : []), ...podLines(pod, now, options)]);
}

function podLines(
  pod: PodExplanation,
  now: number,
  { allSteps = false, columns = 80 }: LineOptions,
): string[] {
  const { cause } = pod;
  const first = `${pod.namespace}/${pod.name}  ${pod.ready ? "Ready" : pod.phase}${cause === null ? "" : `: ${cause}`}`;
  const retry = retryText(pod, now);
  const fits = retry !== "" && first.length + retry.length <= longestFirstLine;
  const raw = pod.raw === null ? [] : [`${reportedAt(pod, now)}: ${pod.raw}`];
  const head = [
    `${first}${fits ? retry : ""}`,
    ...(pod.try === null ? [] : [`  try: ${pod.try}`]),
    ...[...raw, ...stateLines(pod, now)].map((line) => `  ${line}`),
    ...pod.details.filter((line) => line !== cause).map((line) => `  - ${line}`),
    originLine(pod),
  ].map(printable);
  // Repeated texts are omitted last: commands are copied as they are.
  const once = (lines: readonly string[]) => withoutRepeats(lines, (line) => !line.startsWith("  try: "));
  if (allSteps) {
    const steps = pod.history.flatMap((step) => foldedSteps([step]));
    return [...once(head), ...stepTable(steps, pod, now)];
  }
  const lines = once([...head, ...stepTable(foldedSteps(pod.history), pod, now)]);
  return fitting(lines, head.length, columns);
}

/** Omits the oldest steps that the screen has no room for. */
function fitting(lines: readonly string[], headLength: number, columns: number): string[] {
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / columns));
  const head = lines.slice(0, headLength);
  const steps = lines.slice(headLength);
  // One line is for the note, one for the prompt.
  let room = screenLines - 2 - head.reduce((sum, line) => sum + rowsOf(line), 0);
  let kept = 0;
  while (kept < steps.length) {
    room -= rowsOf(steps[steps.length - 1 - kept]!);
    if (room < 0) break;
    kept++;
  }
  const omitted = steps.length - kept;
  if (omitted === 0) return [...lines];
  const note = `  … ${omitted} earlier ${omitted === 1 ? "step" : "steps"}, shown by --all-steps`;
  return [...head, note, ...steps.slice(omitted)];
}

/** "; next attempt in 8.0 s" */
function retryText({ waitsFor }: PodExplanation, now: number): string {
  const ms = waitsFor?.until === undefined ? 0 : Date.parse(waitsFor.until) - now;
  return ms > 0 ? `; next attempt in ${duration(ms)}` : "";
}

function reportedAt({ raw, lastError }: PodExplanation, now: number): string {
  if (!lastError || raw === null || !lastError.text.includes(raw)) return "reported";
  return `reported ${duration(now - Date.parse(lastError.at))} ago`;
}

function stateLines(pod: PodExplanation, now: number): string[] {
  const { waitsFor, lastError, start, ready, failedAt, goneAt, cause, raw } = pod;
  const lines: string[] = [];
  if (waitsFor) {
    const { step, until, since, text } = waitsFor;
    const time = duration(now - Date.parse(since));
    const isKnown = cause?.includes(text) || (raw !== null && text.includes(raw));
    if (step === "backoff" || until !== undefined)
      lines.push(
        `in back-off for ${time}${until === undefined ? "" : `, next attempt at ${clockTime(until)}${inFuture(until, now)}`}`,
      );
    else lines.push(`waiting for ${time}${isKnown ? "" : `: ${text}`}${probedAt(pod, now)}`);
  } else if (failedAt !== null) {
    const removed = goneAt === undefined ? "" : `, removed at ${clockTime(goneAt)}`;
    lines.push(`failed ${duration(now - Date.parse(failedAt))} ago${removed}`);
  } else if (pod.phase === "Succeeded") lines.push("all of its containers have completed");
  else if (!ready && cause === null) lines.push("not blocked");
  if (start) lines.push(startLine(start));
  else if (ready) lines.push("was already running when this kubelet started");
  if (lastError && !ready && isUnknown(lastError.text, pod))
    lines.push(`last error, ${duration(now - Date.parse(lastError.at))} ago: ${lastError.text}`);
  return lines;
}

/** ", last failure 2.0 s ago" */
function probedAt({ waitsFor, lastError }: PodExplanation, now: number): string {
  if (!lastError || (waitsFor?.step !== "readiness" && waitsFor?.step !== "startup")) return "";
  return `, last failure ${duration(now - Date.parse(lastError.at))} ago`;
}

/** An error that is neither the cause nor what it was read from. */
function isUnknown(error: string, { cause, raw, waitsFor, history }: PodExplanation): boolean {
  // How a container exited is the cause of its back-off, or a consequence of it.
  if (waitsFor?.step === "backoff") return false;
  if (raw !== null && error.includes(raw)) return false;
  const problem = history.findLast((step) => step.error === error)?.problem;
  const shown = `${cause} ${raw} ${waitsFor?.text}`;
  return ![error.trim(), problem].some((text) => text !== undefined && shown.includes(text));
}

/** "started in 1.8 s: volumes 0.1 s, sandbox 0.6 s" */
function startLine({ tookMs, steps }: NonNullable<PodExplanation["start"]>): string {
  const parts = steps.map(({ step, ms }) => `${step} ${duration(ms)}`);
  const rest = tookMs - steps.reduce((sum, { ms }) => sum + ms, 0);
  if (rest >= 50) parts.push(`other ${duration(rest)}`);
  return `started in ${duration(tookMs)}${parts.length > 0 ? `: ${parts.join(", ")}` : ""}`;
}

function originLine({ source, uid, seenAt, dropped }: PodExplanation): string {
  return `  ${source}, uid ${uid}, added at ${clockTime(seenAt)}${dropped > 0 ? `; ${dropped} earlier steps were dropped` : ""}`;
}

type Row = readonly [after: string, took: string, step: string, text: string];

function stepRow(folded: FoldedStep, { seenAt, cause }: PodExplanation, now: number): Row {
  const { attempts, isBackOff, step } = folded;
  const [first, last] = [attempts[0]!, attempts.at(-1)!];
  const ms = attempts.reduce((sum, attempt) => sum + attempt.ms, 0);
  return [
    `+${duration(Date.parse(first.startedAt) - Date.parse(seenAt))}`,
    last.endedAt === undefined ? `${duration(ms)} …` : duration(ms),
    isBackOff ? "back-off" : step,
    `${folded.text}${countText(folded, now)}${problemText(folded, cause)}`,
  ];
}

/** ": 5 attempts, last 4.0 s ago" */
function countText({ attempts, failed }: FoldedStep, now: number): string {
  const { length } = attempts;
  if (length === 1) return failed > 0 ? ": failed" : "";
  if (failed === 0) return `: ${length} times`;
  return `: ${length} attempts, last ${duration(now - Date.parse(attempts.at(-1)!.startedAt))} ago`;
}

/** An error that is the cause is not repeated. */
function problemText({ problem, text }: FoldedStep, cause: string | null): string {
  const isUnknown = problem !== undefined && !text.includes(problem) && !cause?.includes(problem);
  return isUnknown ? `: ${problem}` : "";
}

function stepTable(steps: readonly FoldedStep[], pod: PodExplanation, now: number): string[] {
  const rows = steps.map((step) => stepRow(step, pod, now));
  const [a = 0, t = 0, k = 0] = [0, 1, 2].map((column) =>
    Math.max(...rows.map((row) => row[column]!.length)),
  );
  return rows.map(([after, took, step, text]) =>
    printable(`  ${after.padStart(a)}  ${took.padStart(t)}  ${step.padEnd(k)}  ${text}`),
  );
}

function clockTime(iso: string): string {
  return iso.slice(11, 19);
}

function inFuture(iso: string, now: number): string {
  const ms = Date.parse(iso) - now;
  return ms > 0 ? ` (in ${duration(ms)})` : "";
}

/** 0.03 s, 1.8 s, 12 s, 3m12s, 5h10m. */
export function duration(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${s.toFixed(2)} s`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 120) return `${minutes}m${String(Math.floor(s % 60)).padStart(2, "0")}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m`;
}
