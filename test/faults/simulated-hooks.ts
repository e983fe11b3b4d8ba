import type { Hooks } from "../../src/kubelet/pipeline/pod-runtime/kill.ts";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";

export type HookKind = "postStart" | "preStop";

/** The behavior of hooks that start now. */
export type HookManner = "quick" | "slow" | "fails" | "hangs";

/** A pod that waits for its postStart hook waits as long as it takes; a preStop hook has the grace period and no more. */
const hangsMs: Record<HookKind, number> = { postStart: 12_000, preStop: Number.POSITIVE_INFINITY };
const takesMs = { slow: 700, fails: 300 };

/** A handler that identifies itself to the simulation. */
export function hook(kind: HookKind) {
  return { exec: { command: [kind] } };
}

/** Hooks that take time, fail or hang, as configured. */
export class SimulatedHooks {
  manner: HookManner = "quick";
  inProgress = 0;
  /** Containers whose postStart hook is in progress. */
  readonly starting = new Set<ContainerId>();
  readonly #clock: Clock;
  readonly #onTwice: (kind: HookKind, id: ContainerId) => void;

  constructor(clock: Clock, onTwice: (kind: HookKind, id: ContainerId) => void) {
    this.#clock = clock;
    this.#onTwice = onTwice;
  }

  /** The runner of one agent, whose hooks end with its process. */
  ofAgent(process: AbortSignal): Hooks {
    const ran = new Set<string>();
    return {
      run: async ({ id, handler, signal: given }) => {
        const signal = AbortSignal.any([given, process]);
        const kind = handler.exec?.command?.[0] as HookKind;
        if (ran.has(`${kind}/${id}`)) this.#onTwice(kind, id);
        ran.add(`${kind}/${id}`);
        const { manner } = this;
        this.inProgress++;
        if (kind === "postStart") this.starting.add(id);
        try {
          if (manner !== "quick")
            await sleep(this.#clock, manner === "hangs" ? hangsMs[kind] : takesMs[manner], signal);
          if (manner !== "fails") return;
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
