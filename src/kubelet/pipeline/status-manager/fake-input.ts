import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome } from "../../state/probe-results.ts";
import { type ApiPodStatus, isoSeconds } from "./api-types.ts";
import { podStatus } from "./status.ts";
import { defaultStatusGates, type StatusInput } from "./status-input.ts";

/** For tests: the time at which their pods started. */
export const at = Date.UTC(2026, 0, 1);
export const iso = isoSeconds;

/** For tests: the status of a pod on a node with default input. */
export function statusOf(
  pod: Pod,
  observed: ObservedPod | undefined,
  more: Partial<StatusInput> = {},
): ApiPodStatus {
  return podStatus({
    pod,
    observed,
    waiting: new Map(),
    workerPhase: "syncing",
    probe: () => undefined,
    hostIPs: ["192.0.2.1", "2001:db8::1"],
    runtimeName: "containerd",
    startTime: wallTime(at),
    now: wallTime(at + 5000),
    previous: undefined,
    recursiveReadOnly: false,
    gates: defaultStatusGates,
    ...more,
  });
}

/** For tests: probe results written as { "startup a-0": "success" }. */
export function probed(results: Record<string, ProbeOutcome>): Pick<StatusInput, "probe"> {
  return { probe: (kind: ProbeKind, id: ContainerId) => results[`${kind} ${id}`] };
}
