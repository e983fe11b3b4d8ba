import type { PodDetail, PodSummary } from "../../protocol.ts";
import { Age } from "../parts/basics.tsx";
import { useTimeText } from "../parts/hooks.ts";
import { count, formatAge } from "../state/format.ts";
import { isDone } from "../state/pod-filter.ts";
import { podTone } from "./pod-row.tsx";

/** Why the pod is not ready, and the next thing to try. */
export function PodExplanation({ pod, detail }: { pod: PodSummary; detail: PodDetail }) {
  const { cause, raw, details, waitsFor, lastError, next, pull } = detail.explanation;
  return (
    <section class={`why ${podTone(pod)}`} aria-label="State">
      <p class="cause">{cause ?? summary(pod)}</p>
      {next && (
        <p>
          <strong>Try:</strong> {next}
        </p>
      )}
      {details
        .filter((line) => line !== cause)
        .map((line) => (
          <p key={line}>{line}</p>
        ))}
      {waitsFor && (
        <p>
          {waitsFor.text === "back-off" ? "In back-off for" : "In progress for"} <Age at={waitsFor.since} />
          {waitsFor.text !== "" && waitsFor.text !== "back-off" && `: ${waitsFor.text}`}
          {waitsFor.until !== null && <Until at={waitsFor.until} />}
        </p>
      )}
      {pull && <progress aria-label={`Pull of ${pull.image}`} value={pull.done} max={pull.total} />}
      {lastError && lastError.text !== cause && (
        <p class="muted">
          Last error, <Age at={lastError.at} /> ago: {lastError.text}
        </p>
      )}
      {raw && <p class="muted raw">Reported: {raw}</p>}
    </section>
  );
}

function summary(pod: PodSummary): string {
  if (isDone(pod)) return "Completed: all containers exited with code 0.";
  if (pod.ready)
    return pod.totalContainers === 1
      ? "Ready: its container is running."
      : `Ready: all ${count(pod.totalContainers, "container")} are running.`;
  return pod.status;
}

function Until({ at }: { at: number }) {
  const text = useTimeText((now) => (at > now ? `, next attempt in ${formatAge(at - now)}` : ""));
  return <>{text}</>;
}
