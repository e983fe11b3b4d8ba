import type { Container, ContainerStatus } from "../../../lib/model/pod.ts";
import { type ClaimState, devicesOf } from "./claim-state.ts";
import type { DeviceHealth } from "./device-health.ts";

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
