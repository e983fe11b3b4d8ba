import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { replaceDurably } from "../../../../lib/host/durable-file.ts";
import { csiText } from "./csi-failure.ts";

const fileName = "vol_data.json";

/** Stored next to a volume, so that any kubelet can undo it. */
export interface VolumeData {
  readonly specVolID?: string;
  readonly volumeHandle: string;
  readonly driverName: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: string;
  readonly seLinuxMountContext?: string;
  /** "true" after the driver's call has completed. A kubelet that ignores the key only repeats the call. */
  readonly completed?: string;
}

/** Creates the directory if needed. After a crash the file has the old or the new content. */
export async function saveVolumeData(dir: string, data: VolumeData): Promise<void> {
  const path = join(dir, fileName);
  const text = `${JSON.stringify(
    data,
    Object.keys(data).sort((a, b) => (a < b ? -1 : 1)),
  )}\n`;
  try {
    await mkdir(dir, { recursive: true, mode: 0o750 });
    await replaceDurably(path, text, 0o644, `${path}.tmp`);
  } catch (error) {
    await rm(`${path}.tmp`, { force: true }).catch(() => {});
    const message = csiText(`failed to save volume data file ${path}: ${messageOf(error)}`);
    throw new KubeletError("CsiVolumeData", message, { cause: error });
  }
}

/** Undefined if there is none. */
export async function loadVolumeData(dir: string): Promise<VolumeData | undefined> {
  const path = join(dir, fileName);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    const message = csiText(`failed to open volume data file [${path}]: ${messageOf(error)}`);
    throw new KubeletError("CsiVolumeData", message, { cause: error });
  }
  try {
    const data: unknown = JSON.parse(text);
    if (isVolumeData(data)) return data;
    throw new Error("no volumeHandle or driverName");
  } catch (error) {
    const message = csiText(`failed to parse volume data file [${path}]: ${messageOf(error)}`);
    throw new KubeletError("CsiVolumeData", message, { cause: error });
  }
}

export async function removeVolumeData(dir: string): Promise<void> {
  await rm(join(dir, fileName), { force: true });
  await rm(join(dir, `${fileName}.tmp`), { force: true });
}

function isVolumeData(data: unknown): data is VolumeData {
  const { volumeHandle, driverName } = (data ?? {}) as Record<string, unknown>;
  return typeof volumeHandle === "string" && typeof driverName === "string";
}
