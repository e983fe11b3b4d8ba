import type { ActionSubresource, ConnectRequest, ConnectSubresource, ObjectRef } from "../definition.ts";
import type { Served } from "./catalog.ts";
import type { Exchange } from "./exchange.ts";
import { invalid, methodNotAllowed } from "./problems.ts";
import { writeQuery } from "./query.ts";
import { presentationOf } from "./reads.ts";
import { applyNamespace } from "./system-metadata.ts";
import { admit, contextOf } from "./write-context.ts";
import { decodedBody, kindServed, writeRequest } from "./writes.ts";

function refOf({ target }: Exchange, served: Served): ObjectRef {
  return { resource: served.storedAs, namespace: target.namespace, name: target.name };
}

/** A POST of another kind to a subresource: binding, eviction, token. */
export async function serveAction(
  exchange: Exchange,
  served: Served,
  action: ActionSubresource,
): Promise<void> {
  const { parts, target, writer } = exchange;
  const { group, version, kind } = action;
  const query = writeQuery(exchange.query, "CreateOptions");
  presentationOf(exchange, served);
  const body = await decodedBody(exchange, { group, version, kind }, query);
  applyNamespace(body, target.namespace);
  const request = writeRequest(exchange, served, query);
  const { subresource, name } = target;
  await admit(parts.dependencies, request, { operation: "CREATE", subresource, name, object: body });
  const result = await action.act(refOf(exchange, served), body, contextOf(parts.dependencies, request));
  return writer.object(201, result);
}

/** A create request that is evaluated and not stored, such as a review. */
export async function serveReview(exchange: Exchange, served: Served): Promise<void> {
  const { parts, target, writer } = exchange;
  const { definition } = served;
  const query = writeQuery(exchange.query, "CreateOptions");
  presentationOf(exchange, served);
  const draft = await decodedBody(exchange, kindServed(served), query);
  applyNamespace(draft, target.namespace);
  const request = writeRequest(exchange, served, query);
  const context = contextOf(parts.dependencies, request);
  definition.defaults?.(draft);
  await admit(parts.dependencies, request, { operation: "CREATE", subresource: "", name: "", object: draft });
  await definition.prepareCreate?.(draft, context);
  const problems = definition.validate?.(draft, context) ?? [];
  if (problems.length > 0) throw invalid(definition, draft.metadata.name ?? "", problems);
  return writer.object(201, await definition.handleCreate!(draft, context));
}

/** Passes the connection to the handler of the subresource. */
export function serveConnection(
  exchange: Exchange,
  served: Served,
  connection: ConnectSubresource,
  request: ConnectRequest,
): Promise<void> {
  const { parts, target, verb } = exchange;
  if (!(connection.verbs as readonly string[]).includes(verb)) throw methodNotAllowed();
  const write = writeRequest(exchange, served, { dryRun: false, fieldManager: "" });
  return connection.connect(
    refOf(exchange, served),
    target.rest,
    request,
    contextOf(parts.dependencies, write),
  );
}
