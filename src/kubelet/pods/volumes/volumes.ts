import { rmdir } from "node:fs/promises";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { HangGuard } from "../../../lib/host/hang-guard.ts";
import { makeDirs } from "../../../lib/host/make-dirs.ts";
import { hostMounts, type Mounts } from "../../../lib/host/mounts.ts";
import { type Commands, systemCommands } from "../../../lib/host/system-commands.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import { type EmptyDirOptions, emptyDirPlugin } from "./empty-dir/empty-dir.ts";
import { gitRepoPlugin } from "./git-repo/git-repo.ts";
import { hostPathPlugin } from "./host-path/host-path.ts";
import { imagePlugin } from "./image/image.ts";
import { localPlugin } from "./local/local.ts";
import { BlockMaps } from "./manager/block-maps.ts";
import { pluginOfDir } from "./manager/layout.ts";
import { type OperationsOptions, VolumeOperations } from "./manager/operations.ts";
import { VolumeManager, type VolumeManagerOptions } from "./manager/volume-manager.ts";
import { measurementMetric, ownershipMetric } from "./manager/volume-metrics.ts";
import { type VolumeStat, VolumeStats, type VolumeStatsOptions } from "./manager/volume-stats.ts";
import {
  type ContainerMountsOptions,
  containerDevices,
  containerMounts,
  type DeviceInit,
  type MountInit,
  type MountRequest,
} from "./mounts/container-mounts.ts";
import { applyFsGroup, type OwnershipRequest } from "./mounts/ownership.ts";
import { SubPaths } from "./mounts/sub-paths.ts";
import type { VolumeExpander } from "./persistent/volume-expander.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

export interface VolumesOptions
  extends Pick<
      VolumeManagerOptions,
      | "resolveClaim"
      | "nodePods"
      | "initialSync"
      | "rootDir"
      | "onInUseChange"
      | "mountLabels"
      | "volumeEvents"
    >,
    Pick<OperationsOptions, "verifyAttached" | "attaches" | "affinityConflict">,
    Pick<ContainerMountsOptions, "selinux" | "recursiveReadOnly" | "imageSource"> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly metrics: Metrics;
  /** Bytes of memory that all pods together may use. */
  readonly allocatableMemory: () => bigint;
  /** The PodLevelResources gate. */
  readonly podLevelResources?: boolean;
  /** Undefined without the gate LocalStorageCapacityIsolationFSQuotaMonitoring. */
  readonly diskQuotas?: EmptyDirOptions["quotas"];
  /** volumeStatsAggPeriod; undefined: volumes are not measured. */
  readonly statsMaxAgeMs: number | undefined;
  readonly onAbnormal?: VolumeStatsOptions["onAbnormal"];
  /** Types besides emptyDir, hostPath, local, image and gitRepo. */
  readonly plugins: (parts: PluginParts) => readonly VolumePlugin[];
  readonly dynamicPlugins?: VolumeManagerOptions["dynamicPlugins"];
  readonly mounts?: Mounts;
  /** Undefined without a cluster: volumes are not expanded. */
  readonly expander?: VolumeExpander | undefined;
}

/** Dependencies of the other volume plugins. */
export interface PluginParts {
  readonly mounts: Mounts;
  readonly commands: Commands;
  readonly applyFsGroup: (request: OwnershipRequest) => Promise<void>;
  /** Measures that a plugin has set the group of files itself. */
  readonly groupSet: (plugin: string, ok: boolean, seconds: number) => void;
  /** For calls on filesystems that may hang. */
  readonly guard: Pick<HangGuard, "run">;
}

export interface Volumes {
  readonly manager: VolumeManager;
  /** For the request to the runtime; prepares subPaths and pulls the images of image volumes. */
  mountsFor(
    pod: Pod,
    container: Container,
    env: ReadonlyMap<string, string>,
    request: MountRequest,
  ): Promise<MountInit[]>;
  devicesFor(pod: Pod, container: Container): Promise<DeviceInit[]>;
  stats(uid: PodUid): Promise<readonly VolumeStat[]>;
  /** The path of a volume on the node, if it is mounted. */
  pathOf(uid: PodUid, volume: string): string | undefined;
}

export function createVolumes(o: VolumesOptions): Volumes {
  const { rootDir, clock, logger, events, metrics, mounts = hostMounts } = o;
  const guard = new HangGuard(clock);
  const commands = systemCommands(clock);
  const subPaths = new SubPaths({ rootDir, mounts });
  const ownershipSet = ownershipMetric(metrics);
  const setOwnership = (request: OwnershipRequest) => {
    const plugin = pluginOfDir(rootDir, request.dir);
    const measured = (ok: boolean, seconds: number) => ownershipSet(plugin, request.spec, ok, seconds);
    return applyFsGroup(request, { clock, events, logger, measured });
  };
  const manager = new VolumeManager({
    ...o,
    plugins: [
      emptyDirPlugin({
        mounts,
        allocatableMemory: o.allocatableMemory,
        podLevelResources: o.podLevelResources,
        applyFsGroup: setOwnership,
        quotas: o.diskQuotas,
      }),
      hostPathPlugin({ guard }),
      localPlugin({
        rootDir,
        mounts,
        commands,
        events,
        guard,
        applyFsGroup: setOwnership,
        expander: o.expander,
      }),
      imagePlugin(),
      gitRepoPlugin(),
      ...o.plugins({
        mounts,
        commands,
        applyFsGroup: setOwnership,
        groupSet: (plugin, ok, seconds) => ownershipSet(plugin, undefined, ok, seconds),
        guard,
      }),
    ],
    operations: new VolumeOperations({
      events,
      blockMaps: new BlockMaps({ mounts }),
      cleanSubPaths: (uid, volume) => subPaths.clean(uid, volume),
      // Another volume may be about to use it: then it is not empty, or is recreated.
      makeDir: (dir) => makeDirs(dir, 0o750),
      removeIfEmpty: (dir) => rmdir(dir).catch(() => {}),
      verifyAttached: o.verifyAttached,
      attaches: o.attaches ?? false,
      affinityConflict: o.affinityConflict,
    }),
  });
  const mounted: ContainerMountsOptions["mounted"] = (uid, name) => manager.mounted(uid, name);
  const stats = new VolumeStats({
    clock,
    mounts,
    guard,
    mountedVolumes: (uid) => manager.mountedVolumes(uid),
    maxAgeMs: o.statsMaxAgeMs,
    measured: measurementMetric(metrics),
    ...(o.onAbnormal && { onAbnormal: o.onAbnormal }),
  });
  manager.onChange((uid, change) => change !== "updated" && stats.delete(uid));
  return {
    manager,
    mountsFor: (pod, container, env, request) =>
      containerMounts(pod, container, env, { ...o, mounted, subPaths, guard, logger }, request),
    devicesFor: (pod, container) => containerDevices(pod, container, mounted),
    stats: (uid) => stats.stats(uid),
    pathOf: (uid, volume) => manager.mounted(uid, volume)?.path,
  };
}
