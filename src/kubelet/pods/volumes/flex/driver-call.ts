import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { type CommandResult, type Commands, exitText } from "../../../../lib/host/system-commands.ts";

/** As upstream: the time of the controller and the node to attach a volume. Other calls may take as long as they need, up to a day. */
const attachTimeoutMs = 600_000;
const timeoutMs = 86_400_000;
const maxMessage = 4096;

/** The driver does not implement the command: the kubelet does what is usual. */
export const notSupported = Symbol("not supported");

export interface DriverCapabilities {
  /** A volume is attached to the node and mounted once for it, before it is mounted for pods. */
  readonly attach: boolean;
  readonly selinuxRelabel: boolean;
  readonly supportsMetrics: boolean;
  readonly fsGroup: boolean;
  readonly requiresFSResize: boolean;
}

export interface DriverStatus {
  /** The path of the device, of attach and waitforattach. */
  readonly device: string;
  readonly capabilities: DriverCapabilities;
}

const defaultCapabilities: DriverCapabilities = {
  attach: true,
  selinuxRelabel: true,
  supportsMetrics: false,
  fsGroup: true,
  requiresFSResize: true,
};

/**
 * Calls a command of a driver. Throws if it fails, with the message of the driver. Its output is in no message and no log: it may contain the
 * secrets that are passed to it.
 */
export async function callDriver(
  commands: Commands,
  executable: string,
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<DriverStatus | typeof notSupported> {
  const limits = { timeoutMs: command === "waitforattach" ? attachTimeoutMs : timeoutMs, signal };
  let result: CommandResult;
  try {
    result = await commands.run({ program: executable, verbatim: [command, ...args] }, limits);
  } catch (error) {
    signal.throwIfAborted();
    throw failure(`${command} command failed: ${messageOf(error)}`);
  }
  if (result.code === undefined) throw failure("timeout");
  const status = parseStatus(command, result.output);
  if (status !== notSupported && result.code !== 0) throw failure(exitText(result));
  return status;
}

/** Names of fields are matched in any case, as Go matches them. */
function parseStatus(command: string, output: string): DriverStatus | typeof notSupported {
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    throw failure(`${command} command failed: its output is not JSON`);
  }
  const fields = fieldsOf(parsed);
  if (!fields) throw failure(`${command} command failed: its output is not a JSON object`);
  const text = (name: string): string => {
    const value = fields.get(name) ?? "";
    if (typeof value !== "string") throw failure(`${command} command failed: ${name} is not a string`);
    return value;
  };
  const status = text("status");
  if (status === "Not supported") return notSupported;
  if (status !== "Success") {
    const message = `${command} command failed, status: ${status}, reason: ${text("message")}`;
    throw failure(message.slice(0, maxMessage));
  }
  return { device: text("device"), capabilities: capabilitiesOf(fields.get("capabilities")) };
}

function capabilitiesOf(value: unknown): DriverCapabilities {
  const fields = fieldsOf(value);
  const entries = Object.entries(defaultCapabilities).map(([name, initial]) => {
    const found = fields?.get(name.toLowerCase()) ?? initial;
    if (typeof found !== "boolean") throw failure(`init command failed: ${name} is not a boolean`);
    return [name, found];
  });
  return Object.fromEntries(entries);
}

function fieldsOf(value: unknown): Map<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
}

function failure(message: string): KubeletError {
  return new KubeletError("FlexVolume", message);
}
