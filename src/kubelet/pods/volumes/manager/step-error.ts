import { isAbort, messageOf } from "../../../../lib/base/errors.ts";

/** What went wrong with a volume, and at which step: `MountVolume.SetUp failed`, and why. */
export class StepError extends Error {
  readonly step: string;
  readonly aborted: boolean;
  constructor(step: string, cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = "StepError";
    this.step = step;
    this.aborted = isAbort(cause);
  }
}

/** Names the step in whatever is thrown. */
export async function inStep<T>(step: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StepError ? error : new StepError(step, error);
  }
}

/** As events have it, with a blank before the colon; users search for it so. */
export function eventMessage(step: string, volume: string, cause: string): string {
  return `${step} for volume "${volume}" : ${cause}`;
}

export function waitMessage(step: string, volume: string, cause: string): string {
  return `${step} for volume "${volume}": ${cause}`;
}
