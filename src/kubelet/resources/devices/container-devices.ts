import type { ContainerAllocateResponse } from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";

/** The parts of a container's CRI request that come from its devices. */
export interface ContainerDevices {
  readonly env: ReadonlyMap<string, string>;
  readonly mounts: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readonly: boolean;
  }[];
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
}

/** Two plugins request different things for the same container: the first, by resource name, wins. */
export interface DeviceConflict {
  readonly kind: "environment variable" | "mount" | "device" | "annotation";
  readonly key: string;
  readonly used: string;
  readonly ignored: string;
}

/** The responses of all plugins for one container, combined in the order of their resource names. */
export function combineResponses(responses: ReadonlyMap<string, ContainerAllocateResponse>): {
  readonly devices: ContainerDevices;
  readonly conflicts: readonly DeviceConflict[];
} {
  const conflicts: DeviceConflict[] = [];
  const ordered = [...responses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, response]) => response);
  /** The first item of each key. */
  const merge = <T>(
    kind: DeviceConflict["kind"],
    items: readonly T[],
    keyOf: (item: T) => string,
    textOf: (item: T) => string,
  ): T[] => {
    const first = new Map<string, T>();
    for (const item of items) {
      const known = first.get(keyOf(item));
      if (known === undefined) first.set(keyOf(item), item);
      else if (textOf(known) !== textOf(item))
        conflicts.push({ kind, key: keyOf(item), used: textOf(known), ignored: textOf(item) });
    }
    return [...first.values()];
  };
  const mergePairs = (kind: DeviceConflict["kind"], maps: readonly { readonly [key: string]: string }[]) =>
    merge(
      kind,
      maps.flatMap((map) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1))),
      ([key]) => key,
      ([, value]) => value,
    );
  const byPath = ({ containerPath }: { containerPath: string }) => containerPath;
  const toHost = ({ hostPath }: { hostPath: string }) => hostPath;
  const devices: ContainerDevices = {
    env: new Map(
      mergePairs(
        "environment variable",
        ordered.map(({ envs }) => envs),
      ),
    ),
    mounts: merge(
      "mount",
      ordered.flatMap(({ mounts }) => mounts),
      byPath,
      toHost,
    ).map(({ containerPath, hostPath, readOnly }) => ({ containerPath, hostPath, readonly: readOnly })),
    devices: merge(
      "device",
      ordered.flatMap((response) => response.devices),
      byPath,
      toHost,
    ).map(({ containerPath, hostPath, permissions }) => ({ containerPath, hostPath, permissions })),
    annotations: Object.fromEntries(
      mergePairs(
        "annotation",
        ordered.map(({ annotations }) => annotations),
      ),
    ),
    cdiDevices: [...new Set(ordered.flatMap(({ cdiDevices }) => cdiDevices.map(({ name }) => name)))],
  };
  return { devices, conflicts };
}
