import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { ProgramCall } from "../../../../lib/host/start-program.ts";
import { type Commands, exitText } from "../../../../lib/host/system-commands.ts";
import { contentOf } from "./format-and-mount.ts";

const timeoutMs = 600_000;

/** Grows the mounted filesystem of a device to the size of the device. A device without a filesystem gets its size with it. */
export async function growFilesystem(
  commands: Commands,
  device: string,
  mountPoint: string,
  signal: AbortSignal,
): Promise<void> {
  const format = await contentOf(commands, device, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw failure(`error checking format for device ${device}: ${messageOf(error)}`);
  });
  if (format === undefined) return;
  const growth = growthOf(format, device, mountPoint);
  if (growth === undefined)
    throw failure(
      `resize of format ${format} is not supported for device ${device} mounted at ${mountPoint}`,
    );
  const result = await commands.run(growth.call, { timeoutMs, signal });
  if (result.code === 0) return;
  const { program } = growth.call;
  const message = `resize of device ${growth.subject} failed: ${exitText(result)}. ${program} output: ${result.output}`;
  throw new KubeletError("Volume", message);
}

/** The program that grows it, and what its error messages name. */
function growthOf(
  format: string,
  device: string,
  mountPoint: string,
): { readonly call: ProgramCall; readonly subject: string } | undefined {
  switch (format) {
    case "ext3":
    case "ext4":
      return { call: { program: "resize2fs", operands: [device] }, subject: device };
    case "xfs":
      return {
        call: { program: "xfs_growfs", options: ["-d"], operands: [mountPoint] },
        subject: mountPoint,
      };
    case "btrfs": {
      const operands = ["filesystem", "resize", "max", mountPoint];
      return { call: { program: "btrfs", operands }, subject: mountPoint };
    }
    default:
      return undefined;
  }
}

function failure(message: string): KubeletError {
  return new KubeletError("Volume", `ResizeFS.Resize - ${message}`);
}
