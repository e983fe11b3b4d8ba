import type { Hooks } from "../../src/kubelet/pipeline/pod-runtime/kill.ts";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";

export type HookKind = "postStart" | "preStop";

/** A hook has the behavior that is set when the hook starts. */
export type HookBehavior = "quick" | "slow" | "fails" | "hangs";

/** A pod waits for its postStart hook without a limit; a preStop hook is limited by the grace period. */
const hangMs: Record<HookKind, number> = { postStart: 12_000, preStop: Number.POSITIVE_INFINITY };
const durationMs = { slow: 700, fails: 300 };

/** A handler that identifies itself to the simulation. */
export function hook(kind: HookKind) {
  return { exec: { command: [kind] } };
}

/** Hooks that take time, fail or hang, as configured. */
export class SimulatedHooks {
  behavior: HookBehavior = "quick";
  inProgress = 0;
  /** Containers whose postStart hook is in progress. */
  readonly starting = new Set<ContainerId>();
  readonly #clock: Clock;
  readonly #onRepeated: (kind: HookKind, id: ContainerId) => void;

  constructor(clock: Clock, onRepeated: (kind: HookKind, id: ContainerId) => void) {
    this.#clock = clock;
    this.#onRepeated = onRepeated;
  }

  /** The runner of one agent, whose hooks end with its process. */
  ofAgent(process: AbortSignal): Hooks {
    const ran = new Set<string>();
    return {
      run: async ({ id, handler, signal: hookSignal }) => {
        const signal = AbortSignal.any([hookSignal, process]);
        const kind = handler.exec?.command?.[0] as HookKind;
        if (ran.has(`${kind}/${id}`)) this.#onRepeated(kind, id);
        ran.add(`${kind}/${id}`);
        const { behavior } = this;
        this.inProgress++;
        if (kind === "postStart") this.starting.add(id);
        try {
          if (behavior !== "quick")
            await sleep(this.#clock, behavior === "hangs" ? hangMs[kind] : durationMs[behavior], signal);
          if (behavior !== "fails") return;
          // If the container cannot be stopped either, both are retried.
          if (kind === "preStop") ran.delete(`${kind}/${id}`);
          throw new Error("the hook failed");
        } finally {
          this.inProgress--;
          if (kind === "postStart") this.starting.delete(id);
        }
      },
    };
  }
}
