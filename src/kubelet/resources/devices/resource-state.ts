import type { Device } from "./device.ts";

export interface ResourceState {
  readonly resource: string;
  readonly isRegistered: boolean;
  readonly hasPlugin: boolean;
  readonly devices: ReadonlyMap<string, Device>;
  readonly healthy: readonly string[];
}

/** Why devices of the resource, or those that the container had before, cannot be allocated; undefined if they can. */
export function unusable(
  { resource, isRegistered, healthy }: ResourceState,
  previous: ReadonlySet<string>,
): string | undefined {
  if (!isRegistered) return `cannot allocate unregistered device ${resource}`;
  if (healthy.length === 0)
    return `no healthy devices present; cannot allocate unhealthy devices ${resource}`;
  if ([...previous].some((id) => !healthy.includes(id)))
    return `previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`;
  return undefined;
}

/** The state of a resource in one line, for explanations. `users` are the pods that have its devices. */
export function resourceText(state: ResourceState, inUse: number, users: readonly string[]): string {
  const { resource, hasPlugin, devices, healthy } = state;
  const used = inUse === 0 ? "none in use" : `${inUse} in use by ${users.join(", ")}`;
  if (!hasPlugin) return `${resource}: no device plugin is registered, ${used}`;
  return `${resource}: ${healthy.length} of ${devices.size} devices healthy, ${used}`;
}
