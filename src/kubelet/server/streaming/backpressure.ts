import type { Duplex } from "node:stream";

/** The destinations that must drain before a paused source is resumed, by source. */
const waits = new WeakMap<Duplex, Set<Duplex>>();

/** Pauses the source until the destination, and all others that it waits for, drain or close. */
export function applyBackpressure(source: Duplex, destination: Duplex): void {
  const pending = waits.get(source) ?? new Set();
  waits.set(source, pending);
  // Data that was read before the pause is still written: one wait covers it.
  if (pending.has(destination)) return;
  pending.add(destination);
  source.pause();
  const resume = () => {
    destination.off("drain", resume);
    destination.off("close", resume);
    pending.delete(destination);
    if (pending.size === 0) source.resume();
  };
  destination.once("drain", resume);
  destination.once("close", resume);
}
