import type { Writable } from "node:stream";
import { abortError } from "../../../lib/base/errors.ts";

/** Writes with back-pressure. Rejects with an AbortError when the client disconnects, so that reading stops. */
export function responseWriter(
  response: Writable,
  signal: AbortSignal,
): { write(bytes: Buffer): Promise<void> } {
  return {
    async write(bytes) {
      if (signal.aborted || response.destroyed) throw abortError(signal.reason);
      if (response.write(bytes)) return;
      await new Promise<void>((resolve, reject) => {
        const done = (error?: Error) => {
          response.off("drain", onDrain).off("close", onGone).off("error", onGone);
          signal.removeEventListener("abort", onGone);
          if (error) reject(error);
          else resolve();
        };
        const onDrain = () => done();
        const onGone = () => done(abortError(signal.reason));
        response.on("drain", onDrain).on("close", onGone).on("error", onGone);
        signal.addEventListener("abort", onGone, { once: true });
      });
    },
  };
}
