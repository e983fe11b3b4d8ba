import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { ChannelCredentials, type Client, credentials, Client as GrpcClient, Metadata } from "@grpc/grpc-js";
import { whenAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { abortError } from "../../base/errors.ts";
import "../../base/pushed-streams.ts";
import { CriError, toCriError } from "./cri-error.ts";
import { methodDefinition } from "./service-definition.ts";

type SecureConnector = ReturnType<ChannelCredentials["_createSecureConnector"]>;

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A connection that is opened when it is needed and reopened after it broke. */
export function openChannel(socketPath: string, maxResponseBytes: number = MAX_MESSAGE_BYTES): Client {
  return new GrpcClient(`unix://${socketPath}`, new SocketCredentials(), {
    // Go's http2 rejects a socket path as :authority.
    "grpc.default_authority": "localhost",
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_receive_message_length": maxResponseBytes,
    // Connecting to a local socket is cheap, and pods wait for it.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
    // Back-off and connection are this channel's own, not the process's.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    "grpc.enable_http_proxy": 0,
    "grpc.service_config_disable_resolution": 1,
  });
}

export interface CallLimits {
  clock: Clock;
  /** Undefined: no deadline. */
  timeoutMs: number | undefined;
  signal: AbortSignal | undefined;
  /** The trace context for the server. */
  traceparent?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A unary call. An abort or the deadline also cancels the work in the runtime. */
export function callUnary<I extends DescMessage, O extends DescMessage>(
  channel: Client,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  limits: CallLimits,
): Promise<MessageShape<O>> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
  const message = create(method.input, request) as Message;
  return limited<MessageShape<O>>(method, limits, (metadata, options, done) =>
    channel.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      message,
      metadata,
      options,
      (error, response) => done(error, response as MessageShape<O>),
    ),
  );
}

/** All messages of a stream that the runtime ends. The limits apply to the whole stream. */
export function callStream<I extends DescMessage, O extends DescMessage>(
  channel: Client,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  limits: CallLimits,
): Promise<MessageShape<O>[]> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
  const message = create(method.input, request) as Message;
  return limited<MessageShape<O>[]>(method, limits, (metadata, options, done) => {
    const received: MessageShape<O>[] = [];
    return channel
      .makeServerStreamRequest(path, requestSerialize, responseDeserialize, message, metadata, options)
      .on("data", (each: MessageShape<O>) => received.push(each))
      .on("error", (error: Error) => done(error, received))
      .on("end", () => done(null, received));
  });
}

type Begin<T> = (
  metadata: Metadata,
  options: { deadline: number },
  done: (error: Error | null, result: T) => void,
) => { cancel(): void };

function limited<T>(
  method: DescMethod,
  { clock, timeoutMs, signal, traceparent, headers = {} }: CallLimits,
  begin: Begin<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal.reason));
    let endedBy: "abort" | "deadline" | undefined;
    let cancelTimer: (() => void) | undefined;
    const cancel = (by: "abort" | "deadline") => {
      endedBy ??= by;
      call.cancel();
    };
    const aborted = whenAborted(signal, () => cancel("abort"));
    const metadata = new Metadata();
    if (traceparent !== undefined) metadata.set("traceparent", traceparent);
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    // The deadline is passed to the runtime too, so that it ends the work even when this process cannot cancel it. It
    // is a little later than ours: ours has the better message.
    const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs + 500;
    const call = begin(metadata, { deadline }, (error, result) => {
      cancelTimer?.();
      aborted[Symbol.dispose]();
      if (!error) return resolve(result);
      if (endedBy === "abort") return reject(abortError(signal?.reason));
      const failure = toCriError(method.name, error);
      if (endedBy !== "deadline") return reject(failure);
      reject(
        new CriError("DEADLINE_EXCEEDED", method.name, `no response within ${(timeoutMs ?? 0) / 1000} s`, {
          cause: error,
        }),
      );
    });
    if (timeoutMs !== undefined) cancelTimer = clock.after(timeoutMs, () => cancel("deadline"));
  });
}

/**
 * Insecure credentials for a socket, with which a closed channel opens no further connection. By default, a channel of grpc-js that is
 * closed while it waits to reconnect does so once more, and keeps the connection: to the next server at the same socket.
 */
class SocketCredentials extends ChannelCredentials {
  override _isSecure(): boolean {
    return false;
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(
    ...args: Parameters<ChannelCredentials["_createSecureConnector"]>
  ): SecureConnector {
    const connector = credentials.createInsecure()._createSecureConnector(...args);
    let isClosed = false;
    return {
      connect: (socket) => connector.connect(socket),
      // Awaited before each connection.
      waitForReady: () => (isClosed ? Promise.reject(new Error("channel closed")) : connector.waitForReady()),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy() {
        isClosed = true;
        connector.destroy();
      },
    };
  }
}
