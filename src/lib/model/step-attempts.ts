import type { StepKind } from "./pod-step.ts";

/** A step of the explanation of a pod. */
interface Attempt {
  readonly step: StepKind;
  readonly text: string;
  readonly container?: string;
  readonly until?: string;
  readonly error?: string;
}

/** A back-off fails with the error of the step before it, and so does a check for an image that ends with a back-off. */
export function hasFailed(step: Attempt): boolean {
  return step.error !== undefined && !isBackOff(step) && !step.error.startsWith("Back-off ");
}

/** A step with a known end only waits for it. */
export function isBackOff({ step, until }: Pick<Attempt, "step" | "until">): boolean {
  return step === "backoff" || until !== undefined;
}

/** The text of a back-off has its duration and the last error, which differ each time. */
export function stepTitle(step: Attempt): string {
  if (!isBackOff(step)) return step.text.split(": ", 1)[0] ?? "";
  return step.step === "backoff"
    ? `back-off before ${step.container ?? "the container"} is restarted`
    : "back-off before the next attempt";
}
