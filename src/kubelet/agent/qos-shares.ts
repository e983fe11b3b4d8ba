import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Pod } from "../../lib/model/pod.ts";
import type { PodCgroups } from "../resources/cgroups/pod-cgroups.ts";

/** The pods' cgroups, with the CPU shares of the QoS cgroups updated when pods are added or removed. */
export function withQosShares(cgroups: PodCgroups, pods: () => readonly Pod[], logger: Logger): PodCgroups {
  let busy = false;
  let again = false;
  const update = async () => {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      await cgroups
        .updateQos(pods())
        .catch((error) =>
          logger.warn("Failed to update CPU shares of QoS cgroups", { err: messageOf(error) }),
        );
    }
    busy = false;
  };
  return {
    start: () => cgroups.start(),
    parentFor: (pod) => cgroups.parentFor(pod),
    exists: (pod) => cgroups.exists(pod),
    list: () => cgroups.list(),
    updateQos: (all) => cgroups.updateQos(all),
    async ensure(pod) {
      await cgroups.ensure(pod);
      void update();
    },
    async remove(uid, signal) {
      await cgroups.remove(uid, signal);
      void update();
    },
  };
}
