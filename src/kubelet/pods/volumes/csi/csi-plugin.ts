import { basename } from "node:path";
import type { VolumeExpander } from "../persistent/volume-expander.ts";
import type { BlockPlugin, DevicePlugin, SetUp, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { isMapped, mapDevice, unmapDevice } from "./block.ts";
import { csiText, final } from "./csi-failure.ts";
import type { CsiNeeds } from "./csi-needs.ts";
import { expandVolume } from "./expand.ts";
import { blockPlaces, csiPluginName, globalMountDir, mountPathIn } from "./names.ts";
import { isPublished, publishVolume, unpublishVolume } from "./publish.ts";
import { dataAt, isBlockPlace, reconstructVolume, stagedVolumes } from "./reconstruct.ts";
import { csiSourceOf, folderName, type PersistentCsiSource, persistentSourceOf } from "./source.ts";
import { stageVolume, unstageVolume } from "./stage.ts";
import { volumeUsage } from "./usage.ts";

export interface CsiPluginOptions extends CsiNeeds {
  /** Undefined without a cluster: nobody asks for volumes to grow. */
  readonly expander: VolumeExpander | undefined;
}

/** Volumes of CSI drivers. */
export function csiPlugin(options: CsiPluginOptions): VolumePlugin {
  const { rootDir, objects, attachments, drivers, expander } = options;
  /** Where a driver has said that it is done; of a former agent's volumes what it noted says so (`isPublished`). */
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
  const grow = async (
    request: Pick<SetUp, "pod" | "spec" | "signal">,
    volumePath: string,
    stagingPath: string,
  ): Promise<void> => {
    const { pod, spec, signal } = request;
    if (!expander || !spec.persistent) return;
    if (expander.mayBeWanted(spec)) {
      const work = (size: string) => expandVolume(options, { spec, volumePath, stagingPath, size }, signal);
      await expander.expandIfWanted(pod, spec, work, signal);
    }
    expander.used(spec);
  };

  const device: DevicePlugin = {
    applies: (spec) => persistentSourceOf(spec) !== undefined,
    attachable: (spec) => objects.known(sourceOf(spec).driver)?.attachRequired !== false,
    waitForAttach: (_pod, spec, signal, verified) => attachments.wait(sourceOf(spec), signal, verified),
    isExhausted: (spec, signal) => attachments.isExhausted(sourceOf(spec), signal),
    deviceDir,
    async mountDevice(_pod, spec, dir, fsGroup, signal) {
      // It was in use by nobody here: how large it was then counts no more.
      if (spec.persistent) expander?.forget(spec.persistent.volumeName);
      await stageVolume(options, spec, dir, fsGroup, signal);
    },
    unmountDevice: (dir, signal) => unstageVolume(options, dir, signal),
    async found() {
      const staged = await stagedVolumes(rootDir);
      return staged.map(({ dir, spec }) => ({ dir, spec, unique: uniqueNameOf(sourceOf(spec)) }));
    },
  };

  const block: BlockPlugin = {
    async map(pod, spec, place, signal) {
      const places = blockPlaces(rootDir, folderName(spec), place.podUid);
      const { staging } = places;
      const isThere = await isMapped(options, places);
      const path = isThere ? places.publish : await mapDevice(options, pod, spec, place, signal);
      await grow({ pod, spec, signal }, path, staging);
      return path;
    },
    unmap: (place, signal) => unmapDevice(options, place, signal),
    globalMapDir: (name) => blockPlaces(rootDir, name, "").global,
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
      const isThere = published.has(dir) || (await isPublished(options, request));
      if (!isThere || republishes(spec)) await publishVolume(options, request);
      published.add(dir);
      if (spec.persistent) await grow(request, mountPathIn(dir), deviceDir(spec));
    },
    async tearDown(place, signal) {
      published.delete(place.dir);
      await unpublishVolume(options, place, signal);
    },
    async isKept(pod, spec, place) {
      const { podUid, dir } = place;
      if (isBlockPlace(place)) return isMapped(options, blockPlaces(rootDir, folderName(spec), podUid));
      return isPublished(options, { pod, spec, dir });
    },
    followsNow: (spec) => republishes(spec) || (expander?.mayBeWanted(spec) ?? false),
    mountPath: mountPathIn,
    device,
    block,
    async stats(place, _spec, signal) {
      const data = await dataAt(rootDir, place);
      if (!data || !drivers.get(data.driverName)) return undefined;
      const path = isBlockPlace(place)
        ? blockPlaces(rootDir, basename(place.dir), place.podUid).publish
        : mountPathIn(place.dir);
      return volumeUsage(options, data, path, signal);
    },
    reconstruct: (place) => reconstructVolume(rootDir, place),
  };
}

function uniqueNameOf({ driver, handle }: PersistentCsiSource): string {
  return `${csiPluginName}/${driver}^${handle}`;
}
