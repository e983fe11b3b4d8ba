import type { ExplainedStep, PodExplanation } from "../kubelet/explain/pod-explanation.ts";
import type { Explanations } from "../kubelet/explain/pod-explanations.ts";
import { printable } from "../lib/base/terminal-text.ts";

/** The explanations as text: for each pod its state, what it is blocked on, and a timeline. */
export function explanationLines({ at, node, pods }: Explanations): string[] {
  if (pods.length === 0) return [`all pods of ${node} are ready, and none has failed in the last hour`];
  const now = Date.parse(at);
  return pods.flatMap((pod, i) => [...(i > 0 ? [""] : []), ...podLines(pod, now)]).map(printable);
}

function podLines(pod: PodExplanation, now: number): string[] {
  const { cause } = pod;
  return [
    `${pod.namespace}/${pod.name}  ${pod.ready ? "Ready" : pod.phase}${cause === null ? "" : `: ${cause}`}`,
    ...stateLines(pod, now).map((line) => `  ${line}`),
    ...pod.details.filter((line) => line !== cause).map((line) => `  - ${line}`),
    ...timeline(pod),
  ];
}

function stateLines(pod: PodExplanation, now: number): string[] {
  const { waitsFor, lastError, start, ready, failedAt, goneAt } = pod;
  const lines: string[] = [];
  if (waitsFor) {
    const until =
      waitsFor.until === undefined
        ? ""
        : `, next attempt at ${clockTime(waitsFor.until)}${inFuture(waitsFor.until, now)}`;
    lines.push(`waiting for ${duration(now - Date.parse(waitsFor.since))}${until}: ${waitsFor.text}`);
  } else if (failedAt !== null) {
    const removed = goneAt === undefined ? "" : `, removed at ${clockTime(goneAt)}`;
    lines.push(`failed ${duration(now - Date.parse(failedAt))} ago${removed}`);
  } else if (pod.phase === "Succeeded") lines.push("all of its containers have completed");
  else if (!ready && pod.cause === null) lines.push("not blocked");
  if (start) lines.push(startLine(start));
  else if (ready) lines.push("was already running when this kubelet started");
  if (lastError && !ready && !`${pod.cause} ${waitsFor?.text}`.includes(lastError.text))
    lines.push(`last error, ${duration(now - Date.parse(lastError.at))} ago: ${lastError.text}`);
  return lines;
}

/** "started in 1.8 s: volumes 0.1 s, sandbox 0.6 s" */
function startLine({ tookMs, steps }: NonNullable<PodExplanation["start"]>): string {
  const parts = steps.map(({ step, ms }) => `${step} ${duration(ms)}`);
  const rest = tookMs - steps.reduce((sum, { ms }) => sum + ms, 0);
  if (rest >= 50) parts.push(`other ${duration(rest)}`);
  return `started in ${duration(tookMs)}${parts.length > 0 ? `: ${parts.join(", ")}` : ""}`;
}

function timeline({ history, seenAt, dropped, source, uid }: PodExplanation): string[] {
  const startedAt = Date.parse(seenAt);
  const rows = history.map((step) => ({
    after: `+${duration(Date.parse(step.startedAt) - startedAt)}`,
    took: step.endedAt === undefined ? `${duration(step.ms)} …` : duration(step.ms),
    step,
  }));
  const widest = (pick: (row: (typeof rows)[number]) => string) =>
    Math.max(...rows.map((row) => pick(row).length));
  const [a, t, k] = [widest((r) => r.after), widest((r) => r.took), widest((r) => r.step.step)];
  return [
    `  ${source}, uid ${uid}, added at ${clockTime(seenAt)}${dropped > 0 ? `; ${dropped} earlier steps were dropped` : ""}`,
    ...rows.map(
      ({ after, took, step }) =>
        `  ${after.padStart(a)}  ${took.padStart(t)}  ${step.step.padEnd(k)}  ${describeStep(step)}`,
    ),
  ];
}

function describeStep({ text, error }: ExplainedStep): string {
  return error === undefined || text.includes(error) ? text : `${text}: failed: ${error}`;
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
