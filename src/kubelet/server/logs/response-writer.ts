import type { Writable } from "node:stream";
import { abortable } from "../../../lib/base/abort.ts";
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
      await abortable(signal, (resolve, reject) => {
        const onGone = () => reject(abortError(signal.reason));
        response.on("drain", resolve).on("close", onGone).on("error", onGone);
        return () => response.off("drain", resolve).off("close", onGone).off("error", onGone);
      });
    },
  };
}
