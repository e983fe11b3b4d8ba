import type { Component } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { declaredFeatures } from "../node/declared-features.ts";
import { HostAddresses } from "../node/host-addresses.ts";
import { LeaseManager } from "../node/lease-manager.ts";
import { readMachineSize } from "../node/machine-size.ts";
import { kubeLeaseApi, kubeNodeApi } from "../node/node-api.ts";
import { record, startEvents } from "../node/node-events.ts";
import type { StatusInputs } from "../node/node-status.ts";
import { NodeStatusManager } from "../node/node-status-manager.ts";
import { RecentImages } from "../node/recent-images.ts";
import { startupMetrics } from "../node/startup-metrics.ts";
import type { EventHandler } from "../pipeline/sync-loop/event-table.ts";
import type { DeviceManager } from "../resources/devices/device-manager.ts";
import type { AgentCore } from "./agent-core.ts";
import type { ClusterApi } from "./cluster-api.ts";
import type { PodVolumes } from "./pod-volumes.ts";

export interface ClusterNode {
  readonly components: readonly Component[];
  readonly handler: EventHandler<"nodeStatus">;
  /** Records the node events of a start. */
  recordStartEvents(): void;
}

/** No call to the runtime delays a heartbeat for longer. */
const runtimeMs = 10_000;

/** The node in the API: registered, its status and its lease kept up to date. */
export function clusterNode(
  core: AgentCore,
  cluster: ClusterApi,
  parts: {
    notReady: () => string[];
    volumes: Pick<PodVolumes, "manager" | "isSettled">;
    devices: Pick<DeviceManager, "amounts" | "isNewNode">;
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
    view,
    settings,
    info: statusInfo(core, cluster, parts),
    notReady: parts.notReady,
    isSettled: () => connection.state.kind !== "unknown" && parts.volumes.isSettled(),
    onVolumesReported: (names) => post({ kind: "volumes-reported", names }),
    startup: startupMetrics({ metrics, clock, ...node }),
    devices: parts.devices,
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
    volumes: Pick<PodVolumes, "manager">;
    devices: Pick<DeviceManager, "amounts">;
  },
): () => Promise<StatusInputs> {
  const { node, connection, features, logger, options, pressure } = core;
  const { configuration, identity } = node;
  const images = new RecentImages(core);
  const { nodeIps, settings } = configuration;
  const { externalCloudProvider } = settings;
  const addresses = new HostAddresses({
    nodeName: node.name,
    nodeIps,
    externalCloudProvider,
    clock: core.clock,
  });
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
    addresses: await addresses.read(),
    system: { ...identity, swapBytes: node.info.swapCapacity },
    runtime: { name: connection.runtime?.name ?? "unknown", version: connection.runtime?.version },
    kubeletVersion,
    images: await images.list(),
    handlers: features.handlers().map(({ name, recursiveReadOnlyMounts, userNamespaces }) => ({
      name,
      features: { recursiveReadOnlyMounts, userNamespaces },
    })),
    supplementalGroupsPolicy: features.reportedSupplementalGroupsPolicy(),
    declaredFeatures: declaredFeatures(options.gates, features),
    conditions: { pressure: pressure.conditions, notReady: parts.notReady() },
    volumesInUse: parts.volumes.manager.inUse(),
  });
}
