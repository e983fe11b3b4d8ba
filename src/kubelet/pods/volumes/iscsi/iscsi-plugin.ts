import { readdir, stat } from "node:fs/promises";
import { basename } from "node:path";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { KeyedLocks } from "../../../../lib/base/keyed-locks.ts";
import type { MountPoint } from "../../../../lib/host/mount-table.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import { globalMapOf } from "../tools/block-devices.ts";
import { type DiskMountOptions, diskMount, mountDisk } from "../tools/disk-mount.ts";
import { rejectWhileMounted } from "../tools/mount-references.ts";
import { mountedLabelAt } from "../tools/selinux-labels.ts";
import type { BlockVolumeMapper, DeviceMounter, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { type AttachDeps, attachDisk, detachDisk } from "./attach.ts";
import { checkDisk } from "./check-disk.ts";
import { diskDirs, disksInUse, loadDisk, removeDiskDir, saveDisk } from "./disk-file.ts";
import {
  attachNameOf,
  diskDir,
  diskOf,
  iscsiPluginName,
  iscsiSourceOf,
  pluginDir,
  specFromDir,
  uniqueDiskName,
} from "./iscsi-disk.ts";
import type { Chap } from "./iscsiadm.ts";

export interface IscsiOptions extends AttachDeps, DiskMountOptions {
  readonly rootDir: string;
  readonly mounts: Pick<Mounts, "mount" | "bind" | "unmount" | "isMountPoint" | "list">;
  readonly secrets: {
    get(
      ref: { namespace: string; name: string },
      signal: AbortSignal,
    ): Promise<Readonly<Record<string, string>>>;
  };
}

/** Disks of iSCSI targets, attached with iscsiadm. */
export function iscsiPlugin(options: IscsiOptions): VolumePlugin {
  const { rootDir, mounts, secrets } = options;
  /** Serializes logins and logouts per target. */
  const locks = new KeyedLocks();
  /** The device of each attached disk, by its directory. */
  const devices = new Map<string, string>();
  const modeOf = (spec: VolumeSpec) => spec.persistent?.mode ?? "Filesystem";

  const attach = async (pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<string> => {
    const disk = diskOf(spec);
    checkDisk(disk);
    const dir = diskDir(rootDir, disk, modeOf(spec));
    const chap = await chapOf(secrets, pod, spec, signal);
    using _ = await locks.acquire([disk.Iqn], signal);
    const device = await attachDisk(options, disk, chap, signal);
    devices.set(dir, device);
    // A mount hides the file, and then it exists already.
    if (!(await mounts.isMountPoint(dir))) await saveDisk(dir, disk);
    return device;
  };
  const detach = async (dir: string, signal: AbortSignal): Promise<void> => {
    const disk = await loadDisk(dir);
    if (!disk) throw new KubeletError("Iscsi", `iscsi detach disk: malformatted mnt path: ${dir}`);
    using _ = await locks.acquire([disk.Iqn], signal);
    try {
      await detachDisk(options, disk, (await disksInUse(rootDir, disk)) > 1, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new KubeletError("Iscsi", `iscsi: failed to detach disk: ${dir}\nError: ${messageOf(error)}`, {
        cause: error,
      });
    }
    devices.delete(dir);
    await removeDiskDir(dir);
  };

  const device: DeviceMounter = {
    attachName: attachNameOf,
    async waitForAttach(pod, spec, signal, verified) {
      await verified?.();
      if (modeOf(spec) === "Filesystem") await attach(pod, spec, signal);
    },
    deviceDir: (spec) => diskDir(rootDir, diskOf(spec), "Filesystem"),
    async mountDevice(pod, spec, dir, _fsGroup, signal, label = "") {
      if (await mounts.isMountPoint(dir)) return;
      const disk = devices.get(dir) ?? (await attach(pod, spec, signal));
      await mountDisk(
        options,
        { device: disk, dir, fsType: iscsiSourceOf(spec)?.fsType },
        spec,
        label,
        signal,
      );
    },
    async unmountDevice(dir, signal) {
      if (!(await exists(dir))) return;
      rejectWhileMounted(mounts.list(), dir, rootDir);
      await mounts.unmount(dir);
      await detach(dir, signal);
    },
    async reconstructDevices() {
      const dirs = await diskDirs(rootDir);
      return dirs.flatMap((dir) => {
        const spec = specFromDir(dir, basename(dir));
        const label = mountedLabelAt(mounts.list(), dir);
        return spec ? [{ unique: uniqueDiskName(spec), dir, spec: { ...spec, label } }] : [];
      });
    },
  };

  const block: BlockVolumeMapper = {
    map: (pod, spec, _target, signal) => attach(pod, spec, signal),
    // Pods have only links and bind mounts, which the manager removes.
    async unmap() {},
    async tearDownDevice(_target, signal, spec) {
      const dir = spec && diskDir(rootDir, diskOf(spec), "Block");
      // Nothing of it was mapped, or another pod uses it.
      if (dir === undefined || !(await exists(dir)) || (await usersOf(dir)).length > 0) return;
      await detach(dir, signal);
    },
    globalMapDir: (_name, spec) => spec && diskDir(rootDir, diskOf(spec), "Block"),
  };

  return {
    name: iscsiPluginName,
    handles: (spec) => iscsiSourceOf(spec) !== undefined,
    uniqueName: (_pod, spec) => uniqueDiskName(spec),
    ...diskMount(options),
    device,
    block,
    async reconstruct(target) {
      const { dir } = target;
      const table = mounts.list();
      const found = dir.includes("/volumeDevices/")
        ? await globalMapOf(await diskDirs(rootDir, "Block"), target)
        : mountedDisk(table, dir, `${pluginDir(rootDir, "Filesystem")}/`);
      const spec = found === undefined ? undefined : specFromDir(found, basename(dir));
      return spec && { ...spec, label: mountedLabelAt(table, dir) };
    },
  };
}

/** The disk that is mounted at a pod's directory. Only the mount table shows it. */
function mountedDisk(table: readonly MountPoint[], dir: string, base: string): string | undefined {
  const own = table.findLast(({ path }) => path === dir);
  return own && table.find(({ device, path }) => device === own.device && path.startsWith(base))?.path;
}

async function chapOf(
  secrets: IscsiOptions["secrets"],
  pod: Pod,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<Chap> {
  const {
    chapAuthDiscovery: discovery = false,
    chapAuthSession: session = false,
    secretRef,
  } = iscsiSourceOf(spec) ?? {};
  const name = secretRef?.name;
  if (!(discovery || session) || !name) return { discovery, session, values: {} };
  // Only a PersistentVolume names a namespace.
  const namespace = (spec.persistent && secretRef.namespace) || pod.metadata.namespace;
  try {
    return { discovery, session, values: await secrets.get({ namespace, name }, signal) };
  } catch (error) {
    signal.throwIfAborted();
    const message = `couldn't get secret ${namespace}/${name} error: ${messageOf(error)}`;
    throw new KubeletError("Iscsi", message, { cause: error });
  }
}

/** The pods that use the disk as a block device. */
async function usersOf(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => !name.startsWith("iscsi.json"));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
