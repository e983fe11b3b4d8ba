import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeCheckpoint } from "../../src/kubelet/resources/devices/checkpoint.ts";
import { idsOf } from "../../src/kubelet/resources/devices/device.ts";
import {
  openPlugin,
  type PluginCall,
  type PluginChannel,
} from "../../src/lib/clients/plugin-rpc/plugin-channel.ts";
import { PodResourcesLister } from "../../src/lib/gen/podresources/v1/api_pb.js";

/** "<pod>/<container>/<resource>" to the IDs of its devices, sorted and joined. */
export type Allocations = Record<string, string>;

/** The allocations that the PodResources API lists. */
export async function podResources(rootDir: string): Promise<Allocations> {
  const { podResources: pods } = await query(rootDir, (channel, limits) =>
    channel.call(PodResourcesLister.method.list, {}, limits),
  );
  return joined(
    pods.flatMap(({ name, containers }) =>
      containers.flatMap((container) =>
        container.devices.map((d) => [`${name}/${container.name}/${d.resourceName}`, d.deviceIds] as const),
      ),
    ),
  );
}

/** The healthy devices of the plugins that are connected. */
export async function allocatable(rootDir: string): Promise<string[]> {
  const { devices } = await query(rootDir, (channel, limits) =>
    channel.call(PodResourcesLister.method.getAllocatableResources, {}, limits),
  );
  return devices.flatMap(({ deviceIds }) => deviceIds).sort((a, b) => (a < b ? -1 : 1));
}

async function query<T>(
  rootDir: string,
  call: (channel: PluginChannel, limits: PluginCall) => Promise<T>,
): Promise<T> {
  const channel = openPlugin(join(rootDir, "pod-resources/kubelet.sock"));
  try {
    return await call(channel, { timeoutMs: 10_000, signal: new AbortController().signal });
  } finally {
    channel.close();
  }
}

/** The allocations on disk. `nameOf` returns undefined for a pod that is not listed. */
export async function checkpointed(
  rootDir: string,
  nameOf: (uid: string) => string | undefined,
): Promise<Allocations> {
  const text = await readFile(join(rootDir, "device-plugins/kubelet_internal_checkpoint"), "utf8");
  return joined(
    decodeCheckpoint(text).entries.flatMap(({ podUID, container, resource, devices }) => {
      const name = nameOf(podUID);
      return name === undefined ? [] : [[`${name}/${container}/${resource}`, [...idsOf(devices)]] as const];
    }),
  );
}

function joined(pairs: readonly (readonly [string, readonly string[]])[]): Allocations {
  const lists = new Map<string, string[]>();
  for (const [key, ids] of pairs) lists.set(key, [...(lists.get(key) ?? []), ...ids]);
  const entries = [...lists].map(([key, ids]) => [key, ids.sort((a, b) => (a < b ? -1 : 1)).join()] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
