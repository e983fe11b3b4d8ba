import type { Duplex } from "node:stream";
import { whenAborted } from "./abort.ts";

/**
 * Joins two connections, `a` being the caller's. A half-close of one side is passed to the other, which may continue to send;
 * an error closes both. Resolves when both are closed.
 */
export async function joinStreams(a: Duplex, b: Duplex, signal: AbortSignal): Promise<void> {
  const both = Promise.all([follow(a, b), follow(b, a)]);
  const stop = () => {
    // The client has already closed, and its last data may still be in flight.
    if (a.closed) return;
    a.destroy();
    b.destroy();
  };
  using _ = whenAborted(signal, stop);
  if (!signal.aborted) a.pipe(b).pipe(a);
  await both;
}

/** Resolves when `side` is closed; closes `other` with it unless all data was delivered. */
function follow(side: Duplex, other: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const closed = () => {
      if (!side.readableEnded || !side.writableFinished || side.errored) other.destroy();
      // Its data is discarded, but has to be read to detect its end.
      else other.resume();
      resolve();
    };
    side.on("error", () => other.destroy());
    if (side.closed) closed();
    else side.once("close", closed);
  });
}
