import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf } from "../../../../lib/base/errors.ts";
import { exists, listDir } from "../../../../lib/host/entries.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { PodVolumeTarget, VolumeSpec } from "../volume-plugin.ts";
import type { CsiClient, DriverCapabilities } from "./csi-client.ts";
import type { CsiDeps } from "./csi-deps.ts";
import { CsiFailure, csiText, final, isFinalError, transient } from "./csi-failure.ts";
import { removeDir } from "./mount-dir.ts";
import { attachmentName, type BlockPaths, blockPaths } from "./names.ts";
import { clientFor } from "./publish.ts";
import { publishContent } from "./publish-content.ts";
import {
  accessModeOf,
  dirNameOf,
  type PersistentCsiSource,
  persistentSourceOf,
  type StringMap,
} from "./source.ts";
import { stageSecrets } from "./stage.ts";
import { loadVolumeData, removeVolumeData, saveVolumeData } from "./volume-data.ts";

const accessType = { kind: "block" } as const;
/** The content of a pod's file in `podRefs` after the driver has published the device. */
const published = "published\n";

/** True if the device is known to be published to the pod, by this agent or a previous one. */
export async function isMapped({ mounts }: Pick<CsiDeps, "mounts">, paths: BlockPaths): Promise<boolean> {
  const recorded = await readFile(paths.podRef, "utf8").catch(() => "");
  if (recorded !== published) return false;
  if (await mounts.isMountPoint(paths.publish)) return true;
  return stat(paths.publish).then(
    (found) => found.isBlockDevice(),
    () => false,
  );
}

/** Publishes the device to the pod, and returns its path. */
export async function mapDevice(
  deps: CsiDeps,
  pod: Pod,
  spec: VolumeSpec,
  target: PodVolumeTarget,
  signal: AbortSignal,
): Promise<string> {
  const source = persistentSourceOf(spec);
  if (!source) throw final(csiText("blockMapper.SetUpDevice failed to get CSI persistent source"));
  const client = clientFor(deps, source.driver, "blockMapper.SetUpDevice failed to get CSI client");
  const paths = blockPaths(deps.rootDir, dirNameOf(spec), target.podUid);
  const publishContext = await deps.attachments.publishContext(source, signal).catch((error) => {
    signal.throwIfAborted();
    const what = `blockMapper.SetupDevice failed to get volume attachment [id=${deps.attachments.nameOf(source)}]`;
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
  const capabilities = await capabilitiesOf(client, signal);
  await saveVolumeData(paths.data, {
    specVolID: dirNameOf(spec),
    volumeHandle: source.handle,
    driverName: source.driver,
    nodeName: deps.nodeName,
    attachmentID: attachmentName(source.handle, source.driver, deps.nodeName),
  });
  // Written before the call: the volume remains staged while a pod has a file here.
  await mkdir(paths.podRefs, { recursive: true, mode: 0o750 });
  await writeFile(paths.podRef, "", { flag: "a" });
  try {
    const volume = { source, client, capabilities, publishContext, paths };
    await stageDevice(deps, volume, signal);
    await publishDevice(deps, volume, pod, signal);
    await writeFile(paths.podRef, published);
    return paths.publish;
  } catch (error) {
    if (isFinalError(error)) {
      await rm(paths.podRef, { force: true });
      if ((await podRefsOf(paths)) === 0 && !(await exists(paths.staging))) await removeDirs(paths);
    }
    throw error;
  }
}

interface BlockVolume {
  readonly source: PersistentCsiSource;
  readonly client: CsiClient;
  readonly capabilities: DriverCapabilities;
  readonly publishContext: StringMap;
  readonly paths: BlockPaths;
}

async function stageDevice(deps: CsiDeps, volume: BlockVolume, signal: AbortSignal): Promise<void> {
  const { source, client, capabilities, publishContext, paths } = volume;
  if (!capabilities.stages) return;
  const secrets = await stageSecrets(deps, source, signal);
  const existed = await exists(paths.staging);
  await mkdir(paths.staging, { recursive: true, mode: 0o750 });
  const call = {
    handle: source.handle,
    accessMode: accessModeOf(source),
    accessType,
    capabilities,
    secrets,
    publishContext,
  };
  try {
    await client.stage(
      { ...call, stagingPath: paths.staging, volumeContext: source.attributes ?? {} },
      signal,
    );
  } catch (error) {
    if (isFinalError(error) && !existed) await removeDir(paths.staging).catch(() => {});
    throw error;
  }
}

async function publishDevice(
  deps: CsiDeps,
  volume: BlockVolume,
  pod: Pod,
  signal: AbortSignal,
): Promise<void> {
  const { source, client, capabilities, publishContext, paths } = volume;
  const driver = await deps.objects.get(source.driver, signal);
  // Devices are published without tokens.
  const driverSpec = driver && { ...driver, tokenRequests: [] };
  const { volumeContext, secrets } = await publishContent(deps, pod, source, driverSpec, signal);
  await mkdir(paths.publishDir, { recursive: true, mode: 0o750 });
  const { handle, readOnly } = source;
  const accessMode = accessModeOf(source);
  await client.publish(
    {
      handle,
      accessMode,
      accessType,
      capabilities,
      secrets,
      publishContext,
      volumeContext,
      readOnly,
      stagingPath: paths.staging,
      targetPath: paths.publish,
    },
    signal,
  );
}

/** Unpublishes the device. */
export async function unmapDevice(
  deps: CsiDeps,
  target: PodVolumeTarget,
  signal: AbortSignal,
): Promise<void> {
  const paths = blockPaths(deps.rootDir, basename(target.dir), target.podUid);
  const data = await loadVolumeData(paths.data);
  if (!data) return;
  const client = clientFor(deps, data.driverName, "blockMapper.UnmapPodDevice failed to get CSI client");
  if (await isMapped(deps, paths)) await writeFile(paths.podRef, "").catch(() => {});
  await callDriver("blockMapper.unpublishVolumeForBlock failed", () =>
    client.unpublish(data.volumeHandle, paths.publish, signal),
  );
  await rm(paths.podRef, { force: true });
}

/** Unstages the device if no pod uses it. */
export async function tearDownDevice(
  deps: CsiDeps,
  target: PodVolumeTarget,
  signal: AbortSignal,
): Promise<void> {
  const paths = blockPaths(deps.rootDir, basename(target.dir), target.podUid);
  const data = await loadVolumeData(paths.data);
  if (!data) return removeDirs(paths);
  if ((await podRefsOf(paths)) > 0) return;
  const client = clientFor(deps, data.driverName, "blockMapper.TearDownDevice failed to get CSI client");
  const { stages } = await capabilitiesOf(client, signal);
  if (stages && (await exists(paths.staging))) {
    await callDriver("blockMapper.unstageVolumeForBlock failed", () =>
      client.unstage(data.volumeHandle, paths.staging, signal),
    );
  }
  await removeDirs(paths);
}

/** Removes the directories of the agent. It keeps files of a driver, and fails if there are any. */
async function removeDirs(paths: BlockPaths): Promise<void> {
  await removeDir(paths.publishDir);
  await removeDir(paths.staging);
  await removeVolumeData(paths.data);
  for (const dir of [paths.podRefs, paths.global, paths.data, paths.volume]) await removeDir(dir);
}

/** The number of pods in both directories: another kubelet only writes to the one with the bind mounts. */
async function podRefsOf({ podRefs, global }: BlockPaths): Promise<number> {
  return new Set([...(await listDir(podRefs)), ...(await listDir(global))]).size;
}

async function capabilitiesOf(client: CsiClient, signal: AbortSignal): Promise<DriverCapabilities> {
  return client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    const what = "blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability";
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
}

async function callDriver(what: string, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    throw new CsiFailure("uncertain", csiText(`${what}: ${messageOf(error)}`), { cause: error });
  }
}
