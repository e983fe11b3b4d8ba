import { type Clock, msSince } from "../../lib/base/clock.ts";
import { epochMs, type MonotonicTime } from "../../lib/base/time.ts";
import { whenAborted } from "../../lib/base/when-aborted.ts";
import type { ConsoleExchange } from "../../lib/model/console-node.ts";
import type { Bye, Changes } from "../protocol.ts";
import type { Feed } from "./feed.ts";

/** Five messages a second. */
const pauseMs = 200;
/** A change rarely comes alone; and the handlers of an event must not wait for a message. */
const collectMs = 20;
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
  let isScheduled = false;
  let lastSent: MonotonicTime | undefined;
  const ended = Promise.withResolvers<void>();
  const write = (text: string) => {
    if (!response.destroyed && !response.writableEnded) isBlocked = !response.write(text) || isBlocked;
  };
  const send = () => {
    if (isBlocked || signal.aborted) return;
    const next = feed.since(lastId);
    if (!next) return;
    lastId = next.id;
    lastSent = clock.monotonic();
    write(`event: ${next.message.kind}\nid: ${next.id}\ndata: ${JSON.stringify(next.message)}\n\n`);
  };
  const sendSoon = () => {
    if (isScheduled || isBlocked) return;
    isScheduled = true;
    const ago = lastSent === undefined ? pauseMs : msSince(clock, lastSent);
    cancelSend = clock.after(Math.max(collectMs, pauseMs - ago), () => {
      isScheduled = false;
      try {
        send();
      } catch (error) {
        // Thrown in a timer, it would end the agent.
        ended.reject(error);
      }
    });
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
  const endSession = () => end("session");
  const endStopping = () => end("stopping");
  let cancelSend = () => {};
  let cancelKeepAlive = clock.after(keepAliveMs, keepAlive);
  const onDrain = () => {
    isBlocked = false;
    sendSoon();
  };
  response.on("drain", onDrain);
  // The client may have disconnected, and the session may have ended, while the permission was checked.
  whenAborted(signal, ended.resolve);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const unsubscribe = feed.subscribe(sendSoon);
  try {
    // The browser reconnects after this time.
    write("retry: 1000\n\n");
    send();
    whenAborted(o.stopping, endStopping);
    whenAborted(o.sessionEnded, endSession);
    await ended.promise;
  } finally {
    unsubscribe();
    cancelSend();
    cancelKeepAlive();
    response.off("drain", onDrain);
    o.stopping.removeEventListener("abort", endStopping);
    o.sessionEnded.removeEventListener("abort", endSession);
    if (!response.writableEnded) response.end();
  }
}
