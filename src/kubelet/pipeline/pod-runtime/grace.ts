import { readContainerInfo } from "../../../lib/model/labels.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { KillCause } from "./plan/pod-plan.ts";

/** The minimum grace period of a container. */
export const minGraceSeconds = 2;
const defaultGraceSeconds = 30;

type StoppedContainer = Pick<ObservedContainer, "name" | "annotations">;

/**
 * The grace period of a container, including its preStop hook. In order of precedence: the caller's override, the deletionGracePeriodSeconds
 * of the pod, the terminationGracePeriodSeconds of the failed probe, that of the pod spec. If the pod is unknown, the values that were
 * recorded when the container was created apply. 0 means that the container is stopped without running the hook, as when all
 * containers of a pod are restarted.
 */
export function graceSecondsOf(
  pod: Pod | undefined,
  container: StoppedContainer,
  options: { override?: number; cause?: KillCause } = {},
): number {
  if (options.override !== undefined) return Math.max(0, options.override);
  if (options.cause === "restart-all") return 0;
  const { deletion, spec } = pod ? graceOfPod(pod) : recordedGrace(container);
  return Math.max(0, deletion ?? probeGrace(pod, container.name, options.cause) ?? spec);
}

function graceOfPod({ metadata, spec }: Pod) {
  return {
    deletion: metadata.deletionGracePeriodSeconds,
    spec: spec.terminationGracePeriodSeconds ?? defaultGraceSeconds,
  };
}

function recordedGrace({ annotations }: StoppedContainer) {
  const info = readContainerInfo(annotations);
  return {
    deletion: info.deletionGracePeriodSeconds,
    spec: info.terminationGracePeriodSeconds ?? minGraceSeconds,
  };
}

function probeGrace(pod: Pod | undefined, name: string, cause: KillCause | undefined): number | undefined {
  const container = pod && specOf(pod, name);
  if (cause === "startup-probe") return container?.startupProbe?.terminationGracePeriodSeconds;
  if (cause === "liveness-probe") return container?.livenessProbe?.terminationGracePeriodSeconds;
  return undefined;
}

export function specOf(pod: Pod, name: string): Container | undefined {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((c) => c.name === name);
}
