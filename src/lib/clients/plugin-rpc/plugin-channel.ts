import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { type Client, connectivityState, Metadata } from "@grpc/grpc-js";
import { whenAborted } from "../../base/abort.ts";
import { type Clock, msSince, systemClock } from "../../base/clock.ts";
import { abortError } from "../../base/errors.ts";
import { toCriError } from "../cri/cri-error.ts";
import { callUnary, openChannel } from "../cri/grpc-call.ts";
import { methodDefinition } from "../cri/service-definition.ts";
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

/** A connection to a plugin that also sends streams of messages. */
export interface StreamingPluginChannel extends PluginChannel {
  /** Calls back for each message. Resolves when the plugin ends the stream, and rejects when the stream fails or is aborted. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    onMessage: (message: MessageShape<O>) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** A connection that is kept open. */
export interface WatchedPluginChannel extends StreamingPluginChannel {
  /** Keeps the connection open, and reports when it is established and when it breaks, until `close`. */
  watch(onChange: (isConnected: boolean) => void): void;
}

export function openPlugin(endpoint: string, clock: Clock = systemClock): StreamingPluginChannel {
  return channelOf(openClient(endpoint), clock);
}

export function openWatchedPlugin(endpoint: string, clock: Clock): WatchedPluginChannel {
  const channel = openClient(endpoint);
  return {
    ...channelOf(channel, clock),
    watch(onChange) {
      let wasConnected = false;
      const follow = () => {
        const state = channel.getChannel().getConnectivityState(false);
        // Only an idle channel needs it. A closed one would connect again.
        if (state === connectivityState.IDLE) channel.getChannel().getConnectivityState(true);
        const isConnected = state === connectivityState.READY;
        if (isConnected !== wasConnected) onChange(isConnected);
        wasConnected = isConnected;
        if (state === connectivityState.SHUTDOWN) return;
        channel.getChannel().watchConnectivityState(state, Number.POSITIVE_INFINITY, follow);
      };
      follow();
    },
  };
}

/** The default of gRPC, which the reference kubelet has for plugins. Decoding a longer response would delay all pods. */
const maxResponseBytes = 4 * 1024 * 1024;

function openClient(endpoint: string): Client {
  return openChannel(endpoint.replace(/^unix:(\/\/)?/, ""), maxResponseBytes);
}

function channelOf(channel: Client, clock: Clock): StreamingPluginChannel {
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
        const aborted = whenAborted(signal, () => channel.close());
        channel.waitForReady(Date.now() + timeoutMs, (error) => {
          aborted[Symbol.dispose]();
          if (!error) return resolve();
          reject(new RpcError("DEADLINE_EXCEEDED", "connect", "context deadline exceeded", { cause: error }));
        });
      }),
    stream: (method, onMessage, signal) => readStream(channel, clock, method, onMessage, signal),
    close: () => channel.close(),
  };
}

/** Between two messages of a stream; a plugin that sends without end waits. */
const minPauseMs = 100;
/** A message that took long to handle is followed by a longer pause: the plugin gets a tenth of the agent's time. */
const pauseFactor = 10;

function readStream<I extends DescMessage, O extends DescMessage>(
  channel: Client,
  clock: Clock,
  method: DescMethodServerStreaming<I, O>,
  onMessage: (message: MessageShape<O>) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortError(signal.reason));
    const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
    const call = channel.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize as (bytes: Buffer) => MessageShape<O>,
      create(method.input) as Message,
      new Metadata(),
      {},
    );
    let cancelPause = () => {};
    const aborted = whenAborted(signal, () => call.cancel());
    call.on("close", () => cancelPause());
    call.on("data", (message: MessageShape<O>) => {
      if (signal.aborted) return;
      const start = clock.monotonic();
      try {
        onMessage(message);
        call.pause();
        const pauseMs = Math.max(minPauseMs, pauseFactor * msSince(clock, start));
        cancelPause = clock.after(pauseMs, () => call.resume());
      } catch (error) {
        // Thrown here, it would end the process: a message that cannot be handled ends only its stream.
        reject(error);
        call.cancel();
      }
    });
    call.on("error", (error) => {
      cancelPause();
      aborted[Symbol.dispose]();
      reject(signal.aborted ? abortError(signal.reason) : toRpcError(toCriError(method.name, error)));
    });
    call.on("end", () => {
      aborted[Symbol.dispose]();
      resolve();
    });
  });
}

/** Work for a plugin is aborted because its socket was removed or replaced. */
export class SocketChanged extends Error {}
