import { isAbort } from "../../lib/base/errors.ts";
import { protobufType, watchFrame } from "../protobuf/protobuf.ts";
import type { Scope } from "../storage/change-event.ts";
import type { Store } from "../storage/store.ts";
import { watchStart } from "../storage/watch-start.ts";
import type { ListQuery } from "./query.ts";
import { type ResponseWriter, write } from "./response-writer.ts";
import { asStatusError, statusOf } from "./status.ts";
import { bookmarkText, objectText, type Presentation } from "./views.ts";

/** A watch without timeoutSeconds ends after 30 to 60 minutes, so that watches do not all end at the same time. */
const minTimeoutMs = 30 * 60_000;

export interface WatchRequest {
  readonly store: Store;
  readonly scope: Scope;
  readonly query: ListQuery;
  readonly presentation: Presentation;
  readonly writer: ResponseWriter;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** Sends each change as a line or a frame, until the client or the server ends the watch. */
export async function serveWatch(request: WatchRequest): Promise<void> {
  const { store, scope, query, writer, presentation, signal } = request;
  const start = watchStart(query);
  const timeoutMs = query.timeoutSeconds ? query.timeoutSeconds * 1000 : minTimeoutMs * (1 + Math.random());
  const bookmarks = query.allowWatchBookmarks === true;
  const events = store.watch(scope, { start, bookmarks, timeoutMs, signal });
  const protobuf = writer.encoding === "protobuf";
  writer.writeHead(200, { "content-type": protobuf ? `${protobufType};stream=watch` : "application/json" });
  writer.response.flushHeaders();
  const send = (type: string, text: string) =>
    write(
      writer.response,
      protobuf ? watchFrame(type, JSON.parse(text)) : `{"type":"${type}","object":${text}}\n`,
    );
  let first = true;
  try {
    for await (const event of events) {
      const text =
        event.type === "BOOKMARK"
          ? bookmarkText(presentation, event.version, event.initialEventsEnd)
          : objectText(presentation, event.object, first);
      if (event.type !== "BOOKMARK") first = false;
      await send(event.type, text);
    }
  } catch (error) {
    if (!isAbort(error)) await send("ERROR", JSON.stringify(statusOf(asStatusError(error))));
  }
  writer.response.end();
}
