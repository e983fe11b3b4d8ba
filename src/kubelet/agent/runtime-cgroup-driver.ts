import { type Clock, sleep } from "../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { CriClient } from "../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../lib/clients/cri/cri-error.ts";
import {
  CgroupDriver as CriCgroupDriver,
  type RuntimeConfigResponse,
} from "../../lib/gen/runtime/v1/api_pb.js";
import type { CgroupDriver } from "../resources/cgroups/names.ts";

/** A runtime may still be starting when the kubelet starts. */
const attempts = 3;
const pauseMs = 2_000;

/** Undefined if the runtime does not report one, or is unavailable: the configured driver is then used. */
export async function cgroupDriverOfRuntime(
  cri: Pick<CriClient, "runtimeConfig">,
  { clock, logger, signal }: { clock: Clock; logger: Logger; signal?: AbortSignal | undefined },
): Promise<CgroupDriver | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return driverOf(await cri.runtimeConfig({ signal }));
    } catch (error) {
      if (isAbort(error)) throw error;
      if (hasGrpcCode(error, "UNIMPLEMENTED")) return undefined;
      if (attempt === attempts) {
        logger.warn("Failed to get the cgroup driver of the runtime, using the configured one", {
          err: messageOf(error),
        });
        return undefined;
      }
      await sleep(clock, pauseMs, signal);
    }
  }
}

/** Undefined for a driver that only a later CRI version defines. */
export function driverOf({ linux }: RuntimeConfigResponse): CgroupDriver | undefined {
  if (linux?.cgroupDriver === CriCgroupDriver.SYSTEMD) return "systemd";
  return linux?.cgroupDriver === CriCgroupDriver.CGROUPFS ? "cgroupfs" : undefined;
}
