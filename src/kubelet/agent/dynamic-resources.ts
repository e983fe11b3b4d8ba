import { whenAborted } from "../../lib/base/abort.ts";
import type { Component } from "../../lib/base/component.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { ResourceClaim } from "../../lib/gen/kubernetes/resource.d.ts";
import type { Container, Pod, PodUid } from "../../lib/model/pod.ts";
import type { PluginHandler } from "../plugins/plugin-handler.ts";
import { ClaimManager } from "../resources/dra/claim-manager.ts";
import { type ClaimStates, devicesOf } from "../resources/dra/claim-state.ts";
import { DevicesHealth } from "../resources/dra/device-health.ts";
import { draMetrics } from "../resources/dra/dra-metrics.ts";
import { DraDrivers } from "../resources/dra/drivers.ts";
import { watchHealth } from "../resources/dra/health-watch.ts";
import { OrphanedClaims } from "../resources/dra/orphaned-claims.ts";
import { resourceStatuses } from "../resources/dra/resource-status.ts";
import { SliceCleanup } from "../resources/dra/slice-cleanup.ts";
import type { AllocatedClaim } from "../server/pod-resources/sources.ts";
import { readySandbox } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";

const resourceApi = "/apis/resource.k8s.io/v1";
const requestTimeoutMs = 10_000;

export type DynamicResources = NonNullable<ReturnType<typeof dynamicResources>>;

/** The resource claims of pods and their drivers. Undefined without an API server: it has the claims. */
export function dynamicResources(core: AgentCore) {
  const { options: o, node, clock, logger, metrics, observed, view, post } = core;
  const api = o.cluster?.transport;
  if (!api || !view) return undefined;
  const withHealth = o.gates.enabled("ResourceHealthStatus");
  const withMessage = o.gates.enabled("ResourceHealthStatusMessage");
  const states: ClaimStates = new Map();
  const measured = draMetrics(metrics, clock, states);
  const slices = new SliceCleanup({
    clock,
    logger,
    deleteSlices: sliceDeleter(api, node.name),
    isRegistered: () => view.node() !== undefined,
  });
  const health = new DevicesHealth(clock, (driver) => {
    for (const uid of usersOf(states, driver)) post({ kind: "device-health-changed", uid });
  });
  const drivers = new DraDrivers({
    clock,
    logger,
    slices,
    metrics: measured,
    onConnected: (driver) => post({ kind: "dra-driver-connected", driver }),
    ...(withHealth && {
      watchHealth: (driver, channel, signal) =>
        void watchHealth({ health, clock, logger }, driver, channel, signal),
    }),
  });
  const claims = new ClaimManager({
    rootDir: o.rootDir,
    clock,
    logger,
    states,
    metrics: measured,
    getClaim: claimGetter(api),
    drivers,
    extendedResources: o.gates.enabled("DRAExtendedResource"),
    podGroups: o.gates.enabled("DRAWorkloadResourceClaims"),
  });
  const orphans = new OrphanedClaims(claims, logger);
  const plugins: PluginHandler = drivers;
  return {
    plugins,
    orphans,
    component: componentOf({ claims, slices, orphans, drivers }),
    claims: {
      prepare: (pod: Pod, onStep: (text: string) => void, signal: AbortSignal) =>
        claims.prepare(
          pod,
          { hasSandbox: readySandbox(observed.get(pod.metadata.uid)) !== undefined, onStep },
          signal,
        ),
      unprepare: (uid: PodUid, onStep: (text: string) => void, signal: AbortSignal) =>
        claims.unprepare(uid, onStep, signal),
    },
    cdiDevices: (pod: Pod, container: Container) => claims.cdiDevices(pod, container),
    sources: { claims: { of: (pod: Pod, name: string) => allocatedClaims(claims, pod, name) } },
    /** The health of the devices of a container. */
    healthOf: (pod: Pod | undefined, name: string) => {
      const container = pod?.spec.containers.find((one) => one.name === name);
      if (!pod || !container?.resources?.claims?.length) return [];
      return resourceStatuses({
        container,
        claimOf: (podClaim) => claimNamed(claims, pod, podClaim),
        healthOf: (driver, pool, device) => health.get(driver, pool, device),
        withMessage,
      });
    },
  };
}

function componentOf(parts: {
  claims: ClaimManager;
  slices: SliceCleanup;
  orphans: OrphanedClaims;
  drivers: DraDrivers;
}): Component {
  const { claims, slices, orphans, drivers } = parts;
  const ended = Promise.withResolvers<void>();
  return {
    name: "dynamic-resources",
    start: async (signal) => {
      await claims.load();
      slices.start(signal);
      orphans.start(signal);
      whenAborted(signal, () => {
        drivers.close();
        void Promise.all([slices.ended(), orphans.ended()]).then(() => ended.resolve());
      });
    },
    done: ended.promise,
  };
}

function claimGetter(api: KubeTransport) {
  return (namespace: string, name: string, signal: AbortSignal) => {
    const path = `${resourceApi}/namespaces/${encodeURIComponent(namespace)}/resourceclaims/${encodeURIComponent(name)}`;
    return api.request<ResourceClaim>({ method: "GET", path, signal, timeoutMs: requestTimeoutMs });
  };
}

function sliceDeleter(api: KubeTransport, nodeName: string) {
  return async (driver: string | undefined, signal: AbortSignal) => {
    const fieldSelector = [
      `spec.nodeName=${nodeName}`,
      ...(driver === undefined ? [] : [`spec.driver=${driver}`]),
    ].join(",");
    const path = `${resourceApi}/resourceslices`;
    await api.request({
      method: "DELETE",
      path,
      query: { fieldSelector },
      signal,
      timeoutMs: requestTimeoutMs,
    });
  };
}

function usersOf(states: ClaimStates, driver: string): Set<PodUid> {
  return new Set([...states.values()].flatMap(({ pods, drivers }) => (drivers.has(driver) ? [...pods] : [])));
}

function claimNamed(claims: ClaimManager, pod: Pod, podClaim: string) {
  const reference = pod.spec.resourceClaims?.find(({ name }) => name === podClaim);
  const generated = pod.status?.resourceClaimStatuses?.find(({ name }) => name === podClaim);
  const name = reference?.resourceClaimName ?? generated?.resourceClaimName;
  return [...claims.all()].find((claim) => claim.name === name && claim.namespace === pod.metadata.namespace);
}

function claimsOrNone(claims: ClaimManager, pod: Pod, container: Container) {
  try {
    return claims.ofContainer(pod, container);
  } catch {
    return [];
  }
}

/** Empty while the claims of the pod are not known. */
function allocatedClaims(claims: ClaimManager, pod: Pod, name: string): AllocatedClaim[] {
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(
    (one) => one.name === name,
  );
  if (!container) return [];
  return claimsOrNone(claims, pod, container).map(({ claim }) => ({
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
