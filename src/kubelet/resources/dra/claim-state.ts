import type { PodUid } from "../../../lib/model/pod.ts";

/** A device of a claim, as its driver described it. */
export interface PreparedDevice {
  readonly poolName: string;
  readonly deviceName: string;
  /** The share ID of a device that several claims use. */
  readonly shareId?: string | undefined;
  /** Empty: the device is for all requests of the claim. */
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
}

export interface DriverState {
  readonly devices: readonly PreparedDevice[];
  /** The driver has prepared the claim. Not in the checkpoint: after a restart it is false until the claim is prepared again. */
  readonly isPrepared: boolean;
}

/** A claim that pods of this node use. */
export interface ClaimState {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly pods: ReadonlySet<PodUid>;
  /** All drivers with an allocation result in the claim. */
  readonly drivers: ReadonlyMap<string, DriverState>;
}

export const notPrepared: DriverState = { devices: [], isPrepared: false };

/** The claims that pods of this node use, by namespace and name. */
export type ClaimStates = Map<string, ClaimState>;

/** The pods with a claim that has devices of a driver. */
export function usersOf(states: ClaimStates, driver: string): Set<PodUid> {
  return new Set([...states.values()].flatMap(({ pods, drivers }) => (drivers.has(driver) ? [...pods] : [])));
}

export function isPrepared({ drivers }: ClaimState): boolean {
  return [...drivers.values()].every((driver) => driver.isPrepared);
}

/** The devices of a claim, or of one of its requests, with their drivers. */
export function devicesOf(
  { drivers }: ClaimState,
  request?: string,
): { readonly driver: string; readonly device: PreparedDevice }[] {
  return [...drivers].flatMap(([driver, { devices }]) =>
    devices
      .filter(({ requestNames }) => !request || requestNames.length === 0 || requestNames.includes(request))
      .map((device) => ({ driver, device })),
  );
}
