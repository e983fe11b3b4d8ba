import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../../../../lib/base/errors.ts";
import { rejectWhileMounted } from "../tools/mount-references.ts";
import { contextOption } from "../tools/selinux-labels.ts";
import type { SetUpRequest } from "../volume-plugin.ts";
import { clearCompleted, isCompleted, markCompleted } from "./completion.ts";
import type { CsiDeps } from "./csi-deps.ts";
import { CsiFailure, csiText, final, isFinalError, transient } from "./csi-failure.ts";
import { removeDir, removeMountDir } from "./mount-dir.ts";
import { clientFor } from "./publish.ts";
import { accessModeOf, type PersistentCsiSource, persistentSourceOf, type StringMap } from "./source.ts";
import { loadVolumeData, saveVolumeData } from "./volume-data.ts";

export interface StageRequest extends Pick<SetUpRequest, "spec" | "fsGroup" | "label"> {
  readonly stagingPath: string;
}

/** Stages the volume, if the driver supports it. */
export async function stageVolume(
  deps: CsiDeps,
  { spec, stagingPath, fsGroup, label = "" }: StageRequest,
  signal: AbortSignal,
): Promise<void> {
  const source = persistentSourceOf(spec);
  if (!source) throw final(csiText("attacher.MountDevice failed to get CSIPersistentVolumeSource"));
  if (await isCompleted(deps, dirname(stagingPath), stagingPath, source.handle)) return;
  const client = clientFor(deps, source.driver, "attacher.MountDevice failed to create newCsiDriverClient");
  const capabilities = await client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    throw transient(messageOf(error), error);
  });
  if (!capabilities.stages) return;
  const publishContext = await deps.attachments.publishContext(source, signal).catch((error) => {
    signal.throwIfAborted();
    throw transient(messageOf(error), error);
  });
  const secrets = await stageSecrets(deps, source, signal);
  try {
    // A filesystem that is mounted there may hang, and the directory exists.
    if (!(await deps.mounts.isMountPoint(stagingPath)))
      await mkdir(stagingPath, { recursive: true, mode: 0o750 });
  } catch (error) {
    throw final(
      csiText(`attacher.MountDevice failed to create dir "${stagingPath}": ${messageOf(error)}`),
      error,
    );
  }
  const { handle, driver } = source;
  try {
    await saveVolumeData(dirname(stagingPath), {
      volumeHandle: handle,
      driverName: driver,
      ...(label !== "" && { seLinuxMountContext: label }),
    });
    await client.stage(
      {
        handle,
        accessMode: accessModeOf(source),
        accessType: {
          kind: "mount",
          fsType: source.fsType,
          options: [...source.mountOptions, ...contextOption(label)],
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
    if (isFinalError(error))
      await removeMountDir(deps.mounts, stagingPath).catch((reason: unknown) =>
        deps.logger.warn("Failed to remove volume directory", {
          path: stagingPath,
          err: messageOf(reason),
        }),
      );
    throw error;
  }
  await markCompleted(dirname(stagingPath));
}

export async function unstageVolume(deps: CsiDeps, stagingPath: string, signal: AbortSignal): Promise<void> {
  const dataDir = dirname(stagingPath);
  rejectWhileMounted(deps.mounts.list(), stagingPath, deps.rootDir);
  const data = await loadVolumeData(dataDir);
  if (!data) {
    if (await deps.mounts.isMountPoint(stagingPath))
      throw transient(
        csiText(`attacher.UnmountDevice failed: no volume data for the mount at [${stagingPath}]`),
      );
    await removeDir(stagingPath);
    return removeDir(dataDir);
  }
  const client = clientFor(
    deps,
    data.driverName,
    "attacher.UnmountDevice failed to create newCsiDriverClient",
  );
  const { stages } = await client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    const what = "attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set";
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
  if (stages) {
    await clearCompleted(dataDir, data);
    try {
      await client.unstage(data.volumeHandle, stagingPath, signal);
    } catch (error) {
      throw new CsiFailure("uncertain", csiText(`attacher.UnmountDevice failed: ${messageOf(error)}`), {
        cause: error,
      });
    }
  }
  if (await removeMountDir(deps.mounts, stagingPath)) return;
  throw transient(csiText(`failed to clean up global mount ${dataDir}: it is still mounted`));
}

export async function stageSecrets(
  { secrets }: Pick<CsiDeps, "secrets">,
  { stageSecret }: PersistentCsiSource,
  signal: AbortSignal,
): Promise<StringMap> {
  if (!stageSecret) return {};
  try {
    return await secrets.get(stageSecret, signal);
  } catch (error) {
    signal.throwIfAborted();
    const { namespace, name } = stageSecret;
    throw transient(`fetching NodeStageSecretRef ${namespace}/${name} failed: ${messageOf(error)}`, error);
  }
}
