import { type Clock, sleep } from "../../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../../lib/base/errors.ts";
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

/**
 * Undefined if the runtime does not report one: the configured driver is then used. Fails if the runtime is unavailable, as the reference
 * does: with the wrong driver, pods would start in cgroups that the runtime does not use. The service manager restarts the kubelet.
 */
export async function cgroupDriverOfRuntime(
  cri: Pick<CriClient, "runtimeConfig">,
  { clock, signal }: { clock: Clock; signal?: AbortSignal | undefined },
): Promise<CgroupDriver | undefined> {
  for (let attempt = 1; ; attempt++) {
    const response = await cri.runtimeConfig({ signal }).catch((error: unknown) => {
      if (isAbort(error)) throw error;
      if (hasGrpcCode(error, "UNIMPLEMENTED")) return {};
      if (attempt < attempts) return undefined;
      throw new KubeletError(
        "RuntimeUnavailable",
        `failed to get the cgroup driver of the container runtime: ${messageOf(error)}`,
        { cause: error },
      );
    });
    if (response) return driverOf(response);
    await sleep(clock, pauseMs, signal);
  }
}

export function driverOf({ linux }: Pick<RuntimeConfigResponse, "linux">): CgroupDriver | undefined {
  if (!linux) return undefined;
  if (linux.cgroupDriver === CriCgroupDriver.SYSTEMD) return "systemd";
  if (linux.cgroupDriver === CriCgroupDriver.CGROUPFS) return "cgroupfs";
  throw new KubeletError(
    "UnknownCgroupDriver",
    `runtime returned an unknown cgroup driver ${linux.cgroupDriver}`,
  );
}
