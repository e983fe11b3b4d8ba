import { epochMs } from "../../lib/base/time.ts";
import type { ObjectKey } from "../storage/object.ts";
import { parseVersion } from "../storage/version.ts";
import { versionMatch } from "../storage/version-match.ts";
import type { Served } from "./catalog.ts";
import type { Exchange } from "./exchange.ts";
import { negotiate } from "./media-types.ts";
import { listQuery } from "./query.ts";
import { selection } from "./selection.ts";
import { includeObject, type ListMeta, listText, objectText, type Presentation } from "./views.ts";
import { serveWatch } from "./watch-request.ts";

/** The presentation that the client requests. Also sets the encoding of the writer. */
export function presentationOf({ parts, writer, query }: Exchange, served: Served): Presentation {
  const { tables, clock } = parts;
  const { encoding, view } = negotiate(writer.request.headers.accept, tables !== undefined);
  writer.encoding = encoding;
  const include = view.as === "Table" ? includeObject(query) : "Metadata";
  return { served, view, tables, includeObject: include, now: () => epochMs(clock.wall()) };
}

export function keyOf({ target }: Exchange, served: Served): ObjectKey {
  return { resource: served.storedAs, namespace: target.namespace, name: target.name };
}

export async function serveGet(exchange: Exchange, served: Served): Promise<void> {
  const { parts, query, signal, writer } = exchange;
  const presentation = presentationOf(exchange, served);
  const notOlderThan = parseVersion(query.get("resourceVersion") ?? undefined);
  const found = await parts.dependencies.store.get(keyOf(exchange, served), { notOlderThan, signal });
  return writer.json(200, objectText(presentation, found));
}

export async function serveList(exchange: Exchange, served: Served): Promise<void> {
  const { parts, target, writer, signal } = exchange;
  const query = listQuery(exchange.query);
  const presentation = presentationOf(exchange, served);
  const { namespace, name } = target;
  const scope = selection(served, { ...query, namespace, name });
  const { store } = parts.dependencies;
  if (exchange.verb === "watch") return serveWatch({ store, scope, query, presentation, writer, signal });
  const { limit, continueToken } = query;
  const page = await store.list(scope, { match: versionMatch(query), limit, continueToken, signal });
  const metadata: ListMeta = {
    resourceVersion: String(page.version),
    ...(page.continueToken !== undefined && { continue: page.continueToken }),
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  };
  return writer.json(200, listText(presentation, page.items, metadata));
}
