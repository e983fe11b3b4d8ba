import type { Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { HangGuard } from "../../../../lib/host/hang-guard.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";

interface HostPathSource {
  readonly path: string;
  readonly type?: string;
}

export interface HostPathOptions {
  /** The path may be on a filesystem that hangs. */
  readonly guard: Pick<HangGuard, "run">;
}

/** A file or directory of the node. Containers get the path itself: nothing is mounted, and nothing is cleaned up. */
export function hostPathPlugin({ guard }: HostPathOptions): VolumePlugin {
  return {
    name: "kubernetes.io/host-path",
    handles: (spec) => sourceOf(spec) !== undefined,
    uniqueName: (pod, spec) => `kubernetes.io/host-path/${pod.metadata.uid}-${spec.name}`,
    hasDir: false,
    hostPath: (spec) => sourceOf(spec)?.path ?? "",
    async setUp({ spec }) {
      const { path, type = "" } = sourceOf(spec)!;
      if (path.split("/").includes(".."))
        throw new KubeletError("Volume", `invalid HostPath \`${path}\`: must not contain '..'`);
      if (type !== "") await guard.run(path, () => checkType(path, type));
    },
    async tearDown() {},
  };
}

function sourceOf({ volume, persistent }: VolumeSpec): HostPathSource | undefined {
  return persistent ? persistent.spec.hostPath : volume.hostPath;
}

const kinds: Record<string, { is: (found: Stats) => boolean; text: string }> = {
  Directory: { is: (found) => found.isDirectory(), text: "a directory" },
  File: { is: (found) => found.isFile(), text: "a file" },
  Socket: { is: (found) => found.isSocket(), text: "a socket file" },
  CharDevice: { is: (found) => found.isCharacterDevice(), text: "a character device" },
  BlockDevice: { is: (found) => found.isBlockDevice(), text: "a block device" },
};

/** Creates the path if the type requires it and it does not exist; throws if it has another type. */
async function checkType(path: string, type: string): Promise<void> {
  const kind = kinds[type.replace(/OrCreate$/, "")];
  if (!kind || (type.endsWith("OrCreate") && !/^(Directory|File)/.test(type)))
    throw new KubeletError("Volume", `${type} is an invalid volume type`);
  const found = await stat(path).catch(() => undefined);
  if (!found && type === "DirectoryOrCreate") {
    await makeDirs(path, 0o755);
    return;
  }
  if (!found && type === "FileOrCreate") {
    const file = await open(path, "a", 0o644);
    await file.close();
    return;
  }
  if (!found || !kind.is(found))
    throw new KubeletError("Volume", `hostPath type check failed: ${path} is not ${kind.text}`);
}
