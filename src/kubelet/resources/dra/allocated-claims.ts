import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { AllocatedClaim, PodResourcesSources } from "../../server/pod-resources/sources.ts";
import type { ClaimManager } from "./claim-manager.ts";
import { devicesOf } from "./claim-state.ts";

/** The claims of containers as the PodResources API reports them: none while the claims of the pod are not known. */
export class AllocatedClaims implements NonNullable<PodResourcesSources["claims"]> {
  readonly #claims: ClaimManager;

  constructor(claims: ClaimManager) {
    this.#claims = claims;
  }

  of(pod: Pod, name: string): AllocatedClaim[] {
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const container = containers.find((one) => one.name === name);
    if (!container) return [];
    return this.#known(pod, container).map(({ claim }) => ({
      claimName: claim.name,
      claimNamespace: claim.namespace,
      claimResources: devicesOf(claim).map(({ driver, device }) => ({
        cdiDevices: device.cdiDeviceIds.map((id) => ({ name: id })),
        driverName: driver,
        poolName: device.poolName,
        deviceName: device.deviceName,
        ...(device.shareId !== undefined && { shareId: device.shareId }),
      })),
    }));
  }

  #known(pod: Pod, container: Container) {
    try {
      return this.#claims.ofContainer(pod, container);
    } catch {
      return [];
    }
  }
}
