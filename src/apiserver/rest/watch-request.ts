import { isAbort } from "../../lib/base/errors.ts";
import { protobufType, watchFrame } from "../protobuf/protobuf.ts";
import type { Scope } from "../storage/change-event.ts";
import type { Store } from "../storage/store.ts";
import { watchStart } from "../storage/watch-start.ts";
import { type Answer, write } from "./answer.ts";
import type { ListQuery } from "./query.ts";
import { asProblem, statusOf } from "./status.ts";
import { bookmarkText, objectText, type Presentation } from "./views.ts";

/** A watch that names no time ends by itself after 30 to 60 minutes, so that not all of them end together. */
const leastMs = 30 * 60_000;

export interface WatchRequest {
  readonly store: Store;
  readonly scope: Scope;
  readonly query: ListQuery;
  readonly how: Presentation;
  readonly answer: Answer;
  /** Ends the watch: the client is gone, or the server goes. */
  readonly signal: AbortSignal;
}

/** Sends changes, a line or a frame for each, until client or server ends the watch. */
export async function serveWatch(request: WatchRequest): Promise<void> {
  const { store, scope, query, answer, how, signal } = request;
  const start = watchStart(query);
  const timeoutMs = query.timeoutSeconds ? query.timeoutSeconds * 1000 : leastMs * (1 + Math.random());
  const bookmarks = query.allowWatchBookmarks === true;
  const events = store.watch(scope, { start, bookmarks, timeoutMs, signal });
  const protobuf = answer.encoding === "protobuf";
  answer.begin(200, { "content-type": protobuf ? `${protobufType};stream=watch` : "application/json" });
  answer.response.flushHeaders();
  const send = (type: string, text: string) =>
    write(
      answer.response,
      protobuf ? watchFrame(type, JSON.parse(text)) : `{"type":"${type}","object":${text}}\n`,
    );
  let first = true;
  try {
    for await (const event of events) {
      const text =
        event.type === "BOOKMARK"
          ? bookmarkText(how, event.version, event.initialEventsEnd)
          : objectText(how, event.object, first);
      if (event.type !== "BOOKMARK") first = false;
      await send(event.type, text);
    }
  } catch (error) {
    if (!isAbort(error)) await send("ERROR", JSON.stringify(statusOf(asProblem(error))));
  }
  answer.response.end();
}
