import type { PodStart, Step, StepKind, StepRecord } from "../../../lib/model/pod-step.ts";

/** Of each pod, the last so many steps are kept, and so much of each text: registries and runtimes can be verbose. */
const mostRecords = 32;
const longestText = 500;

type Writable = { -readonly [K in keyof StepRecord]: StepRecord[K] };

/**
 * What a pod waited for, one step after another. It has no timers and does no work but when a step begins or ends.
 * Steps that took no time and had no trouble are not kept: there is nothing to learn from them.
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

  /** The oldest first; the last one may still go on. */
  get records(): readonly StepRecord[] {
    return this.#records;
  }

  /** How many older ones there were. */
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

  /** The step before it is over. */
  begin(step: Step, now: number): void {
    const text = short(step.text);
    const current = this.#current;
    if (current?.text === text && current.kind === step.kind) {
      current.until = step.until;
      return;
    }
    this.end(now);
    const record: Writable = { kind: step.kind, text, startedAt: now };
    if (step.container !== undefined) record.container = step.container;
    if (step.until !== undefined) record.until = step.until;
    this.#current = record;
    this.#records.push(record);
    if (this.#records.length <= mostRecords) return;
    this.#records.shift();
    this.#dropped++;
  }

  /** What is being done went wrong; what comes next says how it goes on. */
  fail(error: string): void {
    if (this.#current) this.#current.error = short(error);
  }

  end(now: number): void {
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

  /** The first time counts: what became of it later is not how it started. */
  ready(now: number): void {
    if (this.#isReady) return;
    this.#isReady = true;
    // Its worker may not have seen it yet, and still be at the last step.
    if (this.#current) this.#count(this.#current, now);
    const made = ["sandbox", "container"] as const;
    if (made.some((kind) => this.#totals.has(kind)))
      this.#start = {
        readyAt: now,
        tookMs: Math.max(0, now - this.startedAt),
        steps: [...this.#totals].filter(([, ms]) => ms > 0).map(([kind, ms]) => ({ kind, ms })),
      };
    this.#totals.clear();
  }
}

function short(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}
