import { join } from "node:path";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Container, Pod } from "../../lib/model/pod.ts";
import type { FileKey, FileKeyRef } from "../pipeline/pod-runtime/config/context.ts";
import { containerConfigError } from "../pipeline/pod-runtime/config/errors.ts";
import { podDir } from "../pipeline/pod-runtime/config/paths.ts";
import { envFileValues } from "../pods/env-files/parse.ts";
import { readEnvFile } from "../pods/env-files/read.ts";

/** A container has any number of variables, each with a file of its own: as much as all of them may have together. */
const maxTotalBytes = 8 * 1024 * 1024;

interface EnvValues {
  readonly path: string;
  readonly get: (key: string) => string | undefined;
}

type VolumeDir = (pod: Pod, volume: string) => string | undefined;

/** Reads the files that a container's environment variables come from, so that the request can be built synchronously. */
export async function readFileKeys(
  pod: Pod,
  container: Container,
  volumeDir: VolumeDir,
): Promise<(ref: FileKeyRef) => FileKey | undefined> {
  const found = new Map<string, () => FileKey>();
  const files = new Map<string, Promise<EnvValues>>();
  let leftBytes = maxTotalBytes;
  const readFile = async (volume: string, ref: FileKeyRef): Promise<EnvValues> => {
    const { path, text } = await readEnvFile(volume, ref.path);
    leftBytes -= text.length;
    if (leftBytes < 0)
      throw new KubeletError("EnvFile", `the files of the container have more than ${maxTotalBytes} bytes`);
    return { path, get: envFileValues(text) };
  };
  for (const { valueFrom } of container.env ?? []) {
    const ref = (valueFrom as { fileKeyRef?: FileKeyRef } | undefined)?.fileKeyRef;
    const volume = ref && volumeDir(pod, ref.volumeName);
    if (!volume) continue;
    const name = JSON.stringify([ref.volumeName, ref.path]);
    const reading = files.get(name) ?? readFile(volume, ref);
    files.set(name, reading);
    try {
      const { path, get } = await reading;
      const value = get(ref.key);
      found.set(keyOf(ref), () => ({ path, value }));
    } catch (error) {
      // Thrown when that variable is resolved: the error of an earlier variable comes first.
      found.set(keyOf(ref), () => {
        throw containerConfigError(`couldn't parse env file: ${messageOf(error)}`, error);
      });
    }
  }
  return (ref) => found.get(keyOf(ref))?.();
}

function keyOf({ volumeName, path, key }: FileKeyRef): string {
  return JSON.stringify([volumeName, path, key]);
}

/** The path of an emptyDir on the node. */
export function emptyDirPath(rootDir: string): VolumeDir {
  return (pod, name) =>
    pod.spec.volumes?.some((volume) => volume.name === name && volume.emptyDir)
      ? join(podDir(rootDir, pod.metadata.uid), "volumes", "kubernetes.io~empty-dir", name)
      : undefined;
}
