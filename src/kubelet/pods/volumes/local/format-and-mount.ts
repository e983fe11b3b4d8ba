import { execFile } from "node:child_process";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";

export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a system command. Rejects only if it could not be started. */
export type RunProgram = (
  file: string,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<ProgramResult>;

export const runProgram: RunProgram = (file, args, signal) =>
  new Promise((resolve, reject) => {
    execFile(file, [...args], { signal, timeout: 600_000 }, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") return reject(error);
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });

export interface FormatOptions {
  readonly run: RunProgram;
  readonly mounts: Pick<Mounts, "mount">;
}

const fsckRepaired = 1;
const fsckNotRepaired = 4;

/** Mounts a device, and formats it first if it is empty. Existing data is never overwritten. */
export async function formatAndMount(
  { run, mounts }: FormatOptions,
  device: string,
  dir: string,
  fsType: string,
  options: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const existing = await contentOf(device, run, signal);
  const readOnly = options.includes("ro");
  if (existing === undefined) {
    if (readOnly)
      throw new KubeletError(
        "Volume",
        `failed to mount the volume as ${fsType}, cannot mount unformatted disk ${device} in read-only mode`,
      );
    await format(device, fsType, run, signal);
  } else if (!readOnly) {
    await repair(device, run, signal);
  }
  await mounts.mount(device, dir, fsType, options);
}

/** The filesystem or partition table on a device; undefined if blkid finds nothing. */
async function contentOf(device: string, run: RunProgram, signal: AbortSignal): Promise<string | undefined> {
  const args = ["-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", device];
  const { code, stdout, stderr } = await run("blkid", args, signal);
  if (code === 2) return undefined;
  if (code !== 0)
    throw new KubeletError("Volume", `failed to get disk format of ${device}: ${stderr.trim()}`);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1];
  return value("TYPE") ?? (value("PTTYPE") === undefined ? undefined : "unknown data, probably partitions");
}

async function format(device: string, fsType: string, run: RunProgram, signal: AbortSignal): Promise<void> {
  const args: Record<string, string[]> = {
    ext3: ["-F", "-m0", device],
    ext4: ["-F", "-m0", device],
    xfs: ["-f", device],
  };
  const { code, stdout, stderr } = await run(`mkfs.${fsType}`, args[fsType] ?? [device], signal);
  if (code !== 0)
    throw new KubeletError(
      "Volume",
      `failed to format device ${device} as ${fsType}: ${(stderr || stdout).trim()}`,
    );
}

async function repair(device: string, run: RunProgram, signal: AbortSignal): Promise<void> {
  const { code, stdout, stderr } = await run("fsck", ["-a", device], signal).catch(() => ({
    code: 0, // without fsck the mount reports errors
    stdout: "",
    stderr: "",
  }));
  if (code > fsckRepaired && code & fsckNotRepaired)
    throw new KubeletError(
      "Volume",
      `'fsck' found errors on device ${device} but could not correct them: ${(stdout || stderr).trim()}`,
    );
}
