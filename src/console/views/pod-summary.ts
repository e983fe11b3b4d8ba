import { summarizeContainers } from "../../lib/model/container-summary.ts";
import { isCritical } from "../../lib/model/critical-pod.ts";
import { podQos } from "../../lib/model/qos.ts";
import type { ConsolePod } from "../console-node.ts";
import type { Health, PodSummary } from "../protocol.ts";
import { timeOf } from "./amounts.ts";

/** A pod in the list. */
export function podSummary(shown: ConsolePod, revision: number): PodSummary {
  const { pod, status, explanation, terminating } = shown;
  const phase = terminating ? "Terminating" : (status?.phase ?? "Unknown");
  const { ready, total, restarts, reason } = summarizeContainers(
    { spec: pod?.spec ?? { containers: [] }, ...(status && { status }) },
    status?.reason || (status?.phase ?? "Unknown"),
  );
  const { raw, waitsFor } = explanation;
  return {
    uid: shown.uid,
    namespace: shown.namespace,
    name: shown.name,
    source: explanation.source,
    phase,
    status: terminating ? "Terminating" : reason,
    health: healthOf(shown),
    ready: explanation.ready,
    readyContainers: ready,
    totalContainers: total,
    restarts,
    ip: status?.podIP ?? "",
    startedAt: timeOf(status?.startTime),
    createdAt: timeOf(pod?.metadata.creationTimestamp) ?? Date.parse(explanation.seenAt),
    critical: pod !== undefined && isCritical(pod),
    qosClass: status?.qosClass ?? (pod ? podQos(pod) : ""),
    labels: pod?.metadata.labels ?? {},
    cause: explanation.cause,
    waitsFor: waitsFor && {
      text: raw !== null && waitsFor.text.includes(raw) ? "back-off" : waitsFor.text,
      since: Date.parse(waitsFor.since),
      until: timeOf(waitsFor.until),
    },
    revision,
  };
}

/** Orderly starts and stops are not errors; a start that failed once is. */
function healthOf({ status, explanation, terminating }: ConsolePod): Health {
  if (status?.phase === "Failed" || explanation.failedAt !== null) return "error";
  if (explanation.ready || status?.phase === "Succeeded") return "ok";
  if (terminating) return "warning";
  return explanation.waitsFor?.step === "backoff" || explanation.lastError !== null ? "error" : "warning";
}
