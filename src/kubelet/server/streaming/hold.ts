import type { Duplex } from "node:stream";

/** Who talks waits until the other can take more. */
export function hold(talker: Duplex, listener: Duplex): void {
  // What was read before it was held is still sent: one wait is enough for all of it.
  if (talker.isPaused()) return;
  talker.pause();
  const go = () => {
    listener.off("drain", go);
    listener.off("close", go);
    talker.resume();
  };
  listener.once("drain", go);
  listener.once("close", go);
}
