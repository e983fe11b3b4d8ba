import { KubeletError } from "../../../../lib/base/errors.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import type { ProgramOption } from "../../../../lib/host/start-program.ts";
import type { Commands } from "../../../../lib/host/system-commands.ts";

export interface FormatOptions {
  readonly commands: Commands;
  readonly mounts: Pick<Mounts, "mount">;
}

const timeoutMs = 600_000;
const fsckRepaired = 1;
const fsckNotRepaired = 4;
const nothingFound = 2;

/** The filesystems that an empty disk can get, with the options of their mkfs. */
const formats: ReadonlyMap<string, readonly ProgramOption[]> = new Map([
  ["ext2", []],
  ["ext3", ["-F", ["-m", "0"]]],
  ["ext4", ["-F", ["-m", "0"]]],
  ["xfs", ["-f"]],
  ["btrfs", []],
]);
/** The kernel mounts an older version as a newer one. */
const extVersions = ["ext2", "ext3", "ext4"];

/**
 * Mounts a device, and formats it first if it is empty. Existing data is never overwritten. `fsType` is the type that the volume specifies.
 * The data must have it, or the disk is empty and can be formatted with it. The kernel would mount filesystems
 * such as proc and sysfs without using the device.
 */
export async function formatAndMount(
  { commands, mounts }: FormatOptions,
  device: string,
  dir: string,
  fsType: string | undefined,
  options: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (!device.startsWith("/"))
    throw new KubeletError("Volume", `the path of device ${JSON.stringify(device)} is not absolute`);
  const run: Run = (program, options) =>
    commands.run({ program, options, operands: [device] }, { timeoutMs, signal });
  const existing = await contentOf(commands, device, signal);
  const type = fsType || "ext4";
  const readOnly = options.includes("ro");
  if (existing === undefined) {
    const format = formats.get(type);
    if (format === undefined) throw failure(type, `disk ${device} is not formatted with it`);
    if (readOnly) throw failure(type, `cannot mount unformatted disk ${device} in read-only mode`);
    await formatAs(type, format, device, run);
  } else {
    const agree = type === existing || (extVersions.includes(type) && extVersions.includes(existing));
    if (!agree) throw failure(type, `it already contains ${existing}`, filesystemMismatch);
    if (!readOnly) await repair(device, run);
  }
  await mounts.mount(device, dir, type, options);
}

/** The code of the error of a device whose data is not of the type that its volume specifies. */
export const filesystemMismatch = "FilesystemMismatch";

function failure(fsType: string, why: string, code = "Volume"): KubeletError {
  return new KubeletError(code, `failed to mount the volume as ${fsType}, ${why}`);
}

type Run = (program: string, options: readonly ProgramOption[]) => ReturnType<Commands["run"]>;

/** The filesystem or partition table on a device; undefined if blkid finds nothing. */
export async function contentOf(
  commands: Commands,
  device: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options: ProgramOption[] = ["-p", ["-s", "TYPE"], ["-s", "PTTYPE"], ["-o", "export"]];
  const call = { program: "blkid", options, operands: [device] };
  const { code, stdout, output } = await commands.run(call, { timeoutMs, signal });
  if (code === nothingFound) return undefined;
  if (code !== 0)
    throw new KubeletError("Volume", `failed to get disk format of ${device}: ${output.trim()}`);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1];
  return value("TYPE") ?? (value("PTTYPE") === undefined ? undefined : "unknown data, probably partitions");
}

async function formatAs(
  fsType: string,
  options: readonly ProgramOption[],
  device: string,
  run: Run,
): Promise<void> {
  const { code, output } = await run(`mkfs.${fsType}`, options);
  if (code !== 0)
    throw new KubeletError("Volume", `failed to format device ${device} as ${fsType}: ${output.trim()}`);
}

async function repair(device: string, run: Run): Promise<void> {
  const { code, output } = await run("fsck", ["-a"]).catch(() => ({
    code: 0, // without fsck the mount reports errors
    output: "",
  }));
  if (code !== undefined && code > fsckRepaired && code & fsckNotRepaired)
    throw new KubeletError(
      "Volume",
      `'fsck' found errors on device ${device} but could not correct them: ${output.trim()}`,
    );
}
