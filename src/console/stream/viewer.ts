import { whenAborted } from "../../lib/base/abort.ts";
import { type Clock, msSince } from "../../lib/base/clock.ts";
import { epochMs, type MonotonicTime } from "../../lib/base/time.ts";
import type { ConsoleExchange } from "../console-node.ts";
import type { Bye, Changes } from "../protocol.ts";
import type { Feed } from "./feed.ts";

/** After its first message, a page receives the messages of all pages, but not too soon. */
const pauseMs = 150;
const keepAliveMs = 15_000;

export interface ViewerOptions {
  readonly feed: Feed;
  readonly clock: Clock;
  readonly exchange: ConsoleExchange;
  /** From a page that reconnects. */
  readonly lastId: string | undefined;
  /** Aborted when the session ends. */
  readonly sessionEnded: AbortSignal;
  /** Aborted when the kubelet stops. */
  readonly stopping: AbortSignal;
  /** Checked regularly; false ends the stream. */
  readonly mayRead: () => Promise<boolean>;
}

/**
 * Server-sent events for one page. There is never more than one message in its buffer: while the page does not read, nothing is
 * computed for it, and then it gets the newest state.
 */
export async function streamTo(o: ViewerOptions): Promise<void> {
  const { feed, clock, exchange } = o;
  const { response, signal } = exchange;
  let lastId = o.lastId;
  let isBlocked = false;
  let lastSent: MonotonicTime | undefined;
  const ended = Promise.withResolvers<void>();
  const write = (chunk: string | Buffer) => {
    if (!response.destroyed && !response.writableEnded) isBlocked = !response.write(chunk) || isBlocked;
  };
  const send = () => {
    if (isBlocked || signal.aborted) return;
    const next = feed.since(lastId);
    if (!next) return;
    lastId = next.id;
    lastSent = clock.monotonic();
    write(next.bytes);
  };
  const onMessage = (): boolean => {
    if (lastSent !== undefined && msSince(clock, lastSent) < pauseMs) return false;
    try {
      send();
    } catch (error) {
      // Thrown in a timer, it would end the agent.
      ended.reject(error);
    }
    return true;
  };
  const end = (reason: Bye["reason"]) => {
    const bye: Bye = { kind: "bye", reason };
    write(`event: bye\ndata: ${JSON.stringify(bye)}\n\n`);
    response.end();
    ended.resolve();
  };
  const keepAlive = () => {
    const alive: Changes = { kind: "changes", now: epochMs(clock.wall()) };
    if (!isBlocked) write(`event: changes\ndata: ${JSON.stringify(alive)}\n\n`);
    o.mayRead().then(
      (may) => (may ? undefined : end("session")),
      // The page reconnects, which is checked as well.
      () => end("session"),
    );
    cancelKeepAlive = clock.after(keepAliveMs, keepAlive);
  };
  let cancelKeepAlive = clock.after(keepAliveMs, keepAlive);
  const onDrain = () => {
    isBlocked = false;
    feed.wake();
  };
  response.on("drain", onDrain);
  // The client may have disconnected, and the session may have ended, while the permission was checked.
  whenAborted(signal, ended.resolve);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const unsubscribe = feed.subscribe(onMessage);
  try {
    // A client that reconnects on its own does so after this time.
    write("retry: 1000\n\n");
    send();
    using _stopping = whenAborted(o.stopping, () => end("stopping"));
    using _session = whenAborted(o.sessionEnded, () => end("session"));
    await ended.promise;
  } finally {
    unsubscribe();
    cancelKeepAlive();
    response.off("drain", onDrain);
    if (!response.writableEnded) response.end();
  }
}
