import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { RuntimeConnection } from "../../lib/clients/cri/connection.ts";
import type { CriClient } from "../../lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../lib/clients/cri/cri-error.ts";
import type { CgroupDriver } from "../resources/cgroups/names.ts";
import { driverOf } from "./runtime-cgroup-driver.ts";

/** The first kubelet version that does not support runtimes without RuntimeConfig. */
const unsupportedFrom = "1.37.0";

export interface RuntimeSupportOptions {
  readonly cri: Pick<CriClient, "runtimeConfig">;
  readonly connection: Pick<RuntimeConnection, "onChange">;
  /** The cgroup driver of the agent. */
  readonly cgroupDriver: CgroupDriver;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * Reports a runtime that a later kubelet will not support, and one that uses another cgroup driver: its containers fail to start, or
 * are outside of their pod's cgroup. Checked whenever the runtime comes up: it may be another version, or be configured differently.
 */
export function watchRuntimeSupport(o: RuntimeSupportOptions): void {
  const { cri, connection, metrics, logger } = o;
  const gauge = metrics.gauge({
    name: "kubelet_cri_losing_support",
    help: "1 with the Kubernetes version that drops support for the container runtime version in use",
    labels: ["version"],
  });
  const check = async () => {
    try {
      const runtime = driverOf(await cri.runtimeConfig());
      gauge.reset();
      if (runtime !== undefined && runtime !== o.cgroupDriver)
        logger.error("Container runtime uses another cgroup driver, restart the kubelet to use it too", {
          runtime,
          kubelet: o.cgroupDriver,
        });
    } catch (error) {
      if (hasGrpcCode(error, "UNIMPLEMENTED")) {
        gauge.set({ version: unsupportedFrom }, 1);
        logger.info("CRI implementation should be updated to support RuntimeConfig", { unsupportedFrom });
      } else if (!isAbort(error))
        logger.debug(4, "Failed to get the configuration of the runtime", { err: messageOf(error) });
    }
  };
  connection.onChange((state) => {
    if (state.kind === "up") void check();
  });
}
