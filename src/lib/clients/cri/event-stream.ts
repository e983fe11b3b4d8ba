import { create } from "@bufbuild/protobuf";
import { type Client, type ClientReadableStream, Metadata } from "@grpc/grpc-js";
import { whenAborted } from "../../base/abort.ts";
import {
  type ContainerEventResponse,
  GetEventsRequestSchema,
  RuntimeService,
} from "../../gen/runtime/v1/api_pb.js";
import { CriError, toCriError } from "./cri-error.ts";
import { methodDefinition } from "./service-definition.ts";

const METHOD = RuntimeService.method.getContainerEvents;
/** Each event carries the whole status of its pod: about 10 MB when a thousand wait. */
const MAX_WAITING = 1024;

/** Called once, when the stream has ended; the error is undefined if the reader or the runtime ended it. */
export type OnEnd = (error: CriError | undefined) => void;

/**
 * The events of the runtime, from the start of the iteration. They are read from the connection immediately, because a
 * runtime may stall or drop events for everyone while one reader is slow. A reader that falls too far behind gets an
 * error: it has to list everything anyway. A runtime that ends the stream with status OK ends the iteration: CRI-O does so at once if its
 * events are disabled.
 */
export function streamEvents(
  channel: Client,
  signal: AbortSignal,
  onEnd: OnEnd,
): AsyncIterable<ContainerEventResponse> {
  return { [Symbol.asyncIterator]: () => iterate(channel, signal, onEnd) };
}

type Waiter = PromiseWithResolvers<IteratorResult<ContainerEventResponse>>;

function iterate(channel: Client, signal: AbortSignal, onEnd: OnEnd): AsyncIterator<ContainerEventResponse> {
  const waiting: ContainerEventResponse[] = [];
  const readers: Waiter[] = [];
  let end: { error: CriError | undefined } | undefined;
  let aborted: Disposable | undefined;
  let call: ClientReadableStream<ContainerEventResponse> | undefined;

  const finish = (error: CriError | undefined) => {
    if (end) return;
    end = { error };
    aborted?.[Symbol.dispose]();
    call?.cancel();
    for (const reader of readers.splice(0)) settle(reader);
    onEnd(error);
  };
  const onAbort = () => {
    waiting.length = 0;
    finish(undefined);
  };
  const settle = (reader: Waiter) => {
    if (!end?.error) return reader.resolve({ done: true, value: undefined });
    // Thrown once; the next call finds the stream ended, as with any iterator.
    const { error } = end;
    end = { error: undefined };
    reader.reject(error);
  };
  const open = () => {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(METHOD);
    call = channel.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize as (bytes: Buffer) => ContainerEventResponse,
      create(GetEventsRequestSchema),
      new Metadata(),
      {},
    );
    call.on("data", (event: ContainerEventResponse) => {
      if (end) return;
      const reader = readers.shift();
      if (reader) return reader.resolve({ done: false, value: event });
      if (waiting.length < MAX_WAITING) return waiting.push(event);
      finish(
        new CriError("RESOURCE_EXHAUSTED", METHOD.name, `more than ${MAX_WAITING} events wait to be read`),
      );
    });
    call.on("error", (error) => finish(toCriError(METHOD.name, error)));
    call.on("end", () => finish(undefined));
  };

  if (signal.aborted) end = { error: undefined };
  else {
    aborted = whenAborted(signal, onAbort);
    try {
      open();
    } catch (error) {
      finish(toCriError(METHOD.name, error));
    }
  }
  return {
    next() {
      const event = waiting.shift();
      if (event) return Promise.resolve({ done: false, value: event });
      const reader: Waiter = Promise.withResolvers();
      if (end) settle(reader);
      else readers.push(reader);
      return reader.promise;
    },
    return() {
      onAbort();
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}
