import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { FileKey, FileKeyRef } from "../../pipeline/pod-runtime/config/context.ts";
import { envFileValues } from "./parse.ts";
import { readEnvFile } from "./read.ts";

/** A container has any number of variables, each with a file of its own: as much as all of them may have together. */
const maxTotalBytes = 8 * 1024 * 1024;

interface EnvValues {
  readonly path: string;
  readonly get: (key: string) => string | undefined;
}

/**
 * Reads the files that a container's environment variables come from, so that the request can be built synchronously. `volumeDir`: where a
 * volume of the pod is on the node.
 */
export async function readFileKeys(
  pod: Pod,
  container: Container,
  volumeDir: (pod: Pod, volume: string) => string | undefined,
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
      // The error is thrown when the variable is resolved, so that the error of an earlier variable comes first.
      found.set(keyOf(ref), () => {
        throw new KubeletError("CreateContainerConfigError", `couldn't parse env file: ${messageOf(error)}`, {
          cause: error,
        });
      });
    }
  }
  return (ref) => found.get(keyOf(ref))?.();
}

function keyOf({ volumeName, path, key }: FileKeyRef): string {
  return JSON.stringify([volumeName, path, key]);
}
