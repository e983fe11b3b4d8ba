export type Health =
  /** `note`: for clients that request details. */
  { readonly ok: true; readonly note?: string | undefined } | { readonly ok: false; readonly reason: string };

export const healthy: Health = { ok: true };

/** A part of the agent that is started and stopped. Constructors have no side effects. */
export interface Component {
  readonly name: string;
  /** Resolves when the component is ready; its loops end when the signal is aborted. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when all of its loops have ended. */
  readonly done: Promise<void>;
  /** Only for components that can be unhealthy while they run. */
  health?(): Health;
}
