import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type Clock, systemClock } from "../../base/clock.ts";
import { callUnary, openChannel } from "../cri/grpc-call.ts";
import { RpcError, toRpcError } from "./rpc-error.ts";

export interface PluginCall {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A connection to a plugin's socket. Failed calls throw an RpcError, aborted ones an AbortError. */
export interface PluginChannel {
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    limits: PluginCall,
  ): Promise<MessageShape<O>>;
  /** Waits until connections are accepted: a socket file exists slightly before its listener. */
  connected(limits: PluginCall): Promise<void>;
  close(): void;
}

export type OpenPlugin = (endpoint: string) => PluginChannel;

export function openPlugin(endpoint: string, clock: Clock = systemClock): PluginChannel {
  const channel = openChannel(endpoint.replace(/^unix:(\/\/)?/, ""));
  return {
    async call(method, request, { timeoutMs, signal }) {
      try {
        return await callUnary(channel, method, request, { clock, timeoutMs, signal });
      } catch (error) {
        throw toRpcError(error);
      }
    },
    connected: ({ timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        const onAbort = () => channel.close();
        signal.addEventListener("abort", onAbort, { once: true });
        channel.waitForReady(Date.now() + timeoutMs, (error) => {
          signal.removeEventListener("abort", onAbort);
          if (!error) return resolve();
          reject(new RpcError("DEADLINE_EXCEEDED", "connect", "context deadline exceeded", { cause: error }));
        });
      }),
    close: () => channel.close(),
  };
}

/** Work for a plugin is aborted because its socket was removed or replaced. */
export class SocketChanged extends Error {}
