import { msSince, sleep } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { MonotonicTime } from "../../lib/base/time.ts";
import { addressesOfName, defaultRouteAddresses, interfaceAddresses } from "../../lib/host/host-addresses.ts";
import type { AddressInfo } from "../node/addresses.ts";
import { declaredFeatures } from "../node/declared-features.ts";
import type { ImageInfo } from "../node/images.ts";
import { LeaseManager } from "../node/lease-manager.ts";
import { readMachineSize } from "../node/machine-size.ts";
import { kubeLeaseApi, kubeNodeApi } from "../node/node-api.ts";
import { record, startEvents } from "../node/node-events.ts";
import type { StatusInputs } from "../node/node-status.ts";
import { NodeStatusManager } from "../node/node-status-manager.ts";
import { startupMetrics } from "../node/startup-metrics.ts";
import type { EventHandler } from "../pipeline/sync-loop/event-table.ts";
import type { DeviceAmounts } from "../resources/devices/device-inventory.ts";
import type { AgentCore } from "./agent-core.ts";
import type { ClusterApi } from "./cluster-api.ts";

export interface ClusterNode {
  readonly components: readonly Component[];
  readonly handler: EventHandler<"nodeStatus">;
  /** Records the node events of a start. */
  recordStartEvents(): void;
}

/** Images change rarely, and listing them is expensive for the runtime. */
const imagesEveryMs = 30_000;
/** No call to the runtime delays a heartbeat for longer. */
const runtimeMs = 10_000;
const resolveWithinMs = 1000;

/** The node in the API: registered, its status and its lease kept up to date. */
export function clusterNode(
  core: AgentCore,
  cluster: ClusterApi,
  parts: {
    notReady: () => string[];
    isSettled: () => boolean;
    volumesInUse: () => string[] | undefined;
    devices: { amounts(): DeviceAmounts; isNewNode(): boolean };
  },
): ClusterNode {
  const { node, cri, connection, clock, logger, metrics, nodeEvents, post } = core;
  const { configuration } = node;
  const { view, unlimited, settings } = cluster;
  const timeoutMs = configuration.requestTimeoutMs;
  const api = kubeNodeApi({ transport: unlimited, nodeName: node.name, timeoutMs });
  const common = { clock, logger, random: Math.random };
  const status = new NodeStatusManager({
    ...common,
    ...configuration.manager,
    api,
    cached: () => view.node(),
    settings,
    info: statusInfo(core, cluster, parts),
    notReady: parts.notReady,
    isSettled: () => connection.state.kind !== "unknown" && parts.isSettled(),
    onVolumesReported: (names) => post({ kind: "volumes-reported", names }),
    startup: startupMetrics({ metrics, clock, ...node }),
    resetExtendedResources: () => parts.devices.isNewNode(),
    events: nodeEvents,
    // Where the cluster allocates pod CIDRs, the runtime configures its network with them.
    onPodCidrs: (cidrs, signal) => cri.updateRuntimeConfig(cidrs.join(","), { signal, timeoutMs: runtimeMs }),
  });
  const lease = new LeaseManager({
    ...common,
    api: kubeLeaseApi({ transport: unlimited, nodeName: node.name, timeoutMs }),
    nodeName: node.name,
    durationSeconds: configuration.leaseSeconds,
    nodeUid: async (signal) => {
      await status.whenRegistered(signal);
      return view.node()?.metadata.uid ?? (await api.get(signal)).metadata.uid ?? "";
    },
  });
  return {
    components: [status, lease],
    handler: {
      "runtime-state": () => status.wake(),
      "volumes-in-use": () => status.wake(),
      "csi-node-ready": () => status.wake(),
      "pressure-changed": () => status.wake(),
      "devices-changed": () => status.wake(),
      "shutdown-changed": () => status.wake(),
      // Status and heartbeats are written by this agent.
      "node-changed": ({ spec }) => {
        if (spec) status.wake();
      },
    },
    recordStartEvents: () => record(nodeEvents, startEvents({ cgroupVersion: node.info.cgroupVersion })),
  };
}

function statusInfo(
  core: AgentCore,
  { options: { kubeletVersion } }: ClusterApi,
  parts: {
    notReady: () => string[];
    volumesInUse: () => string[] | undefined;
    devices: { amounts(): DeviceAmounts };
  },
): () => Promise<StatusInputs> {
  const { node, connection, features, logger, options, pressure } = core;
  const { configuration, identity } = node;
  const images = recentImages(core);
  const addresses = addressInfo(core);
  return async () => ({
    ...configuration.info,
    machine: await readMachineSize({
      rootDir: options.rootDir,
      localStorage: configuration.info.localStorage,
    }).catch((error: unknown) => {
      logger.warn("Failed to read machine capacity", { err: messageOf(error) });
      return undefined;
    }),
    devices: parts.devices.amounts(),
    addresses: await addresses(),
    system: { ...identity, swapBytes: node.info.swapCapacity },
    runtime: { name: connection.runtime?.name ?? "unknown", version: connection.runtime?.version },
    kubeletVersion,
    images: await images(),
    handlers: features.handlers().map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces },
    })),
    supplementalGroupsPolicy: features.supplementalGroupsPolicy(),
    declaredFeatures: declaredFeatures((gate) => options.gates.enabled(gate), features),
    conditions: { pressure: pressure.conditions, notReady: parts.notReady() },
    volumesInUse: parts.volumesInUse(),
  });
}

function addressInfo({ node, clock }: AgentCore): () => Promise<AddressInfo> {
  const { nodeIps, settings } = node.configuration;
  let resolvedIps: readonly string[] = [];
  /** A resolver that hangs must not delay the heartbeat: its last result is used until a new one arrives. */
  const resolve = async () => {
    const lookup = addressesOfName(node.name).then((found) => {
      resolvedIps = found;
    });
    const waited = new AbortController();
    await Promise.race([lookup, sleep(clock, resolveWithinMs, waited.signal).catch(() => {})]);
    waited.abort();
    return resolvedIps;
  };
  return async () => {
    const interfaces = interfaceAddresses();
    return {
      hostname: node.name,
      nodeName: node.name,
      nodeIps,
      externalCloudProvider: settings.externalCloudProvider,
      hostIps: Object.values(interfaces).flat(),
      resolvedIps: nodeIps.length > 0 ? [] : await resolve(),
      defaultRouteIps: await defaultRouteAddresses(interfaces),
    };
  };
}

/** The images of the node, listed at most every 30 seconds. Undefined until the runtime has listed them once. */
function recentImages({ cri, connection, clock, logger }: AgentCore): () => Promise<ImageInfo[] | undefined> {
  let last: { at: MonotonicTime; images: ImageInfo[] } | undefined;
  return async () => {
    const isRecent = last !== undefined && msSince(clock, last.at) < imagesEveryMs;
    // A runtime that is unavailable would delay the heartbeat.
    if (connection.state.kind !== "up" || isRecent) return last?.images;
    try {
      const listed = await cri.listImages({ timeoutMs: runtimeMs });
      const images = listed.map(({ repoDigests, repoTags, size }) => ({
        repoDigests,
        repoTags,
        sizeBytes: Number(size),
      }));
      last = { at: clock.monotonic(), images };
    } catch (error) {
      logger.debug(2, "Failed to list images", { err: messageOf(error) });
    }
    return last?.images;
  };
}
