import { hasFailed, isBackOff, stepTitle } from "../../lib/model/step-attempts.ts";
import type { ExplainedStep } from "./pod-explanation.ts";

/** Equal steps as one: a step that was tried several times, or the waits between its attempts. */
export interface FoldedStep {
  readonly step: ExplainedStep["step"];
  readonly container: string | undefined;
  /** The step, or the back-off that the pod waited for. */
  readonly text: string;
  /** A back-off: the kubelet does nothing until it ends. */
  readonly isBackOff: boolean;
  /** How the newest attempt that failed did so; not repeated for the waits after it. */
  readonly problem: string | undefined;
  /** The oldest first; the last may be in progress. */
  readonly attempts: readonly ExplainedStep[];
  /** How many of them failed. */
  readonly failed: number;
}

/** Folds equal steps into the first of them, even if others are between them: a retry repeats several steps. */
export function foldedSteps(history: readonly ExplainedStep[]): FoldedStep[] {
  const groups = new Map<string, ExplainedStep[]>();
  for (const step of history) {
    const key = [step.step, step.container, stepTitle(step)].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), step]);
  }
  const folded = [...groups.values()].map((attempts) => {
    const first = attempts[0]!;
    const failures = attempts.filter(hasFailed);
    return {
      step: first.step,
      container: first.container,
      text: stepTitle(first),
      isBackOff: isBackOff(first),
      problem: failures.at(-1)?.problem,
      attempts,
      failed: failures.length,
    };
  });
  return folded.filter((step) => !isCheck(step) || !folded.some((other) => isPullOf(step, other)));
}

/** A check for an image is the beginning of its pull. */
function isCheck({ text, failed, attempts }: FoldedStep): boolean {
  return text.startsWith("checking for image ") && failed === 0 && attempts.at(-1)?.endedAt !== undefined;
}

function isPullOf(check: FoldedStep, { step, container, text }: FoldedStep): boolean {
  return step === "image" && container === check.container && text.startsWith("pulling image ");
}
