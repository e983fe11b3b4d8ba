import type { Clock } from "../../lib/base/clock.ts";
import { type Health, healthy } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { ServiceManager } from "../../lib/host/sd-notify.ts";
import { type HealthCheck, healthOf } from "./health-report.ts";

/** The checks of the kubelet API and of the watchdog. */
export function healthChecks(
  syncLoop: HealthCheck,
  deviceRegistration: { health?(): Health },
): HealthCheck[] {
  return [
    { name: "ping", health: () => healthy },
    // Lines are written synchronously: there is no queue that could fall behind.
    { name: "log", health: () => healthy },
    syncLoop,
    { name: "device-plugin", health: () => registrationHealth(deviceRegistration.health?.() ?? healthy) },
  ];
}

function registrationHealth(health: Health): Health {
  if (health.ok) return health;
  const what = "device plugin registration gRPC server failed and no device plugins can register";
  return { ok: false, reason: `device registration error: ${what}: ${health.reason}` };
}

/** Notifies the service manager at half of its watchdog interval, from the start of the agent, while the checks pass. */
export function watchdog(
  manager: ServiceManager | undefined,
  { clock, logger, checks }: { clock: Clock; logger: Logger; checks: readonly HealthCheck[] },
): () => void {
  const every = manager?.watchdogMs && manager.watchdogMs / 2;
  if (!every) return () => {};
  let cancel = () => {};
  const notify = () => {
    const failed = checks.map((check) => ({ name: check.name, health: healthOf(check) }));
    const problem = failed.find(({ health }) => !health.ok);
    if (!problem) manager?.alive();
    else if (!problem.health.ok)
      logger.error("Do not notify watchdog this iteration as the kubelet is reportedly not healthy", {
        check: problem.name,
        err: problem.health.reason,
      });
    cancel = clock.after(every, notify);
  };
  notify();
  return () => cancel();
}
