import { dateOf, msBetween, type WallTime, wallTime } from "../../lib/base/time.ts";
import type { PodExplanation } from "./explain-pod.ts";

/** For so long after a pod has failed it is listed, also when it is gone. */
export const listedMs = 3_600_000;
const mostPods = 100;

/** Explanations of pods that failed and are gone: for an hour, and of the last so many. */
export class FailedPods {
  #pods: PodExplanation[] = [];

  remember(explanation: PodExplanation, now: WallTime): void {
    const goneAt = dateOf(now).toISOString();
    this.#pods = [...this.all(now), { ...explanation, waitsFor: null, goneAt }].slice(-mostPods);
  }

  /** The oldest first. */
  all(now: WallTime): PodExplanation[] {
    this.#pods = this.#pods.filter(({ failedAt }) => msBetween(wallTime(failedAt ?? ""), now) < listedMs);
    return this.#pods;
  }
}
