import type { Clock } from "../../../lib/base/clock.ts";

/** Calls back once when a count has not changed for one to two timeouts. 0: never. */
export function watchIdle(clock: Clock, idleMs: number, count: () => number, onIdle: () => void): () => void {
  if (idleMs <= 0) return () => {};
  let previous = count();
  let cancel = () => {};
  const check = () => {
    const now = count();
    if (now === previous) return onIdle();
    previous = now;
    cancel = clock.after(idleMs, check);
  };
  cancel = clock.after(idleMs, check);
  return () => cancel();
}
