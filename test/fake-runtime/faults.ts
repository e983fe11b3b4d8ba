import type { Message } from "@bufbuild/protobuf";
import { type Clock, sleep } from "../../src/lib/base/clock.ts";
import { abortError } from "../../src/lib/base/errors.ts";
import type { GrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { RuntimeFailure } from "./failure.ts";

/** A fault in calls to one method. */
export interface Fault {
  /** As in the .proto file, e.g. "RunPodSandbox", or "*" for every call. */
  method: string;
  /** Only requests for which this is true. */
  when?: (request: Message) => boolean;
  /** How many calls it affects; default 1. */
  times?: number;
  /** Takes effect after the work is done, so that only the response is lost. */
  after?: boolean;
  effect:
    | { kind: "fail"; code: GrpcCode; message?: string }
    | { kind: "delay"; ms: number }
    /** No response until the caller aborts or the runtime stops. */
    | { kind: "hang" }
    /** Every connection to the runtime breaks. */
    | { kind: "drop" };
}

export class Faults {
  readonly #clock: Clock;
  readonly #dropConnections: () => void;
  #pending: { fault: Fault; left: number }[] = [];

  constructor(clock: Clock, dropConnections: () => void) {
    this.#clock = clock;
    this.#dropConnections = dropConnections;
  }

  add(...faults: Fault[]): void {
    for (const fault of faults) this.#pending.push({ fault, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#pending = [];
  }

  /** Returns the fault of this call, if there is one, and counts it as used. */
  take(method: string, request: Message): Fault | undefined {
    const entry = this.#pending.find(
      ({ fault }) => (fault.method === method || fault.method === "*") && (fault.when?.(request) ?? true),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#pending = this.#pending.filter((other) => other !== entry);
    return entry.fault;
  }

  async apply({ effect, method }: Fault, signal: AbortSignal): Promise<void> {
    switch (effect.kind) {
      case "fail":
        throw new RuntimeFailure(effect.code, effect.message ?? `injected failure of ${method}`);
      case "delay":
        return sleep(this.#clock, effect.ms, signal);
      case "drop":
        this.#dropConnections();
        return untilAborted(signal);
      case "hang":
        return untilAborted(signal);
      default:
        return effect satisfies never;
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(abortError(signal.reason));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
