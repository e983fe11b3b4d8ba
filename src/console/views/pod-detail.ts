import type { ExplainedStep } from "../../kubelet/explain/pod-explanation.ts";
import type { Pod, PodCondition, Volume } from "../../lib/model/pod.ts";
import { hasFailed, isBackOff, stepTitle } from "../../lib/model/step-attempts.ts";
import type { ConsoleChanges, ConsolePod } from "../console-node.ts";
import type {
  Condition,
  ContainerDetail,
  Explanation,
  PodDetail,
  TimelineStep,
  VolumeDetail,
} from "../protocol.ts";
import { timeOf } from "./amounts.ts";
import { type ContainerFacts, containerDetails } from "./container-detail.ts";
import { nextStep } from "./next-step.ts";
import { podSummary } from "./pod-summary.ts";

export interface PodFacts extends Pick<ContainerFacts, "probes" | "usage"> {
  readonly shown: ConsolePod;
  readonly revision: number;
  readonly now: number;
  readonly nodeName: string;
  readonly events: PodDetail["events"];
  readonly changes: ConsoleChanges | undefined;
  readonly whyReadOnly: string;
}

export function podDetail(facts: PodFacts): PodDetail {
  const { shown, revision, now, nodeName, events, probes, usage } = facts;
  const { pod, status, explanation } = shown;
  const { start, dropped, history } = explanation;
  const owner = pod?.metadata.ownerReferences?.find(({ controller }) => controller);
  const hint = deleteHint(shown, facts);
  return {
    revision,
    now,
    summary: podSummary(shown, revision),
    explanation: explanationOf(shown),
    timeline: history.map((step) => timelineStep(step, explanation.cause)),
    droppedSteps: dropped,
    start: start && { readyAt: Date.parse(start.readyAt), tookMs: start.tookMs, steps: start.steps },
    containers: pod
      ? containerDetails({ pod, status, probes, usage }).map((detail) => withoutRaw(detail, explanation.raw))
      : [],
    volumes: (pod?.spec.volumes ?? []).map((volume) => volumeDetail(volume, shown)),
    conditions: (status?.conditions ?? []).map(condition),
    events,
    annotations: pod?.metadata.annotations ?? {},
    nodeName,
    priority: pod?.spec.priority ?? null,
    restartPolicy: pod?.spec.restartPolicy ?? "Always",
    hostNetwork: pod?.spec.hostNetwork ?? false,
    serviceAccount: pod?.spec.serviceAccountName ?? "",
    controlledBy: owner ? `${owner.kind}/${owner.name}` : "",
    mayDelete: hint === "",
    deleteHint: hint,
  };
}

/** The explanation has the text of the runtime: the container does not repeat it. */
function withoutRaw(detail: ContainerDetail, raw: string | null): ContainerDetail {
  const once = (message: string) => (raw !== null && message.includes(raw) ? "" : message);
  const { last } = detail;
  return {
    ...detail,
    message: once(detail.message),
    last: last && { ...last, message: once(last.message) },
  };
}

function timelineStep(step: ExplainedStep, cause: string | null): TimelineStep {
  const failed = hasFailed(step);
  const problem = failed ? (step.problem ?? null) : null;
  return {
    step: step.step,
    text: stepTitle(step),
    container: step.container ?? null,
    startedAt: Date.parse(step.startedAt),
    endedAt: timeOf(step.endedAt),
    until: timeOf(step.until),
    isBackOff: isBackOff(step),
    failed,
    error: problem !== null && cause?.includes(problem) ? null : problem,
  };
}

/** Each text stands once: the reading of an error replaces the error. */
function explanationOf(shown: ConsolePod): Explanation {
  const { cause, raw, details, lastError, pulls = [], waitsFor, history } = shown.explanation;
  const read = history.find(({ error }) => error !== undefined && error === lastError?.text)?.problem;
  const isKnown = (text: string) =>
    [cause, raw].some((known) => known !== null && (known.includes(text) || text.includes(known)));
  const isUnknown = lastError !== null && waitsFor?.step !== "backoff" && !isKnown(lastError.text.trim());
  const pull = pulls.find(({ bytes }) => bytes !== null);
  return {
    cause,
    raw,
    details: details.filter((line) => line !== cause),
    lastError:
      isUnknown && !(read && cause?.includes(read))
        ? { text: read ?? lastError.text, at: Date.parse(lastError.at) }
        : null,
    waitsFor: waitsFor && {
      step: waitsFor.step,
      text: isBackOff(waitsFor) ? "back-off" : isKnown(waitsFor.text) ? "" : waitsFor.text,
      container: waitsFor.container ?? null,
      since: Date.parse(waitsFor.since),
      until: timeOf(waitsFor.until),
    },
    pull: pull?.bytes ? { image: pull.image, ...pull.bytes } : null,
    next: shown.explanation.try ?? nextStep(shown),
  };
}

function condition({ type, status, reason, message, lastTransitionTime }: PodCondition): Condition {
  return {
    type,
    status: status === "True" || status === "False" ? status : "Unknown",
    reason: reason ?? "",
    message: message ?? "",
    since: timeOf(lastTransitionTime),
  };
}

/** The type of a volume is the name of its source field. */
function volumeDetail(volume: Volume, { explanation }: ConsolePod): VolumeDetail {
  const { name, ...sources } = volume;
  const [field = "emptyDir", source] = Object.entries(sources).find(([, value]) => value !== undefined) ?? [];
  const waits = explanation.waitsFor?.step === "volumes";
  const lines = waits ? [explanation.waitsFor?.text ?? "", ...explanation.details] : [];
  return {
    name,
    kind: `${field.charAt(0).toUpperCase()}${field.slice(1)}`,
    detail: referenceOf(source as Record<string, unknown> | undefined),
    problem: lines.find((line) => mentions(line, name)) ?? null,
  };
}

/** The name of what a volume refers to; never its content. */
function referenceOf(source: Record<string, unknown> | undefined): string {
  for (const field of ["name", "secretName", "claimName", "path", "driver", "reference", "medium"]) {
    const value = source?.[field];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

function mentions(line: string, name: string): boolean {
  return line.split(/[^\w.-]+/).includes(name);
}

/** Why the pod cannot be deleted from here; "" if it can. */
export function deleteHint(
  { pod, explanation }: ConsolePod,
  { changes, whyReadOnly }: { readonly changes: ConsoleChanges | undefined; readonly whyReadOnly: string },
): string {
  if (!changes) return whyReadOnly;
  if (!pod) return "the pod is in no pod source: the kubelet is already removing it";
  switch (explanation.source) {
    case "applied":
      return "";
    case "api":
      return changes.deleteApiPod ? "" : "the pod belongs to a cluster: delete it with kubectl";
    case "http":
      return "the pod comes from the manifest URL of the kubelet: remove it there";
    default:
      return "the pod comes from a file in the manifest directory of the kubelet: remove the file";
  }
}

/** The applied manifest that has the pod; undefined if there is none. */
export function manifestOf(changes: ConsoleChanges, pod: Pod): string | undefined {
  return changes.manifests.list().find(({ pods }) => pods.some((p) => p.metadata.uid === pod.metadata.uid))
    ?.name;
}
