import { KubeletError } from "../../../../lib/base/errors.ts";
import { type CommandLimits, type Commands, exitText } from "../../../../lib/host/system-commands.ts";

/** Mount helpers of filesystems may wait this long for a server. */
const mountTimeoutMs = 150_000;
const unmountTimeoutMs = 60_000;

export interface MountRequest {
  readonly source: string;
  readonly target: string;
  readonly fsType: string;
  readonly options: readonly string[];
}

function mountArguments({ source, target, fsType, options }: MountRequest): string[] {
  const type = fsType ? ["-t", fsType] : [];
  return [...type, ...(options.length > 0 ? ["-o", options.join(",")] : []), source, target];
}

/** mount(8), for filesystems that need a mount helper. */
export async function mountByCommand(
  commands: Commands,
  request: MountRequest,
  signal: AbortSignal,
): Promise<void> {
  const args = mountArguments(request);
  const result = await commands.run("mount", args, { timeoutMs: mountTimeoutMs, signal });
  if (result.code === 0) return;
  const message = `mount failed: ${exitText(result)}\nMounting command: mount\nMounting arguments: ${args.join(" ")}\nOutput: ${result.output}\n`;
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
  const first = await commands.run("umount", [target], limits);
  if (first.code === 0) return;
  const result = first.code === undefined ? await commands.run("umount", ["-f", target], limits) : first;
  if (result.code === 0) return;
  const message = `unmount failed: ${exitText(result)}\nUnmounting arguments: ${target}\nOutput: ${result.output}\n`;
  throw new KubeletError("Unmount", message);
}

/** Both lists without duplicates, sorted. */
export function joinOptions(volumeOptions: readonly string[], options: readonly string[]): string[] {
  return [...new Set([...volumeOptions, ...options])].sort((a, b) => (a < b ? -1 : 1));
}
