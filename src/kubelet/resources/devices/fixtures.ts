import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { type FakeContainer, fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { DeviceManager, type DeviceManagerOptions } from "./device-manager.ts";
import type { FakeDevicePlugin } from "./fake-device-plugin.ts";

export const gpu = "vendor.example/gpu";
export const anyNode = { numaNodes: undefined, preferred: false };

/** A pod whose containers request this many devices. */
export function gpuPod(name: string, ...counts: number[]): Pod {
  return podOf(name, { containers: counts.map((count) => devices(count)) });
}

export function podOf(
  name: string,
  spec: { initContainers?: FakeContainer[]; containers: FakeContainer[] },
): Pod {
  const initContainers = (spec.initContainers ?? []).map((part, i) => ({ name: `i${i}`, ...part }));
  return fakePod({
    metadata: { name, uid: name as PodUid },
    spec: { containers: spec.containers, initContainers: initContainers as never },
  });
}

export function devices(count: number, resource = gpu): FakeContainer {
  return { resources: { limits: { [resource]: String(count) } } };
}

/** A manager whose plugins are in memory, by the path of their socket. */
export function managerIn(
  dir: string,
  plugins: ReadonlyMap<string, FakeDevicePlugin>,
  more: Partial<DeviceManagerOptions> & { live?: Set<PodUid>; terminating?: Set<PodUid> } = {},
) {
  const clock = more.clock ?? new FakeClock();
  const metrics = createMetrics();
  const changes: (readonly PodUid[])[] = [];
  const manager = new DeviceManager({
    dir,
    open: (socketPath) => {
      const plugin = plugins.get(socketPath);
      if (!plugin) throw new Error(`no plugin at ${socketPath}`);
      return plugin.open();
    },
    numaNodes: [0, 1],
    isLive: (uid) => more.live?.has(uid) ?? false,
    nodePods: {
      willReleaseResources: (uid) => more.terminating?.has(uid) ?? false,
      nameOf: (uid) => `default/${uid}`,
    },
    onChange: (pods) => changes.push(pods),
    clock,
    logger: silentLogger,
    metrics,
    ...more,
  });
  return { manager, metrics, changes, clock: clock as FakeClock };
}

/** Admits a pod as the topology manager does. */
export async function admit(
  { allocator }: DeviceManager,
  pod: Pod,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  if (!allocator.appliesTo(pod)) return;
  using _ = await allocator.lock(pod, signal);
  try {
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
      await allocator.allocate(pod, container, anyNode, signal);
  } catch (error) {
    allocator.release(pod.metadata.uid);
    throw error;
  }
}

/** The devices of a container. */
export function idsOf(manager: DeviceManager, pod: Pod, container: string): string[] {
  return manager.of(pod.metadata.uid, container).flatMap(({ deviceIds }) => deviceIds);
}
