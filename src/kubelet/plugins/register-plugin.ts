import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { OpenPlugin, PluginChannel } from "../../lib/clients/plugin-rpc/plugin-channel.ts";
import { maxErrorLength, shortened } from "../../lib/clients/plugin-rpc/shortened.ts";
import { Registration } from "../../lib/gen/pluginregistration/v1/api_pb.js";
import type { Plugin, PluginHandler, PluginHandlers } from "./plugin-handler.ts";

const connectTimeoutMs = 10_000;
const infoTimeoutMs = 1_000;
const notifyTimeoutMs = 5_000;

export interface Registered {
  readonly plugin: Plugin;
  readonly handler: PluginHandler;
}

/** Gets the info of the plugin at the socket, passes it to the handler of its type, and notifies it of the result. */
export async function registerPlugin(
  socketPath: string,
  handlers: PluginHandlers,
  open: OpenPlugin,
  signal: AbortSignal,
): Promise<Registered> {
  const channel = open(socketPath);
  try {
    return await exchange(channel, socketPath, handlers, signal);
  } finally {
    channel.close();
  }
}

async function exchange(
  channel: PluginChannel,
  socketPath: string,
  handlers: PluginHandlers,
  signal: AbortSignal,
): Promise<Registered> {
  const { method } = Registration;
  const notify = async (pluginRegistered: boolean, error: string) => {
    const limits = { timeoutMs: notifyTimeoutMs, signal };
    await channel.call(method.notifyRegistrationStatus, { pluginRegistered, error }, limits);
  };
  /** The plugin is notified of the reason; if that fails, the failure is reported instead. */
  const reject = async (reason: string, cause?: unknown): Promise<never> => {
    await step(`failed to send error at socket ${socketPath}, err`, () => notify(false, problem(reason)));
    throw failure(reason, cause);
  };

  await step(`dial failed at socket ${socketPath}, err`, () =>
    channel.connected({ timeoutMs: connectTimeoutMs, signal }),
  );
  const info = await step(`failed to get plugin info using RPC GetInfo at socket ${socketPath}, err`, () =>
    channel.call(method.getInfo, {}, { timeoutMs: infoTimeoutMs, signal }),
  );
  const handler = Object.hasOwn(handlers, info.type)
    ? (handlers as Record<string, PluginHandler | undefined>)[info.type]
    : undefined;
  const type = shortened(info.type, maxErrorLength);
  if (!handler) return reject(`no handler registered for plugin type: ${type} at socket ${socketPath}`);
  const plugin: Plugin = {
    name: info.name,
    endpoint: info.endpoint || socketPath,
    versions: info.supportedVersions,
  };
  try {
    handler.validate(plugin);
  } catch (error) {
    return reject(`plugin validation failed with err: ${messageOf(error)}`);
  }
  try {
    await handler.register(plugin, signal);
  } catch (error) {
    signal.throwIfAborted();
    return reject(`plugin registration failed with err: ${messageOf(error)}`, error);
  }
  try {
    await step(`failed to send registration status at socket ${socketPath}, err`, () => notify(true, ""));
  } catch (error) {
    // A plugin that was not notified would register again: start over.
    await handler.deregister(plugin);
    throw error;
  }
  return { plugin, handler };
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failure(`${what}: ${messageOf(error)}`, error);
  }
}

function problem(reason: string): string {
  return `RegisterPlugin error -- ${reason}`;
}

function failure(reason: string, cause?: unknown): KubeletError {
  return new KubeletError("PluginRegistration", problem(reason), { cause });
}
