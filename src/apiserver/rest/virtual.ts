import type { RequestContext, VirtualObjects } from "../definition.ts";
import { type ApiObject, StoredObject } from "../storage/object.ts";
import type { Served } from "./catalog.ts";
import type { Exchange } from "./exchange.ts";
import { methodNotAllowed, notFoundError } from "./problems.ts";
import { listQuery } from "./query.ts";
import { keyOf, presentationOf } from "./reads.ts";
import { selection } from "./selection.ts";
import { listText, objectText } from "./views.ts";
import { contextOf } from "./write-context.ts";
import { writeRequest } from "./writes.ts";

/** Objects that are generated on request: they have no resourceVersion, so lists are not paginated. */
export async function serveVirtual(
  exchange: Exchange,
  served: Served,
  virtual: VirtualObjects,
): Promise<void> {
  const { target, writer } = exchange;
  const presentation = presentationOf(exchange, served);
  const context = contextFor(exchange, served);
  const { namespace, name } = target;
  if (exchange.verb === "get") {
    const ref = keyOf(exchange, served);
    const found = await virtual.get(ref, context);
    if (found) return writer.json(200, objectText(presentation, asStored(served, found)));
    const about = virtual.missing?.(ref) ?? { resource: served.resource, name };
    throw notFoundError({ name: served.definition.name, group: served.group }, about.resource, about.name);
  }
  if (exchange.verb !== "list") throw methodNotAllowed();
  const scope = selection(served, { ...listQuery(exchange.query), namespace, name });
  const objects = (await virtual.list(namespace, context)).filter(
    (object) =>
      (scope.name === undefined || object.metadata.name === scope.name) && (scope.matches?.(object) ?? true),
  );
  const items = objects.map((object) => asStored(served, object));
  return writer.json(200, listText(presentation, items, { resourceVersion: "" }));
}

function contextFor(exchange: Exchange, served: Served): RequestContext {
  const request = writeRequest(exchange, served, { dryRun: false, fieldManager: "" });
  return contextOf(exchange.parts.dependencies, request);
}

function asStored(served: Served, object: ApiObject): StoredObject {
  const { apiVersion, definition } = served;
  const { name, namespace = "", uid } = object.metadata;
  const text = JSON.stringify({ apiVersion, kind: definition.kind, ...object });
  return new StoredObject({ resource: served.storedAs, namespace, name }, uid, 0, text);
}
