import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../../../../lib/base/errors.ts";
import { refuseWhileMounted } from "../tools/mount-references.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { CsiFailure, csiText, final, isFinished, transient } from "./csi-failure.ts";
import type { CsiNeeds } from "./csi-needs.ts";
import { isKept, noteCompleted, noteUndoing } from "./kept.ts";
import { removeDir, removeMountDir } from "./mount-dir.ts";
import { clientFor } from "./publish.ts";
import { accessModeOf, type PersistentCsiSource, persistentSourceOf, type Texts } from "./source.ts";
import { loadVolumeData, saveVolumeData } from "./volume-data.ts";

/** Has the driver make the volume available to the node, if it does that at all. */
export async function stageVolume(
  needs: CsiNeeds,
  spec: VolumeSpec,
  stagingPath: string,
  fsGroup: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const source = persistentSourceOf(spec);
  if (!source) throw final(csiText("attacher.MountDevice failed to get CSIPersistentVolumeSource"));
  if (await isKept(needs, dirname(stagingPath), stagingPath, source.handle)) return;
  const client = clientFor(needs, source.driver, "attacher.MountDevice failed to create newCsiDriverClient");
  const capabilities = await client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    throw transient(messageOf(error), error);
  });
  if (!capabilities.stages) return;
  const publishContext = await needs.attachments.publishContext(source, signal).catch((error) => {
    signal.throwIfAborted();
    throw transient(messageOf(error), error);
  });
  const secrets = await stageSecrets(needs, source, signal);
  try {
    // What is mounted there may not answer, and need not be asked.
    if (!(await needs.mounts.isMountPoint(stagingPath)))
      await mkdir(stagingPath, { recursive: true, mode: 0o750 });
  } catch (error) {
    throw final(
      csiText(`attacher.MountDevice failed to create dir "${stagingPath}": ${messageOf(error)}`),
      error,
    );
  }
  const { handle, driver } = source;
  try {
    await saveVolumeData(dirname(stagingPath), { volumeHandle: handle, driverName: driver });
    await client.stage(
      {
        handle,
        accessMode: accessModeOf(source),
        shape: {
          kind: "mount",
          fsType: source.fsType,
          options: source.mountOptions,
          group: capabilities.mountGroup ? fsGroup : undefined,
        },
        capabilities,
        secrets,
        stagingPath,
        publishContext,
        volumeContext: source.attributes ?? {},
      },
      signal,
    );
  } catch (error) {
    if (isFinished(error))
      await removeMountDir(needs.mounts, stagingPath).catch((reason: unknown) =>
        needs.logger.warn("Failed to remove volume directory", {
          path: stagingPath,
          err: messageOf(reason),
        }),
      );
    throw error;
  }
  await noteCompleted(dirname(stagingPath));
}

export async function unstageVolume(
  needs: CsiNeeds,
  stagingPath: string,
  signal: AbortSignal,
): Promise<void> {
  const dataDir = dirname(stagingPath);
  refuseWhileMounted(needs.mounts.list(), stagingPath, needs.rootDir);
  const data = await loadVolumeData(dataDir);
  if (!data) {
    if (await needs.mounts.isMountPoint(stagingPath))
      throw transient(
        csiText(`attacher.UnmountDevice failed: nothing is known of what is mounted at [${stagingPath}]`),
      );
    await removeDir(stagingPath);
    return removeDir(dataDir);
  }
  const client = clientFor(
    needs,
    data.driverName,
    "attacher.UnmountDevice failed to create newCsiDriverClient",
  );
  const { stages } = await client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    const what = "attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set";
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
  if (stages) {
    await noteUndoing(dataDir, data);
    try {
      await client.unstage(data.volumeHandle, stagingPath, signal);
    } catch (error) {
      throw new CsiFailure("uncertain", csiText(`attacher.UnmountDevice failed: ${messageOf(error)}`), {
        cause: error,
      });
    }
  }
  if (await removeMountDir(needs.mounts, stagingPath)) return;
  throw transient(csiText(`failed to clean up global mount ${dataDir}: it is still mounted`));
}

export async function stageSecrets(
  { secrets }: Pick<CsiNeeds, "secrets">,
  { stageSecret }: PersistentCsiSource,
  signal: AbortSignal,
): Promise<Texts> {
  if (!stageSecret) return {};
  try {
    return await secrets.get(stageSecret, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { namespace, name } = stageSecret;
    throw transient(`fetching NodeStageSecretRef ${namespace}/${name} failed: ${messageOf(error)}`, error);
  }
}
