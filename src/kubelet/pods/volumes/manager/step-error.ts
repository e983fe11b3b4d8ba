import { isAbort, messageOf } from "../../../../lib/base/errors.ts";

/** A failed step of a volume operation, such as `MountVolume.SetUp failed`, with its cause. */
export class StepError extends Error {
  readonly step: string;
  readonly aborted: boolean;
  /** Another component is not done yet, and reports its failures itself: no event. */
  readonly isWaiting: boolean;
  constructor(step: string, cause: unknown, isWaiting = false) {
    super(messageOf(cause), { cause });
    this.name = "StepError";
    this.step = step;
    this.isWaiting = isWaiting;
    this.aborted = isAbort(cause);
  }
}

/** The kubelet attaches volumes itself. */
export const attachStep = "AttachVolume.Attach failed";
export const mountExpansionStep = "MountVolume.Setup failed while expanding volume";
export const mapExpansionStep = "MapVolume.MarkVolumeAsMounted failed while expanding volume";
/** The volume is in use. */
export const onlineExpansionStep = "NodeExpandVolume.NodeExpandVolume failed";

/** Wraps errors with the name of the step. */
export async function inStep<T>(step: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StepError ? error : new StepError(step, error);
  }
}

/** With a space before the colon, as in upstream's events. */
export function eventMessage(step: string, volume: string, cause: string): string {
  return `${step} for volume "${volume}" : ${cause}`;
}

export function waitMessage(step: string, volume: string, cause: string): string {
  return `${step} for volume "${volume}": ${cause}`;
}
