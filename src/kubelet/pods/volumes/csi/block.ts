import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf } from "../../../../lib/base/errors.ts";
import { exists, listDir } from "../../../../lib/host/entries.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { PodVolumePlace, VolumeSpec } from "../volume-plugin.ts";
import type { CsiClient, DriverCapabilities } from "./csi-client.ts";
import { CsiFailure, csiText, final, isFinished, transient } from "./csi-failure.ts";
import type { CsiNeeds } from "./csi-needs.ts";
import { removeDir } from "./mount-dir.ts";
import { attachmentName, type BlockPlaces, blockPlaces } from "./names.ts";
import { clientFor } from "./publish.ts";
import { publishContent } from "./publish-content.ts";
import {
  accessModeOf,
  folderName,
  type PersistentCsiSource,
  persistentSourceOf,
  type Texts,
} from "./source.ts";
import { stageSecrets } from "./stage.ts";
import { loadVolumeData, removeVolumeData, saveVolumeData } from "./volume-data.ts";

const shape = { kind: "block" } as const;
/** What the note of a pod says once the driver has said that it is done. */
const published = "published\n";

/** True if the device is known to be at the pod's path, by this agent or a former one. */
export async function isMapped({ mounts }: Pick<CsiNeeds, "mounts">, places: BlockPlaces): Promise<boolean> {
  const noted = await readFile(places.user, "utf8").catch(() => "");
  if (noted !== published) return false;
  if (await mounts.isMountPoint(places.publish)) return true;
  return stat(places.publish).then(
    (found) => found.isBlockDevice(),
    () => false,
  );
}

/** Has the driver put the device at the pod's own path, which is returned. */
export async function mapDevice(
  needs: CsiNeeds,
  pod: Pod,
  spec: VolumeSpec,
  place: PodVolumePlace,
  signal: AbortSignal,
): Promise<string> {
  const source = persistentSourceOf(spec);
  if (!source) throw final(csiText("blockMapper.SetUpDevice failed to get CSI persistent source"));
  const client = clientFor(needs, source.driver, "blockMapper.SetUpDevice failed to get CSI client");
  const places = blockPlaces(needs.rootDir, folderName(spec), place.podUid);
  const publishContext = await needs.attachments.publishContext(source, signal).catch((error) => {
    signal.throwIfAborted();
    const what = `blockMapper.SetupDevice failed to get volume attachment [id=${needs.attachments.nameOf(source)}]`;
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
  const capabilities = await capabilitiesOf(client, signal);
  await saveVolumeData(places.data, {
    specVolID: folderName(spec),
    volumeHandle: source.handle,
    driverName: source.driver,
    nodeName: needs.nodeName,
    attachmentID: attachmentName(source.handle, source.driver, needs.nodeName),
  });
  // Noted before the driver is asked: the volume stays staged as long as a pod is noted here.
  await mkdir(places.users, { recursive: true, mode: 0o750 });
  await writeFile(places.user, "", { flag: "a" });
  try {
    const volume = { source, client, capabilities, publishContext, places };
    await stageDevice(needs, volume, signal);
    await publishDevice(needs, volume, pod, signal);
    await writeFile(places.user, published);
    return places.publish;
  } catch (error) {
    if (isFinished(error)) {
      await rm(places.user, { force: true });
      if ((await usersOf(places)) === 0 && !(await exists(places.staging))) await forget(places);
    }
    throw error;
  }
}

interface BlockVolume {
  readonly source: PersistentCsiSource;
  readonly client: CsiClient;
  readonly capabilities: DriverCapabilities;
  readonly publishContext: Texts;
  readonly places: BlockPlaces;
}

async function stageDevice(needs: CsiNeeds, volume: BlockVolume, signal: AbortSignal): Promise<void> {
  const { source, client, capabilities, publishContext, places } = volume;
  if (!capabilities.stages) return;
  const secrets = await stageSecrets(needs, source, signal);
  const wasThere = await exists(places.staging);
  await mkdir(places.staging, { recursive: true, mode: 0o750 });
  const call = {
    handle: source.handle,
    accessMode: accessModeOf(source),
    shape,
    capabilities,
    secrets,
    publishContext,
  };
  try {
    await client.stage(
      { ...call, stagingPath: places.staging, volumeContext: source.attributes ?? {} },
      signal,
    );
  } catch (error) {
    if (isFinished(error) && !wasThere) await removeDir(places.staging).catch(() => {});
    throw error;
  }
}

async function publishDevice(
  needs: CsiNeeds,
  volume: BlockVolume,
  pod: Pod,
  signal: AbortSignal,
): Promise<void> {
  const { source, client, capabilities, publishContext, places } = volume;
  const driver = await needs.objects.get(source.driver, signal);
  // Devices are published without tokens.
  const wish = driver && { ...driver, tokenRequests: [] };
  const { volumeContext, secrets } = await publishContent(needs, pod, source, wish, signal);
  await mkdir(places.publishDir, { recursive: true, mode: 0o750 });
  const { handle, readOnly } = source;
  const accessMode = accessModeOf(source);
  await client.publish(
    {
      handle,
      accessMode,
      shape,
      capabilities,
      secrets,
      publishContext,
      volumeContext,
      readOnly,
      stagingPath: places.staging,
      targetPath: places.publish,
    },
    signal,
  );
}

/** Takes the device from the pod, and from the node if this was the last pod that had it. */
export async function unmapDevice(
  needs: CsiNeeds,
  place: PodVolumePlace,
  signal: AbortSignal,
): Promise<void> {
  const places = blockPlaces(needs.rootDir, basename(place.dir), place.podUid);
  const data = await loadVolumeData(places.data);
  if (!data) return forget(places);
  const client = clientFor(needs, data.driverName, "blockMapper.UnmapPodDevice failed to get CSI client");
  if (await isMapped(needs, places)) await writeFile(places.user, "").catch(() => {});
  await ask("blockMapper.unpublishVolumeForBlock failed", () =>
    client.unpublish(data.volumeHandle, places.publish, signal),
  );
  await rm(places.user, { force: true });
  if ((await usersOf(places)) > 0) return;
  const { stages } = await capabilitiesOf(client, signal);
  if (stages && (await exists(places.staging))) {
    await ask("blockMapper.unstageVolumeForBlock failed", () =>
      client.unstage(data.volumeHandle, places.staging, signal),
    );
  }
  await forget(places);
}

/** All that is left are folders of ours. What a driver left in them stays, and keeps them. */
async function forget(places: BlockPlaces): Promise<void> {
  await removeDir(places.publishDir);
  await removeDir(places.staging);
  await removeVolumeData(places.data);
  for (const dir of [places.users, places.global, places.data, places.volume]) await removeDir(dir);
}

/** Of both folders: what another kubelet left is only in the one where devices are bound. */
async function usersOf({ users, global }: BlockPlaces): Promise<number> {
  return new Set([...(await listDir(users)), ...(await listDir(global))]).size;
}

async function capabilitiesOf(client: CsiClient, signal: AbortSignal): Promise<DriverCapabilities> {
  return client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    const what = "blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability";
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
}

async function ask(what: string, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    throw new CsiFailure("uncertain", csiText(`${what}: ${messageOf(error)}`), { cause: error });
  }
}
