import { dateOf, msBetween, type WallTime, wallTime } from "../../lib/base/time.ts";
import type { PodExplanation } from "./pod-explanation.ts";

/** A failed pod is listed for this long, even after it was removed. */
export const listedMs = 3_600_000;
const maxPods = 100;

/** Explanations of failed pods that were removed, for an hour. */
export class FailedPods {
  #pods: PodExplanation[] = [];

  add(explanation: PodExplanation, now: WallTime): void {
    const goneAt = dateOf(now).toISOString();
    this.#pods = [...this.all(now), { ...explanation, waitsFor: null, goneAt }].slice(-maxPods);
  }

  /** Oldest first. */
  all(now: WallTime): PodExplanation[] {
    this.#pods = this.#pods.filter(({ failedAt }) => msBetween(wallTime(failedAt ?? ""), now) < listedMs);
    return this.#pods;
  }
}
