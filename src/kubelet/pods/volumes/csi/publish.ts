import { messageOf } from "../../../../lib/base/errors.ts";
import type { CSIDriverSpec } from "../../../../lib/gen/kubernetes/storage.d.ts";
import { contextOption } from "../tools/selinux-labels.ts";
import type { PodVolumeTarget, SetUpRequest } from "../volume-plugin.ts";
import { clearCompleted, isCompleted, markCompleted } from "./completion.ts";
import type { CsiDeps } from "./csi-deps.ts";
import { CsiFailure, csiText, final, isFinalError, transient } from "./csi-failure.ts";
import { removeDir, removeMountDir } from "./mount-dir.ts";
import { attachmentName, globalMountDir, mountPathIn } from "./names.ts";
import { publishContent } from "./publish-content.ts";
import { accessModeOf, type CsiSource, csiSourceOf, dirNameOf, handleOf, type StringMap } from "./source.ts";
import { loadVolumeData, saveVolumeData } from "./volume-data.ts";

/** Publishes the volume to a pod. May be called again: for requiresRepublish, and after any failure. */
export async function publishVolume(deps: CsiDeps, request: SetUpRequest): Promise<void> {
  const { pod, spec, dir, fsGroup, label = "", signal } = request;
  const source = csiSourceOf(spec, pod.metadata.namespace);
  if (!source) throw final("volume source not found in volume.Spec");
  const client = clientFor(deps, source.driver, "mounter.SetUpAt failed to get CSI client");
  const driver = await deps.objects.get(source.driver, signal);
  const unsupported = unsupportedLifecycleMode(source.driver, driver, source.mode);
  if (unsupported)
    throw transient(csiText(`mounter.SetupAt failed to check volume lifecycle mode: ${unsupported}`));
  const policy = fsGroupPolicyOf(driver);
  if (!policy) {
    const why = csiText("expected valid fsGroupPolicy, received nil value or empty string");
    throw transient(csiText(`mounter.SetupAt failed to check fsGroup policy: ${why}`));
  }
  const capabilities = await client.capabilities(signal).catch((error) => {
    signal.throwIfAborted();
    const what = "mounter.SetUpAt failed to check for STAGE_UNSTAGE_VOLUME capability";
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  });
  const handle = handleOf(source, pod, spec);
  const publishContext = await contextOf(deps, source, signal);
  const { volumeContext, secrets } = await publishContent(deps, pod, source, driver, signal);

  const targetPath = mountPathIn(dir);
  await saveVolumeData(dir, {
    specVolID: dirNameOf(spec),
    volumeHandle: handle,
    driverName: source.driver,
    nodeName: deps.nodeName,
    volumeLifecycleMode: source.mode,
    attachmentID: attachmentName(handle, source.driver, deps.nodeName),
    ...(label !== "" && { seLinuxMountContext: label }),
  });
  try {
    await client.publish(
      {
        handle,
        accessMode: accessModeOf(source),
        accessType: {
          kind: "mount",
          fsType: source.fsType,
          options: source.mode === "Persistent" ? [...source.mountOptions, ...contextOption(label)] : [],
          group: capabilities.mountGroup ? fsGroup : undefined,
        },
        capabilities,
        secrets,
        stagingPath: stagingPathFor(deps, source, capabilities.stages),
        targetPath,
        readOnly: source.readOnly,
        publishContext,
        volumeContext,
      },
      signal,
    );
  } catch (error) {
    // A pod may use the mount of an earlier call: it is kept.
    if (isFinalError(error))
      await removeMountDir(deps.mounts, targetPath).catch((reason: unknown) =>
        deps.logger.warn("Failed to remove volume directory", {
          path: targetPath,
          err: messageOf(reason),
        }),
      );
    throw error;
  }
  try {
    if (!capabilities.mountGroup && appliesFsGroup(source, fsGroup, policy))
      await deps.ownership.apply(targetPath, { ...request, fsGroup });
  } catch (error) {
    // It is mounted and has to be unmounted, but pods cannot use it.
    throw new CsiFailure("uncertain", `applyFSGroup failed for vol ${handle}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  await markCompleted(dir);
}

/** True if the volume was published, even by a previous agent, and is still mounted. */
export async function isPublished(
  deps: CsiDeps,
  request: Pick<SetUpRequest, "pod" | "spec" | "dir">,
): Promise<boolean> {
  const { pod, spec, dir } = request;
  const source = csiSourceOf(spec, pod.metadata.namespace);
  return source !== undefined && isCompleted(deps, dir, mountPathIn(dir), handleOf(source, pod, spec));
}

export async function unpublishVolume(
  deps: CsiDeps,
  target: PodVolumeTarget,
  signal: AbortSignal,
): Promise<void> {
  const targetPath = mountPathIn(target.dir);
  const data = await loadVolumeData(target.dir);
  if (!data) {
    // The data file is written before the call: without it there is nothing to undo.
    if (await deps.mounts.isMountPoint(targetPath))
      throw transient(csiText(`unmounter failed to load volume data file [${targetPath}]: no such file`));
    await removeDir(targetPath);
    return removeDir(target.dir);
  }
  const client = clientFor(deps, data.driverName, "Unmounter.TearDownAt failed to get CSI client");
  await clearCompleted(target.dir, data);
  try {
    await client.unpublish(data.volumeHandle, targetPath, signal);
  } catch (error) {
    throw new CsiFailure("uncertain", csiText(`Unmounter.TearDownAt failed: ${messageOf(error)}`), {
      cause: error,
    });
  }
  // Drivers should remove the path themselves; not all do.
  if (await removeMountDir(deps.mounts, targetPath)) return;
  throw transient(csiText(`Unmounter.TearDownAt failed: [${targetPath}] is still mounted`));
}

export function clientFor({ drivers }: CsiDeps, driver: string, what: string) {
  try {
    return drivers.client(driver);
  } catch (error) {
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  }
}

function stagingPathFor(deps: CsiDeps, source: CsiSource, stages: boolean): string | undefined {
  if (source.mode === "Ephemeral" || !stages) return undefined;
  return globalMountDir(deps.rootDir, source.driver, source.handle);
}

async function contextOf(
  { attachments }: CsiDeps,
  source: CsiSource,
  signal: AbortSignal,
): Promise<StringMap> {
  if (source.mode === "Ephemeral") return {};
  try {
    return await attachments.publishContext(source, signal);
  } catch (error) {
    signal.throwIfAborted();
    const message = `mounter.SetUpAt failed to fetch publishContext: ${messageOf(error)}`;
    throw transient(csiText(message), error);
  }
}

type FsGroupPolicy = NonNullable<CSIDriverSpec["fsGroupPolicy"]>;

/** Why the driver does not support this lifecycle mode; undefined if it does. A driver without an object supports Persistent only. */
export function unsupportedLifecycleMode(
  name: string,
  driver: CSIDriverSpec | undefined,
  mode: CsiSource["mode"],
): string | undefined {
  const unsupported = `volume mode "${mode}" not supported by driver ${name}`;
  if (!driver) return mode === "Persistent" ? undefined : `${unsupported} (no CSIDriver object)`;
  const modes = driver.volumeLifecycleModes ?? [];
  if (modes.includes(mode)) return undefined;
  return `${unsupported} (only supports [${modes.map((known) => `"${known}"`).join(" ")}])`;
}

export function fsGroupPolicyOf(driver: CSIDriverSpec | undefined): FsGroupPolicy | undefined {
  return driver ? driver.fsGroupPolicy || undefined : "ReadWriteOnceWithFSType";
}

/** Whether the agent applies the fsGroup to the files. */
export function appliesFsGroup(
  source: CsiSource,
  fsGroup: number | undefined,
  policy: FsGroupPolicy,
): fsGroup is number {
  if (fsGroup === undefined || policy === "None" || source.readOnly) return false;
  if (policy === "File") return true;
  if (source.fsType === "") return false;
  if (source.mode === "Ephemeral") return true;
  return (source.accessModes ?? []).some((mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod");
}
