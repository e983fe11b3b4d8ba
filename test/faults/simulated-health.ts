import type { AttemptResult } from "../../src/kubelet/pods/probes/attempt-result.ts";
import type { Prober } from "../../src/kubelet/pods/probes/prober.ts";
import type { ProbeKind, ProbeResults } from "../../src/kubelet/state/probe-results.ts";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import { abortError } from "../../src/lib/base/errors.ts";
import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";

export type Health = "success" | "failure" | "error";

const startsAfterMs = 400;
const attemptResults: Record<Health, AttemptResult> = {
  success: { kind: "success", output: "" },
  failure: { kind: "failure", output: "" },
  error: { kind: "error", state: "unknown", message: "" },
};

/** A probe with thresholds of 1; its command names its kind for the simulation. */
export function probe(kind: ProbeKind) {
  return { exec: { command: [kind] }, periodSeconds: 1, successThreshold: 1, failureThreshold: 1 };
}

export interface SimulatedHealthOptions {
  clock: Clock;
  isRunning(id: ContainerId): boolean;
  onResult(kind: ProbeKind, id: ContainerId, health: Health): void;
}

/** The results of probes of running containers: success, unless set otherwise. */
export class SimulatedHealth {
  inProgress = 0;
  readonly #o: SimulatedHealthOptions;
  readonly #results = new Map<string, Health>();
  readonly #waiting = new Set<() => void>();

  constructor(options: SimulatedHealthOptions) {
    this.#o = options;
  }

  set(kind: ProbeKind, id: string, health: Health): void {
    this.#results.set(`${kind}/${id}`, health);
    this.#wake();
  }

  reset(): void {
    this.#results.clear();
    this.#wake();
  }

  /**
   * The prober of one agent. It returns when a result changes: probing every second would make thousands of simulated runs
   * too slow.
   */
  ofAgent(results: ProbeResults): Prober {
    return async ({ probe, id, signal }) => {
      const kind = probe.exec?.command?.[0] as ProbeKind;
      this.inProgress++;
      try {
        if (kind === "startup") await sleep(this.#o.clock, startsAfterMs, signal);
        for (;;) {
          const result = this.#results.get(`${kind}/${id}`) ?? "success";
          const health = this.#o.isRunning(id) ? result : "error";
          if (health !== results.get(kind, id)) {
            this.#o.onResult(kind, id, health);
            return attemptResults[health];
          }
          await this.#nextChange(signal);
        }
      } finally {
        this.inProgress--;
      }
    };
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(abortError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting.add(resolve);
    return promise.finally(() => {
      this.#waiting.delete(resolve);
      signal.removeEventListener("abort", onAbort);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
