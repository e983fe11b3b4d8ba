import type { Duplex } from "node:stream";

/** Pauses the source until the destination drains or closes. */
export function applyBackpressure(source: Duplex, destination: Duplex): void {
  // Data that was read before the pause is still written: one pause covers it.
  if (source.isPaused()) return;
  source.pause();
  const resume = () => {
    destination.off("drain", resume);
    destination.off("close", resume);
    source.resume();
  };
  destination.once("drain", resume);
  destination.once("close", resume);
}
