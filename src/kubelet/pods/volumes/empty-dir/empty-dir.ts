import { chmod, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import { exists } from "../../../../lib/host/entries.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import { removeTree } from "../../../../lib/host/remove-tree.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { OwnershipRequest } from "../mounts/ownership.ts";
import type { PodVolumeTarget, SetUpRequest, VolumePlugin } from "../volume-plugin.ts";
import type { DiskQuotas } from "./disk-quotas.ts";
import { isHugePages, pageSizeFor, pageSizeOfMedium, pageSizeOfOptions } from "./huge-pages.ts";
import { memoryVolumeSize } from "./memory-size.ts";

export interface EmptyDirOptions {
  readonly mounts: Pick<Mounts, "mountTmpfs" | "mount" | "unmount" | "at">;
  /** Bytes of memory that all pods together may use. */
  readonly allocatableMemory: () => bigint;
  /** The PodLevelResources gate. */
  readonly podLevelResources?: boolean;
  readonly applyFsGroup: (request: OwnershipRequest) => Promise<void>;
  /** Undefined if usage is always measured by reading directories. */
  readonly quotas?: Pick<DiskQuotas, "assign" | "usage" | "release"> | undefined;
}

const dirMode = 0o777;

/** A directory with the lifetime of its pod, empty at first: on the node's disk, in memory, or in huge pages. */
export function emptyDirPlugin(o: EmptyDirOptions): VolumePlugin {
  return {
    name: "kubernetes.io/empty-dir",
    handles: ({ volume, persistent }) => !persistent && volume.emptyDir !== undefined,
    uniqueName: (pod: Pod, spec) => `kubernetes.io/empty-dir/${pod.metadata.uid}-${spec.name}`,

    async setUp(request) {
      const { dir, pod, spec, fsGroup, signal } = request;
      const medium = spec.volume.emptyDir?.medium ?? "";
      const mounted = await o.mounts.at(dir);
      if (await isReady(dir)) {
        if (medium === "Memory" && mounted) return;
        if (medium === "" && (await exists(dir))) return o.quotas?.assign(dir, pod, { isEmpty: false });
      }
      await createDir(dir, mounted !== undefined);
      if (medium === "Memory") await mountMemory(request, mounted?.fsType);
      else if (isHugePages(medium)) await mountHugePages(request, medium, mounted);
      else if (medium !== "") throw new KubeletError("Volume", `unknown storage medium "${medium}"`);
      // Before it is ready: an interrupted set-up is repeated, and no container has written to it.
      if (medium === "") await o.quotas?.assign(dir, pod, { isEmpty: true });
      await o.applyFsGroup({ pod, dir, fsGroup, policy: undefined, readOnly: false, signal });
      await setReady(dir);
    },

    async tearDown({ dir }) {
      // First: a partially removed volume must not count as complete.
      await removeTree(metaDirOf(dir));
      const mounted = await o.mounts.at(dir);
      if (mounted) await o.mounts.unmount(dir);
      else await o.quotas?.release(dir);
      await removeTree(dir);
    },

    usage: async (dir) => o.quotas?.usage(dir),

    reconstruct: async ({ dir }: PodVolumeTarget) => {
      const name = basename(dir);
      return { name, volume: { name, emptyDir: {} }, readOnly: false };
    },
  };

  async function mountMemory({ dir, pod, spec }: SetUpRequest, mounted: string | undefined): Promise<void> {
    if (mounted === "tmpfs") return;
    const size = memoryVolumeSize(
      pod,
      spec.volume.emptyDir?.sizeLimit,
      o.allocatableMemory(),
      o.podLevelResources,
    );
    await o.mounts.mountTmpfs(dir, { size, noSwap: true });
  }

  async function mountHugePages(
    { dir, pod }: SetUpRequest,
    medium: string,
    mounted: { fsType: string; options: readonly string[] } | undefined,
  ): Promise<void> {
    if (mounted?.fsType === "hugetlbfs") {
      const mediumSize = pageSizeOfMedium(medium);
      const found = pageSizeOfOptions(mounted.options);
      if (mediumSize === undefined || mediumSize === found) return;
      throw new KubeletError(
        "Volume",
        `pod ${pod.metadata.uid}: mounted dir ${dir} pagesize '${found ?? "unknown"}' and requested medium size '${mediumSize}' differ`,
      );
    }
    await o.mounts.mount("nodev", dir, "hugetlbfs", [`pagesize=${pageSizeFor(medium, pod)}`]);
  }
}

/** The directory of the `ready` file that marks the volume as complete: `<pod>/plugins/kubernetes.io~empty-dir/<name>`. */
function metaDirOf(dir: string): string {
  const plugin = dirname(dir);
  return join(dirname(dirname(plugin)), "plugins", basename(plugin), basename(dir));
}

function isReady(dir: string): Promise<boolean> {
  return exists(join(metaDirOf(dir), "ready"));
}

async function setReady(dir: string): Promise<void> {
  const meta = metaDirOf(dir);
  await makeDirs(meta, 0o750);
  await writeFile(join(meta, "ready"), "");
}

async function createDir(dir: string, mounted: boolean): Promise<void> {
  if (mounted) return;
  await makeDirs(dir, 0o755);
  await chmod(dir, dirMode); // regardless of the umask
}
