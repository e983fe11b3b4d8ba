import type { Container, ContainerStatus, Pod } from "../../../lib/model/pod.ts";
import type { ClaimManager } from "./claim-manager.ts";
import { type ClaimState, devicesOf } from "./claim-state.ts";
import type { DeviceHealth, DevicesHealth } from "./device-health.ts";

type ResourceStatuses = NonNullable<ContainerStatus["allocatedResourcesStatus"]>;
type ResourceHealth = NonNullable<ResourceStatuses[number]["resources"]>[number];

export interface HealthInput {
  readonly container: Container;
  /** The claim that an entry of the pod's `spec.resourceClaims` stands for, if it is known. */
  readonly claimOf: (podClaim: string) => ClaimState | undefined;
  readonly healthOf: (driver: string, pool: string, device: string) => DeviceHealth;
  readonly withMessage: boolean;
}

/** The health of the devices of a container, by claim and request. */
export function resourceStatuses(input: HealthInput): ResourceStatuses {
  const statuses: ResourceStatuses = [];
  for (const { name, request } of input.container.resources?.claims ?? []) {
    const claim = input.claimOf(name);
    const resources = claim ? healthOfDevices(claim, request, input) : [];
    if (resources.length > 0)
      statuses.push({ name: `claim:${name}${request ? `/${request}` : ""}`, resources });
  }
  return statuses;
}

/** Devices with the same ID are listed once. Requests of a device are listed without their subrequest. */
function healthOfDevices(
  claim: ClaimState,
  request: string | undefined,
  { healthOf, withMessage }: HealthInput,
): ResourceHealth[] {
  const found = new Map<string, ResourceHealth>();
  for (const { driver, device } of devicesOf(claim, request?.split("/")[0])) {
    const { poolName, deviceName, cdiDeviceIds } = device;
    const resourceID = cdiDeviceIds[0] ?? `${driver}/${poolName}/${deviceName}`;
    const { health, message } = healthOf(driver, poolName, deviceName);
    if (!found.has(resourceID))
      found.set(resourceID, { resourceID, health, ...(withMessage && message && { message }) });
  }
  return [...found.values()];
}

/** The health of the devices that the claims of a container have, for its status. */
export class ContainerHealth {
  readonly #o: ContainerHealthOptions;

  constructor(options: ContainerHealthOptions) {
    this.#o = options;
  }

  of(pod: Pod | undefined, name: string): ResourceStatuses {
    const { claims, health, withMessage } = this.#o;
    const container = pod?.spec.containers.find((one) => one.name === name);
    if (!pod || !container?.resources?.claims?.length) return [];
    return resourceStatuses({
      container,
      claimOf: (podClaim) => claims.named(pod, podClaim),
      healthOf: (driver, pool, device) => health.get(driver, pool, device),
      withMessage,
    });
  }
}

interface ContainerHealthOptions {
  readonly claims: Pick<ClaimManager, "named">;
  readonly health: DevicesHealth;
  /** The gate ResourceHealthStatusMessage. */
  readonly withMessage: boolean;
}
