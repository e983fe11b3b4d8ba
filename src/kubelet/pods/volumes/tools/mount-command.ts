import { KubeletError } from "../../../../lib/base/errors.ts";
import { argumentsOf, type ProgramCall, type ProgramOption } from "../../../../lib/host/start-program.ts";
import { type CommandLimits, type Commands, exitText } from "../../../../lib/host/system-commands.ts";

/** Mount helpers of filesystems may wait this long for a server. */
const mountTimeoutMs = 150_000;
const unmountTimeoutMs = 60_000;

export interface MountRequest {
  /** `<server>:<path>`; mount(8) would also accept tags of disks (`LABEL=…`) and names in fstab. */
  readonly source: string;
  readonly target: string;
  readonly fsType: string;
  readonly options: readonly string[];
  /** --experimental-mounter-path: the program that runs mount(8), if any. */
  readonly mounterPath?: string | undefined;
}

/** mount(8), for filesystems that need a mount helper. */
export async function mountByCommand(
  commands: Commands,
  { source, target, fsType, options, mounterPath }: MountRequest,
  signal: AbortSignal,
): Promise<void> {
  if (!/^[^-/=][^/=]*:\//.test(source) || !target.startsWith("/"))
    throw new KubeletError("Mount", `cannot mount ${JSON.stringify(source)} at ${JSON.stringify(target)}`);
  const mount: ProgramCall = {
    program: "mount",
    options: [["-t", fsType], ...(options.length > 0 ? [["-o", options.join(",")] as const] : [])],
  };
  const args = argumentsOf(mount);
  const call: ProgramCall = mounterPath
    ? { program: mounterPath, verbatim: ["mount", ...args], operands: [source, target] }
    : { ...mount, operands: [source, target] };
  const result = await commands.run(call, { timeoutMs: mountTimeoutMs, signal });
  if (result.code === 0) return;
  // The form of the message, without the "--" of the call, is upstream's.
  const shown = [...(mounterPath ? ["mount"] : []), ...args, source, target].join(" ");
  const message = `mount failed: ${exitText(result)}\nMounting command: ${call.program}\nMounting arguments: ${shown}\nOutput: ${result.output}\n`;
  throw new KubeletError("Mount", message);
}

/**
 * umount(8), in a separate process: unmounting the filesystem of a dead server can hang, and would block the agent. After a minute
 * it is forced.
 */
export async function unmountByCommand(
  commands: Commands,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const limits: CommandLimits = { timeoutMs: unmountTimeoutMs, signal };
  const unmount = (...options: ProgramOption[]) =>
    commands.run({ program: "umount", options, operands: [target] }, limits);
  const first = await unmount();
  if (first.code === 0) return;
  const result = first.code === undefined ? await unmount("-f") : first;
  if (result.code === 0) return;
  const message = `unmount failed: ${exitText(result)}\nUnmounting arguments: ${target}\nOutput: ${result.output}\n`;
  throw new KubeletError("Unmount", message);
}

/** Both lists without duplicates, sorted. */
export function joinOptions(volumeOptions: readonly string[], options: readonly string[]): string[] {
  return [...new Set([...volumeOptions, ...options])].sort((a, b) => (a < b ? -1 : 1));
}
