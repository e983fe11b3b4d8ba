import * as fs from "node:fs";
import { setImmediate } from "node:timers/promises";
import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { TmpfsOptions } from "../../../../lib/host/mounts.ts";
import { removeTree } from "../../../../lib/host/remove-tree.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import { amountsOf, wholeOf } from "../../../../lib/model/resources.ts";
import { memoryVolumeSize } from "../empty-dir/memory-size.ts";
import type { PodVolumeTarget, SetUpRequest, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { type FileCalls, writeAtomically } from "./atomic-writer.ts";
import {
  type ContentMedium,
  type ContentMounts,
  createContentDir,
  createMountPoints,
  existingMedium,
  removeContentDir,
} from "./content-dir.ts";
import { nestedMountPoints } from "./nested-mounts.ts";
import type { ContentFile } from "./payload.ts";

export interface ContentHost {
  readonly mounts: ContentMounts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Allocatable resources of the node. */
  readonly allocatable: () => Readonly<Record<string, string>>;
  /** The PodLevelResources gate. */
  readonly podLevelResources?: boolean;
  /** Called when files were written with the group of the pod: there is no walk through them that could be measured apart. */
  readonly groupSet?: (plugin: string, ok: boolean, seconds: number) => void;
  /** For tests. */
  readonly files?: FileCalls;
}

/** One type of volume whose files the agent writes. */
export interface ContentType extends ContentMedium {
  readonly name: string;
  handles(spec: VolumeSpec): boolean;
  files(request: SetUpRequest): Promise<Map<string, ContentFile>>;
  onTornDown?(target: PodVolumeTarget): void;
}

/** Each setUp writes the files if the content has changed, and touches nothing otherwise. */
export function contentPlugin(type: ContentType, host: ContentHost): VolumePlugin {
  return {
    name: type.name,
    requiresRemount: true,
    handles: (spec) => type.handles(spec),
    uniqueName: (pod, spec) => `${type.name}/${pod.metadata.uid}-${spec.name}`,
    async setUp(request) {
      // The content is fetched before anything is created: a missing object leaves no partial volume.
      const files = await type.files(request);
      request.signal.throwIfAborted();
      await writeVolume(type, host, request, files);
    },
    async tearDown(target) {
      await removeContentDir(host.mounts, target.dir);
      type.onTornDown?.(target);
    },
  };
}

async function writeVolume(
  type: ContentType,
  host: ContentHost,
  { dir, pod, spec, fsGroup }: SetUpRequest,
  files: Map<string, ContentFile>,
): Promise<void> {
  const { mounts, clock, logger } = host;
  const found = await existingMedium(mounts, dir, type);
  const isNew = found === undefined;
  try {
    if (isNew) await createContentDir(mounts, dir, type.medium, () => tmpfsOf(pod, host));
    await createMountPoints(dir, nestedMountPoints(pod, spec.name));
    const calls = host.files ?? ((found ?? type.medium) === "memory" ? memoryFiles : undefined);
    const startedAt = clock.monotonic();
    const isChanged = await writeAtomically(dir, files, { clock, fsGroup, ...(calls && { files: calls }) });
    if (isChanged && fsGroup !== undefined)
      host.groupSet?.(type.name, true, msSince(clock, startedAt) / 1000);
  } catch (error) {
    // The volume of a running pod is not changed.
    if (isNew) await removeContentDir(mounts, dir).catch((e: unknown) => notRemoved(logger, dir, e));
    throw error;
  }
}

/** The options of a tmpfs that is as large as the memory limit of the pod, and is not swapped: secrets must not reach a disk. */
function tmpfsOf(pod: Pod, { allocatable, podLevelResources }: ContentHost): TmpfsOptions {
  const memory = wholeOf(amountsOf(allocatable()), "memory");
  return { size: memoryVolumeSize(pod, undefined, memory, podLevelResources), noSwap: true };
}

function notRemoved(logger: Logger, dir: string, error: unknown): void {
  logger.warn("Failed to clean up volume after failed setup", {
    volume: dir,
    err: messageOf(error),
  });
}

/** A volume may have a hundred thousand files: others must not wait for all of them. */
const callsAtOnce = 200;
let calls = 0;

const promisified =
  <A extends unknown[], R>(call: (...args: A) => R) =>
  async (...args: A): Promise<R> => {
    const result = call(...args);
    if (++calls % callsAtOnce === 0) await setImmediate();
    return result;
  };

/**
 * File calls for a tmpfs. They do not wait for a disk and take microseconds: with the thread pool, a volume takes three times the
 * CPU (0.8 ms instead of 0.25 ms, measured with three files). Of the overloads of the synchronous functions `promisified` has the last.
 */
export const memoryFiles = {
  chmod: promisified(fs.chmodSync),
  chown: promisified(fs.chownSync),
  lchown: promisified(fs.lchownSync),
  lstat: promisified(fs.lstatSync as (path: string) => fs.Stats),
  mkdir: promisified(fs.mkdirSync),
  readFile: promisified(fs.readFileSync as (path: string) => Buffer),
  readdir: promisified(fs.readdirSync),
  readlink: promisified(fs.readlinkSync),
  removeTree,
  rename: promisified(fs.renameSync),
  rm: promisified(fs.rmSync),
  symlink: promisified(fs.symlinkSync),
  writeFile: promisified(fs.writeFileSync),
} as unknown as FileCalls;
