import { type Health, healthy } from "../../base/component.ts";
import { type MonotonicTime, msBetween } from "../../base/time.ts";
import type { RuntimeCondition, StatusResponse } from "../../gen/runtime/v1/api_pb.js";

export interface RuntimeIdentity {
  /** E.g. "containerd". */
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}

/** The result of the last probe of the runtime. */
export type RuntimeState =
  | { readonly kind: "unknown" }
  | { readonly kind: "up"; readonly runtime: RuntimeIdentity; readonly status: StatusResponse }
  | { readonly kind: "not-ready"; readonly reason: string; readonly status: StatusResponse }
  | { readonly kind: "unavailable"; readonly reason: string };

/** How long the runtime may be unavailable before the node becomes NotReady: longer than a restart of the runtime takes. */
const DOWN_AFTER_MS = 30_000;

/** The state that a response of the runtime means. */
export function stateFrom(runtime: RuntimeIdentity, status: StatusResponse): RuntimeState {
  const ready = conditionOf(status, "RuntimeReady");
  if (ready?.status) return { kind: "up", runtime, status };
  return { kind: "not-ready", reason: describe("RuntimeReady", ready), status };
}

/** Whether pods can be run, as reported in the node's Ready condition. `lastUp` is when the runtime was last ready. */
export function runtimeHealth(
  state: RuntimeState,
  lastUp: MonotonicTime | undefined,
  now: MonotonicTime,
): Health {
  switch (state.kind) {
    case "up":
      return isDownTooLong(lastUp, now)
        ? unhealthy("container runtime is down: it has stopped responding")
        : healthy;
    case "not-ready":
      return unhealthy(`container runtime not ready: ${state.reason}`);
    case "unavailable":
      return isDownTooLong(lastUp, now) ? unhealthy(`container runtime is down: ${state.reason}`) : healthy;
    case "unknown":
      return unhealthy("container runtime status check may not have completed yet");
    default:
      return state satisfies never;
  }
}

/** Whether the pod network is ready: pods on the host's network run without it. */
export function networkHealth(state: RuntimeState, lastStatus: StatusResponse | undefined): Health {
  const status = state.kind === "up" || state.kind === "not-ready" ? state.status : lastStatus;
  if (!status) return unhealthy("network state unknown");
  const ready = conditionOf(status, "NetworkReady");
  if (ready?.status) return healthy;
  return unhealthy(`container runtime network not ready: ${describe("NetworkReady", ready)}`);
}

function isDownTooLong(lastUp: MonotonicTime | undefined, now: MonotonicTime): boolean {
  return lastUp === undefined || msBetween(lastUp, now) >= DOWN_AFTER_MS;
}

function conditionOf(status: StatusResponse, type: string): RuntimeCondition | undefined {
  return status.status?.conditions.find((condition) => condition.type === type);
}

function describe(type: string, condition: RuntimeCondition | undefined): string {
  if (!condition) return `the runtime does not report ${type}`;
  return `${type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}

function unhealthy(reason: string): Health {
  return { ok: false, reason };
}
