import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { errnoOf, KubeletError } from "../../../../lib/base/errors.ts";
import type { HangGuard } from "../../../../lib/host/hang-guard.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import { mountReferences } from "../../../../lib/host/mount-table.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import { pathElement } from "../../../../lib/host/path-element.ts";
import { removeEntry } from "../../../../lib/host/remove-tree.ts";
import type { Commands } from "../../../../lib/host/system-commands.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";
import type { OwnershipRequest } from "../mounts/ownership.ts";
import type { VolumeExpander } from "../persistent/volume-expander.ts";
import { formatAndMount } from "../tools/format-and-mount.ts";
import { growFilesystem } from "../tools/grow-filesystem.ts";
import type { DeviceMounter, SetUpRequest, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";

export interface LocalVolumeOptions {
  readonly rootDir: string;
  readonly mounts: Pick<Mounts, "mount" | "bind" | "unmount" | "at" | "list">;
  readonly events: PodEvents;
  readonly applyFsGroup: (request: OwnershipRequest) => Promise<void>;
  readonly commands: Commands;
  /** The path may be on a filesystem that hangs. */
  readonly guard: Pick<HangGuard, "run">;
  /** Undefined without a cluster: volumes are not expanded. */
  readonly expander?: VolumeExpander | undefined;
}

interface LocalSource {
  readonly path: string;
  readonly fsType?: string;
}

const pluginName = "kubernetes.io/local-volume";

/** A directory or a disk of this node, by a PersistentVolume. */
export function localPlugin(o: LocalVolumeOptions): VolumePlugin {
  const devicesDir = join(o.rootDir, "plugins", pluginName, "mounts");
  const device = localDevice(o, devicesDir);
  return {
    name: pluginName,
    handles: (spec) => sourceOf(spec) !== undefined,
    uniqueName: (_pod, spec) => `${pluginName}/${spec.name}`,
    device,
    relabels: (spec) => !spec.readOnly,
    requiresRemountNow: (spec) => o.expander?.mayBeNeeded(spec) ?? false,
    expandsNow: () => true,

    async setUp(request) {
      const { dir, spec } = request;
      const { path } = sourceOf(spec)!;
      checkPath(path);
      const isMounted = (await o.mounts.at(dir)) !== undefined;
      if (isMounted && !o.expander?.mayBeNeeded(spec)) return o.expander?.markInUse(spec);
      const kind = await o.guard.run(path, () => kindOf(path));
      if (!isMounted) await bindMount(request, kind === "directory" ? path : device.deviceDir(spec));
      await expandIfNeeded(request, async () => {
        if (kind === "device") await growFilesystem(o.commands, path, dir, request.signal);
      });
    },

    async tearDown({ dir }) {
      await o.mounts.unmount(dir);
      await removeEntry(dir);
    },

    block: {
      async map(pod, spec, _target, signal) {
        const { path } = sourceOf(spec)!;
        checkPath(path);
        // A larger device is all that the pod needs; the claim still waits for the node.
        await expandIfNeeded({ pod, spec, signal }, async () => {});
        return path;
      },
      async unmap() {},
      globalMapDir: (name) =>
        join(o.rootDir, "plugins", "kubernetes.io", pluginName, "volumeDevices", pathElement(name)),
    },

    async reconstruct({ dir }) {
      const name = basename(dir);
      const path = mountReferences(o.mounts.list(), dir).some((ref) => ref.startsWith(`${devicesDir}/`))
        ? ((await o.mounts.at(dir))?.source ?? "")
        : "";
      return specOf(name, path);
    },
  };

  async function bindMount(request: SetUpRequest, source: string): Promise<void> {
    const { dir, spec } = request;
    const others = podMountsOf(source);
    if (others.length > 0) await warnAboutGroupMismatch(request, source);
    await makeDirs(dir, 0o750);
    try {
      await o.mounts.bind(source, dir, {
        readOnly: spec.readOnly,
        options: spec.persistent?.spec.mountOptions ?? [],
      });
    } catch (error) {
      await removeEntry(dir);
      throw error;
    }
    // Only the first pod sets the ownership of the files.
    if (!spec.readOnly && others.length === 0) await applyOwnership(request);
  }

  async function expandIfNeeded(
    { pod, spec, signal }: Pick<SetUpRequest, "pod" | "spec" | "signal">,
    grow: () => Promise<void>,
  ): Promise<void> {
    if (!o.expander) return;
    if (o.expander.mayBeNeeded(spec)) await o.expander.expandIfNeeded(pod, spec, grow, signal);
    o.expander.markInUse(spec);
  }

  function applyOwnership({ pod, dir, fsGroup, fsGroupChangePolicy, signal }: SetUpRequest): Promise<void> {
    return o.applyFsGroup({ pod, dir, fsGroup, policy: fsGroupChangePolicy, readOnly: false, signal });
  }

  /** Mount points of this directory in pods. It need not be a mount point itself. */
  function podMountsOf(source: string): string[] {
    const pods = `${join(o.rootDir, "pods")}/`;
    const table = o.mounts.list();
    const at = table.filter(
      (m) => source === m.path || source.startsWith(`${m.path === "/" ? "" : m.path}/`),
    );
    const mount = at.reduce((best, m) => (best && best.path.length > m.path.length ? best : m), at[0]);
    if (!mount) return [];
    const within = source.slice(mount.path === "/" ? 0 : mount.path.length);
    const root = `${mount.root === "/" ? "" : mount.root}${within}` || "/";
    return table
      .filter((m) => m.device === mount.device && m.root === root && m.path.startsWith(pods))
      .map((m) => m.path);
  }

  async function warnAboutGroupMismatch({ pod, spec, fsGroup }: SetUpRequest, source: string): Promise<void> {
    if (fsGroup === undefined) return;
    const { gid } = await stat(source);
    if (gid === fsGroup) return;
    o.events.warning(
      pod,
      "AlreadyMountedVolume",
      `The requested fsGroup is ${fsGroup}, but the volume ${spec.name} has GID ${gid}. The volume may not be shareable.`,
    );
  }
}

/** The part of a spec that is known from its directory. */
function specOf(name: string, path: string): VolumeSpec {
  const claim = { namespace: "", name: "", uid: "" };
  const persistent = { volumeName: name, spec: { local: { path } }, claim, mode: "Filesystem" as const };
  return { name, volume: { name }, readOnly: false, persistent };
}

function sourceOf({ persistent }: VolumeSpec): LocalSource | undefined {
  return persistent?.spec.local;
}

function localDevice(o: LocalVolumeOptions, devicesDir: string): DeviceMounter {
  return {
    attachable: () => false,
    async waitForAttach() {},
    async reconstructDevices() {
      const names = await readdir(devicesDir).catch(() => []);
      return names.map((name) => ({
        unique: `${pluginName}/${name}`,
        dir: join(devicesDir, name),
        spec: specOf(name, ""),
      }));
    },
    deviceDir: (spec) => join(devicesDir, pathElement(spec.name)),
    async mountDevice(_pod, spec, dir, _fsGroup, signal) {
      // The volume was not in use on this node: the recorded size is outdated.
      if (spec.persistent) o.expander?.resetSize(spec.persistent.volumeName);
      const { path, fsType } = sourceOf(spec)!;
      checkPath(path);
      if ((await o.guard.run(path, () => kindOf(path))) === "directory" || (await o.mounts.at(dir))) return;
      await makeDirs(dir, 0o750);
      const options = [...(spec.readOnly ? ["ro"] : []), ...(spec.persistent?.spec.mountOptions ?? [])];
      try {
        await formatAndMount(o, path, dir, fsType, options, signal);
      } catch (error) {
        await removeEntry(dir);
        throw new KubeletError(
          "Volume",
          `local: failed to mount device ${path} at ${dir} (fstype: ${fsType ?? ""}), error ${(error as Error).message}`,
          { cause: error },
        );
      }
    },
    async unmountDevice(dir) {
      await o.mounts.unmount(dir);
      await removeEntry(dir);
    },
  };
}

function checkPath(path: string): void {
  if (path.split("/").includes(".."))
    throw new KubeletError("Volume", `invalid path: ${path} must not contain '..'`);
  if (!path.startsWith("/"))
    throw new KubeletError("Volume", `invalid path: ${path} must be an absolute path`);
}

async function kindOf(path: string): Promise<"directory" | "device"> {
  const found = await stat(path).catch((error) => {
    if (errnoOf(error) === "ENOENT") throw new KubeletError("Volume", `path "${path}" does not exist`);
    throw error;
  });
  if (found.isDirectory()) return "directory";
  if (found.isBlockDevice()) return "device";
  throw new KubeletError("Volume", "only directory and block device are supported");
}
