import { basename } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { VolumeExpander } from "../persistent/volume-expander.ts";
import { storesLabels } from "../tools/selinux-labels.ts";
import type {
  BlockVolumeMapper,
  DeviceMounter,
  SetUpRequest,
  VolumePlugin,
  VolumeSpec,
} from "../volume-plugin.ts";
import { isMapped, mapDevice, tearDownDevice, unmapDevice } from "./block.ts";
import type { CsiDeps } from "./csi-deps.ts";
import { csiText, final } from "./csi-failure.ts";
import { expandVolume } from "./expand.ts";
import { blockPaths, csiPluginName, globalMountDir, mountPathIn } from "./names.ts";
import { isPublished, publishVolume, unpublishVolume } from "./publish.ts";
import { dataAt, isBlockTarget, reconstructVolume, stagedVolumes } from "./reconstruct.ts";
import { csiSourceOf, dirNameOf, type PersistentCsiSource, persistentSourceOf } from "./source.ts";
import { stageVolume, unstageVolume } from "./stage.ts";
import { volumeUsage } from "./usage.ts";

export interface CsiPluginOptions extends CsiDeps {
  /** Undefined without a cluster: volumes are not expanded. */
  readonly expander: VolumeExpander | undefined;
}

/** Volumes of CSI drivers. */
export function csiPlugin(options: CsiPluginOptions): VolumePlugin {
  const { rootDir, objects, attachments, drivers, expander, mounts } = options;
  /** Directories with a completed publish call; for volumes of a previous agent see `isPublished`. */
  const published = new Set<string>();

  const sourceOf = (spec: VolumeSpec): PersistentCsiSource => {
    const source = persistentSourceOf(spec);
    if (source) return source;
    throw final(csiText("unexpected api.CSIVolumeSource found in volume.Spec"));
  };
  const deviceDir = (spec: VolumeSpec): string => {
    const { driver, handle } = sourceOf(spec);
    return globalMountDir(rootDir, driver, handle);
  };
  const republishes = (spec: VolumeSpec): boolean => {
    const driver = csiSourceOf(spec, "")?.driver;
    return driver !== undefined && objects.known(driver)?.requiresRepublish === true;
  };
  const expand = async (
    request: Pick<SetUpRequest, "pod" | "spec" | "signal">,
    volumePath: string,
    stagingPath: string,
  ): Promise<void> => {
    const { pod, spec, signal } = request;
    if (!expander || !spec.persistent) return;
    if (expander.mayBeNeeded(spec)) {
      const work = (size: string) => expandVolume(options, { spec, volumePath, stagingPath, size }, signal);
      await expander.expandIfNeeded(pod, spec, work, signal);
    }
    expander.markInUse(spec);
  };

  const device: DeviceMounter = {
    applies: (spec) => persistentSourceOf(spec) !== undefined,
    attachable: (spec) => objects.known(sourceOf(spec).driver)?.attachRequired !== false,
    async attach() {
      throw new KubeletError("Csi", "attaching volumes from the kubelet is not supported");
    },
    waitForAttach: (_pod, spec, signal, verified) => attachments.wait(sourceOf(spec), signal, verified),
    isExhausted: (spec, signal) => attachments.isExhausted(sourceOf(spec), signal),
    deviceDir,
    async mountDevice(_pod, spec, dir, fsGroup, signal, label) {
      // The volume was not in use on this node: the recorded size is outdated.
      if (spec.persistent) expander?.resetSize(spec.persistent.volumeName);
      await stageVolume(options, { spec, stagingPath: dir, fsGroup, label }, signal);
    },
    unmountDevice: (dir, signal) => unstageVolume(options, dir, signal),
    async reconstructDevices() {
      const staged = await stagedVolumes(rootDir);
      return staged.map(({ dir, spec }) => ({ dir, spec, unique: uniqueNameOf(sourceOf(spec)) }));
    },
  };

  const block: BlockVolumeMapper = {
    async map(pod, spec, target, signal) {
      const paths = blockPaths(rootDir, dirNameOf(spec), target.podUid);
      const { staging } = paths;
      const isAlreadyMapped = await isMapped(options, paths);
      const path = isAlreadyMapped ? paths.publish : await mapDevice(options, pod, spec, target, signal);
      await expand({ pod, spec, signal }, path, staging);
      return path;
    },
    unmap: (target, signal) => unmapDevice(options, target, signal),
    tearDownDevice: (target, signal) => tearDownDevice(options, target, signal),
    globalMapDir: (name) => blockPaths(rootDir, name, "").global,
  };

  return {
    name: csiPluginName,
    handles: (spec) => csiSourceOf(spec, "") !== undefined,
    uniqueName(pod, spec) {
      const source = persistentSourceOf(spec);
      if (source) return uniqueNameOf(source);
      return `${csiPluginName}/${pod.metadata.uid}-${spec.name}`;
    },
    async setUp(request) {
      const { spec, dir } = request;
      const isAlreadyPublished = published.has(dir) || (await isPublished(options, request));
      if (!isAlreadyPublished || republishes(spec)) await publishVolume(options, request);
      published.add(dir);
      if (spec.persistent) await expand(request, mountPathIn(dir), deviceDir(spec));
    },
    async tearDown(target, signal) {
      published.delete(target.dir);
      await unpublishVolume(options, target, signal);
    },
    async isStillSetUp(pod, spec, target) {
      const { podUid, dir } = target;
      if (isBlockTarget(target)) return isMapped(options, blockPaths(rootDir, dirNameOf(spec), podUid));
      return isPublished(options, { pod, spec, dir });
    },
    requiresRemountNow: (spec) => republishes(spec) || (expander?.mayBeNeeded(spec) ?? false),
    expandsNow: (spec) => !republishes(spec),
    mountPath: mountPathIn,
    // Only the driver knows the filesystem, and only the kernel knows whether the filesystem stores labels.
    relabels: (spec, path, label) => !spec.readOnly && label === "" && storesLabels(mounts.list(), path),
    async mountsWithLabel(spec, signal) {
      const driver = csiSourceOf(spec, "")?.driver;
      return driver !== undefined && (await objects.get(driver, signal))?.seLinuxMount === true;
    },
    device,
    block,
    async stats(target, _spec, signal) {
      const data = await dataAt(rootDir, target);
      if (!data || !drivers.get(data.driverName)) return undefined;
      const path = isBlockTarget(target)
        ? blockPaths(rootDir, basename(target.dir), target.podUid).publish
        : mountPathIn(target.dir);
      return volumeUsage(options, data, path, signal);
    },
    reconstruct: (target) => reconstructVolume(rootDir, target),
  };
}

function uniqueNameOf({ driver, handle }: PersistentCsiSource): string {
  return `${csiPluginName}/${driver}^${handle}`;
}
