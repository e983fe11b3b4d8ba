import type { Clock } from "../../lib/base/clock.ts";
import type { ServiceManager } from "../../lib/host/sd-notify.ts";

/** Notifies the service manager, at half of its watchdog interval, that the sync loop is alive. */
export function watchdog(
  manager: ServiceManager | undefined,
  clock: Clock,
  isAlive: () => boolean,
): () => void {
  const every = manager?.watchdogMs && manager.watchdogMs / 2;
  if (!every) return () => {};
  let cancel = () => {};
  const notify = () => {
    if (isAlive()) manager?.alive();
    cancel = clock.after(every, notify);
  };
  notify();
  return () => cancel();
}
