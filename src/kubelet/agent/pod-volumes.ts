import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Component } from "../../lib/base/component.ts";
import { hostMounts } from "../../lib/host/mounts.ts";
import { projectQuotas } from "../../lib/host/project-quotas.ts";
import { nodeAffinityConflict } from "../../lib/model/node-selector.ts";
import type { Pod } from "../../lib/model/pod.ts";
import { amountsOf, wholeOf } from "../../lib/model/resources.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { PluginHandlers } from "../plugins/plugin-handler.ts";
import { PluginManager } from "../plugins/plugin-manager.ts";
import { AttachedVolumes, attachmentsOf } from "../pods/volumes/attached-volumes.ts";
import { contentPlugins } from "../pods/volumes/content/content-plugins.ts";
import { podsReferencing } from "../pods/volumes/content/content-references.ts";
import { PodCertificates } from "../pods/volumes/content/pod-certificates/pod-certificates.ts";
import type { ServiceAccountTokens } from "../pods/volumes/content/tokens/service-account-tokens.ts";
import { ClusterTrustBundles } from "../pods/volumes/content/trust-bundles/cluster-trust-bundles.ts";
import { type CsiVolumes, csiVolumes } from "../pods/volumes/csi/csi-volumes.ts";
import { kubeSecrets } from "../pods/volumes/csi/kube-secrets.ts";
import { DiskQuotas } from "../pods/volumes/empty-dir/disk-quotas.ts";
import { ProjectReservations } from "../pods/volumes/empty-dir/project-reservations.ts";
import { fcPlugin } from "../pods/volumes/fc/fc-plugin.ts";
import { driverSecrets } from "../pods/volumes/flex/driver-secrets.ts";
import { FlexDrivers } from "../pods/volumes/flex/flex-drivers.ts";
import { iscsiPlugin } from "../pods/volumes/iscsi/iscsi-plugin.ts";
import { scsiDevices } from "../pods/volumes/iscsi/scsi-devices.ts";
import { mountLabelsOptions } from "../pods/volumes/manager/mount-labels.ts";
import { nfsPlugin } from "../pods/volumes/nfs/nfs-plugin.ts";
import { noObjects, noSecrets } from "../pods/volumes/no-api.ts";
import { resolveClaim } from "../pods/volumes/persistent/resolve-volume.ts";
import { kubeVolumeApi } from "../pods/volumes/persistent/volume-api.ts";
import { VolumeExpander } from "../pods/volumes/persistent/volume-expander.ts";
import { needsDriver, waitsForAttachment } from "../pods/volumes/retried-volumes.ts";
import { hostDeviceDirs } from "../pods/volumes/tools/block-devices.ts";
import { SharedMounts } from "../pods/volumes/tools/shared-mounts.ts";
import type { VolumeSpec } from "../pods/volumes/volume-plugin.ts";
import {
  createVolumes,
  type PluginParts,
  type Volumes,
  type VolumesOptions,
} from "../pods/volumes/volumes.ts";
import type { AgentCore } from "./agent-core.ts";

export interface PodVolumes extends Volumes {
  /** `attachedVolumes` only where a controller attaches volumes to this node. */
  readonly handlers: Pick<EventHandlers, "volumes" | "plugins"> &
    Partial<Pick<EventHandlers, "attachedVolumes">>;
  /** Must be started in this order, before the first pod is synced. */
  readonly components: readonly Component[];
  /** Volume-related reasons why the node is not ready. */
  notReady(): string[];
  /** True once `notReady` is reliable. Earlier it may report a ready node as not ready. */
  isSettled(): boolean;
}

/** The volumes of pods, of all types that this node supports. */
export function podVolumes(
  core: AgentCore,
  {
    tokens,
    pluginHandlers,
    ...parts
  }: Pick<VolumesOptions, "initialSync" | "imageSource" | "recursiveReadOnly"> & {
    tokens: ServiceAccountTokens;
    /** The handlers of plugins that do not provide volumes. */
    pluginHandlers: PluginHandlers;
  },
): PodVolumes {
  const { options: o, config, node, clock, logger, events, metrics, desired, objects, view, post } = core;
  const api = o.cluster?.transport;
  const { rootDir, gates } = o;
  const common = { clock, logger };
  const bundles =
    api && gates.enabled("ClusterTrustBundleProjection")
      ? new ClusterTrustBundles({ api, ...common })
      : undefined;
  const certificates =
    api && view && gates.enabled("PodCertificateRequest")
      ? new PodCertificates({
          api,
          nodeName: node.name,
          nodeUid: () => view.node()?.metadata.uid,
          onChange: (uid) => post({ kind: "volume-content-changed", ref: { kind: "PodCertificate", uid } }),
          events,
          metrics,
          ...common,
        })
      : undefined;
  const claimEvents = core.cluster?.recorder.claims ?? { normal() {}, warning() {} };
  const expander = api && new VolumeExpander({ api: kubeVolumeApi(api), events, claimEvents, ...common });
  let csi: CsiVolumes | undefined;
  let flex: FlexDrivers | undefined;
  objects?.onChange((ref) => post({ kind: "volume-content-changed", ref }));
  bundles?.onChange(() => post({ kind: "volume-content-changed", ref: { kind: "ClusterTrustBundle" } }));

  const plugins = ({ mounts, commands, applyFsGroup, groupSet, guard }: PluginParts) => {
    const ownership = {
      apply: (dir: string, { pod, spec, fsGroup, fsGroupChangePolicy: policy, signal }: Ownership) =>
        applyFsGroup({ pod, spec, dir, fsGroup, policy, readOnly: false, signal }),
    };
    flex = new FlexDrivers({
      rootDir,
      nodeName: node.name,
      mounts,
      commands,
      guard,
      ownership,
      expander,
      ...common,
      pluginDir: config.volumePluginDir,
      secrets: api ? driverSecrets(api) : noSecrets,
      onDriver: () => post({ kind: "volume-plugins-changed" }),
    });
    if (api && expander)
      csi = csiVolumes({
        rootDir,
        nodeName: node.name,
        transport: api,
        tokens,
        mounts: hostMounts,
        checkMount: (path) => guard.run(path, () => statfs(path)),
        ownership,
        volumeHealth: gates.enabled("CSIVolumeHealth"),
        expander,
        ...common,
        metrics,
        onReady: () => post({ kind: "csi-node-ready" }),
        onDriver: (driver) => post({ kind: "csi-driver-changed", driver }),
      });
    return [
      ...contentPlugins({
        mounts,
        ...common,
        allocatable: () => node.info.allocatable,
        podLevelResources: node.settings.gates.podLevelResources,
        groupSet,
        objects: objects ?? noObjects,
        tokens,
        trustBundles: bundles,
        certificates,
      }),
      nfsPlugin({ commands, mounts, logger, mounterPath: o.nodeFlags?.experimentalMounterPath }),
      iscsiPlugin({
        rootDir,
        commands,
        devices: scsiDevices(),
        clock,
        mounts,
        secrets: api ? kubeSecrets(api) : noSecrets,
        ownership,
        logger,
      }),
      fcPlugin({ rootDir, commands, dirs: hostDeviceDirs, clock, mounts, ownership, logger }),
      ...(csi ? [csi.plugin] : []),
    ];
  };
  const attached =
    api && view && config.enableControllerAttachDetach !== false
      ? new AttachedVolumes({
          observed: () => view.node(),
          get: attachmentsOf(api, node.name),
          clock,
          onAttached: () => post({ kind: "volumes-attached" }),
        })
      : undefined;
  const volumes = createVolumes({
    ...parts,
    nodePods: core.nodePods,
    attaches: config.enableControllerAttachDetach === false,
    onInUseChange: () => post({ kind: "volumes-in-use" }),
    ...(attached && { verifyAttached: (unique, signal, timed) => attached.verify(unique, signal, timed) }),
    rootDir,
    ...common,
    events,
    volumeEvents: core.cluster?.recorder.volumes,
    metrics,
    allocatableMemory: () => wholeOf(amountsOf(node.info.allocatable), "memory"),
    podLevelResources: node.settings.gates.podLevelResources,
    diskQuotas: gates.enabled("LocalStorageCapacityIsolationFSQuotaMonitoring")
      ? new DiskQuotas({
          quotas: projectQuotas,
          reservations: new ProjectReservations("/etc", clock),
          logger,
        })
      : undefined,
    statsMaxAgeMs: config.volumeStatsAggPeriod > 0 ? config.volumeStatsAggPeriod : undefined,
    onAbnormal(uid, volume, message) {
      const pod = desired.get(uid);
      if (pod) events.warning(pod, "VolumeConditionAbnormal", `Volume ${volume}: ${message}`);
    },
    selinux: node.info.selinux,
    mountLabels: mountLabelsOptions({ selinux: node.info.selinux, defaults: node.containerLabels, gates }),
    expander,
    ...(api && {
      resolveClaim: (pod, volume, signal) => resolveClaim(kubeVolumeApi(api), pod, volume, signal),
    }),
    ...(view && {
      affinityConflict: (affinity) =>
        nodeAffinityConflict(affinity, { name: node.name, labels: view.labelsAndTaints().labels }),
    }),
    plugins,
    dynamicPlugins: () => flex?.plugins() ?? [],
  });
  const handlers = { ...pluginHandlers, ...(csi && { CSIPlugin: csi.registration }) };
  const registry = new PluginManager({
    dir: join(rootDir, "plugins_registry"),
    handlers,
    ...common,
    metrics,
  });
  return {
    ...volumes,
    handlers: {
      volumes: {
        "runtime-synced": () => volumes.manager.resync(),
        // Mounts that failed because of it are retried immediately.
        "volumes-attached": () => volumes.manager.resync(waitsForAttachment),
        "csi-driver-changed": ({ driver }) => volumes.manager.resync((volume) => needsDriver(volume, driver)),
        "volume-plugins-changed": () => volumes.manager.pluginsChanged(),
        "volume-content-changed": ({ ref }) => volumes.manager.changed(podsReferencing(desired.all(), ref)),
        "node-changed": () => {
          if (view?.node()) csi?.node.nodeExists();
        },
        // A volume that was never set up is not torn down either.
        "worker-gone": ({ uid }) => certificates?.delete(uid),
      },
      // Drivers are also registered with the API server.
      plugins: { "api-reconnected": () => registry.retry() },
      ...(attached && {
        attachedVolumes: {
          "volumes-reported": ({ names }) => attached.reported(names),
          "node-changed": () => attached.changed(),
        },
      }),
    },
    components: [
      new SharedMounts(rootDir),
      ...(bundles ? [bundles] : []),
      ...(certificates ? [certificates] : []),
      ...(csi?.components ?? []),
      // The volumes on disk need the plugins of their drivers.
      ...(flex ? [flex] : []),
      volumes.manager,
      registry,
    ],
    isSettled: () => csi?.node.attempted ?? true,
    notReady: () => {
      const health = csi?.node.health();
      return health && !health.ok ? [health.reason] : [];
    },
  };
}

interface Ownership {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  readonly fsGroup: number | undefined;
  readonly fsGroupChangePolicy: "Always" | "OnRootMismatch" | undefined;
  readonly signal: AbortSignal;
}
