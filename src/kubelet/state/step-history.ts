import type { PodStart, Step, StepKind, StepRecord } from "../../lib/model/pod-step.ts";

/** The limits for each pod: registries and runtimes can be verbose. */
const maxRecords = 32;
const maxTextLength = 1000;

type Writable = { -readonly [K in keyof StepRecord]: StepRecord[K] };

/**
 * The steps that a pod waited for, in sequence. It has no timers and does work only when a step starts or ends. Steps that took no time
 * and had no error are not kept.
 */
export class StepHistory {
  readonly startedAt: number;
  #records: Writable[] = [];
  #current: Writable | undefined;
  #dropped = 0;
  #totals = new Map<StepKind, number>();
  #start: PodStart | undefined;
  #isReady = false;

  constructor(now: number) {
    this.startedAt = now;
  }

  /** The oldest first; the last one may be in progress. */
  get records(): readonly StepRecord[] {
    return this.#records;
  }

  /** The number of older records that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  get current(): StepRecord | undefined {
    return this.#current;
  }

  /** Undefined until the pod was ready for the first time, and for a pod that was found running. */
  get start(): PodStart | undefined {
    return this.#start;
  }

  /** Ends the previous step. */
  startStep(step: Step, now: number): void {
    const text = truncate(step.text);
    const current = this.#current;
    if (current?.text === text && current.kind === step.kind) {
      current.until = step.until;
      return;
    }
    this.endStep(now);
    const record: Writable = { kind: step.kind, text, startedAt: now };
    if (step.container !== undefined) record.container = step.container;
    if (step.until !== undefined) record.until = step.until;
    this.#current = record;
    this.#records.push(record);
    if (this.#records.length <= maxRecords) return;
    this.#records.shift();
    this.#dropped++;
  }

  /** The current step failed. */
  fail(error: string): void {
    if (this.#current) this.#current.error = truncate(error);
  }

  endStep(now: number): void {
    const current = this.#current;
    if (!current) return;
    this.#current = undefined;
    current.endedAt = now;
    const ms = Math.max(0, now - current.startedAt);
    if (!this.#isReady) this.#count(current, now);
    if (ms === 0 && current.error === undefined && this.#records.at(-1) === current) this.#records.pop();
  }

  #count({ kind, startedAt }: StepRecord, now: number): void {
    this.#totals.set(kind, (this.#totals.get(kind) ?? 0) + Math.max(0, now - startedAt));
  }

  /** The pod is ready; only the first time is recorded. */
  ready(now: number): void {
    if (this.#isReady) return;
    this.#isReady = true;
    // The worker may not have noticed yet and still be at the last step.
    if (this.#current) this.#count(this.#current, now);
    const creations = ["sandbox", "container"] as const;
    if (creations.some((kind) => this.#totals.has(kind)))
      this.#start = {
        readyAt: now,
        tookMs: Math.max(0, now - this.startedAt),
        steps: [...this.#totals].filter(([, ms]) => ms > 0).map(([kind, ms]) => ({ kind, ms })),
      };
    this.#totals.clear();
  }
}

/** The end of an error is the cause of what its beginning states: the middle is omitted. */
function truncate(text: string): string {
  const half = maxTextLength / 2;
  return text.length > maxTextLength ? `${text.slice(0, half)}…${text.slice(-half)}` : text;
}
