import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { WatchedPluginChannel } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { rpcCodeOf } from "../../../lib/clients/plugin-rpc/rpc-error.ts";
import { shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import {
  type DeviceHealth as DeviceHealthMessage,
  DRAResourceHealth,
  HealthStatus,
} from "../../../lib/gen/drahealth/v1alpha1/api_pb.js";
import type { DevicesHealth, Health, ReportedHealth } from "./device-health.ts";

const retryMs = 5_000;
const defaultTimeoutMs = 30_000;
/** The limit of the API. */
const maxMessage = 1024;

/** Follows the health of a driver's devices until the signal is aborted; a driver without health reports is left alone. */
export async function watchHealth(
  o: { health: DevicesHealth; clock: Clock; logger: Logger },
  driver: string,
  channel: Pick<WatchedPluginChannel, "stream">,
  signal: AbortSignal,
): Promise<void> {
  const { nodeWatchResources } = DRAResourceHealth.method;
  while (!signal.aborted) {
    try {
      await channel.stream(
        nodeWatchResources,
        ({ devices }) => {
          const ignored = o.health.report(driver, devices.map(reportedHealth));
          if (ignored > 0)
            o.logger.debug(2, "Ignored the health of devices, the driver reports too many", {
              driver,
              ignored,
            });
        },
        signal,
      );
    } catch (error) {
      if (rpcCodeOf(error) === "UNIMPLEMENTED") return;
      if (!signal.aborted)
        o.logger.debug(3, "WatchResources health stream has ended, will retry", {
          driver,
          err: messageOf(error),
        });
    } finally {
      o.health.clear(driver);
    }
    await sleep(o.clock, retryMs, signal).catch(() => {});
  }
}

function reportedHealth(message: DeviceHealthMessage): ReportedHealth {
  const { device, health, healthCheckTimeoutSeconds } = message;
  const seconds = Number(healthCheckTimeoutSeconds);
  return {
    poolName: device?.poolName ?? "",
    deviceName: device?.deviceName ?? "",
    health: healthOf(health),
    message: shortened(message.message, maxMessage),
    timeoutMs: seconds > 0 ? seconds * 1000 : defaultTimeoutMs,
  };
}

function healthOf(status: HealthStatus): Health {
  switch (status) {
    case HealthStatus.HEALTHY:
      return "Healthy";
    case HealthStatus.UNHEALTHY:
      return "Unhealthy";
    default:
      return "Unknown";
  }
}
