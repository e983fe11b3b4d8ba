import type { Clock } from "../../lib/base/clock.ts";
import type { ServiceManager } from "../../lib/host/sd-notify.ts";

/** Tells the service manager, twice as often as it asks, that the sync loop turns. */
export function watchdog(
  manager: ServiceManager | undefined,
  clock: Clock,
  alive: () => boolean,
): () => void {
  const every = manager?.watchdogMs && manager.watchdogMs / 2;
  if (!every) return () => {};
  let cancel = () => {};
  const beat = () => {
    if (alive()) manager?.alive();
    cancel = clock.after(every, beat);
  };
  beat();
  return () => cancel();
}
