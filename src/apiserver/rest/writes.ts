import { epochMs } from "../../lib/base/time.ts";
import type { GroupVersionKind, Unstructured, UpdateSubresource } from "../definition.ts";
import { isStoreError } from "../storage/errors.ts";
import type { StoredObject } from "../storage/object.ts";
import { parseBody, readBody } from "./body.ts";
import type { Served } from "./catalog.ts";
import { createObject } from "./create.ts";
import { decodeObject } from "./decode.ts";
import { type DeleteOptions, deleteOptions } from "./delete-options.ts";
import type { Exchange } from "./exchange.ts";
import { bodyEncoding } from "./media-types.ts";
import { patchUpdate } from "./patch-request.ts";
import { mustBeAllowed } from "./permission.ts";
import { badRequest } from "./problems.ts";
import { listQuery, managerOf, type WriteQuery, writeQuery } from "./query.ts";
import { presentationOf } from "./reads.ts";
import { type Removed, removeObject } from "./remove.ts";
import { selection } from "./selection.ts";
import { success } from "./status.ts";
import { type Update, updateObject } from "./update.ts";
import { listText, objectText } from "./views.ts";
import type { WriteRequest } from "./write-context.ts";

const bodyTimeoutMs = 60_000;

export type SubresourceTarget = { readonly name: string; readonly rules: UpdateSubresource } | undefined;

function bodyOf({ parts, writer, caller, signal }: Exchange): Promise<Buffer> {
  const { clock, maxBodyBytes, limitsOf } = parts;
  const maxBytes = Math.min(maxBodyBytes, limitsOf(caller)?.bodyBytes ?? maxBodyBytes);
  return readBody(writer.request, { clock, maxBytes, timeoutMs: bodyTimeoutMs, signal });
}

export function writeRequest(
  exchange: Exchange,
  served: Served,
  query: Pick<WriteQuery, "dryRun" | "fieldManager">,
): WriteRequest {
  const { target, caller, signal, writer } = exchange;
  return {
    served,
    namespace: target.namespace,
    caller,
    signal,
    dryRun: query.dryRun,
    manager: managerOf(query.fieldManager, writer.request.headers["user-agent"]),
  };
}

export async function decodedBody(
  exchange: Exchange,
  expected: GroupVersionKind,
  query: WriteQuery,
): Promise<Unstructured> {
  const { parts, writer } = exchange;
  const encoding = bodyEncoding(writer.request.headers["content-type"]);
  return decodeObject(await bodyOf(exchange), expected, {
    encoding,
    validation: query.fieldValidation,
    fields: parts.fields,
    warn: (text) => writer.warn(text),
  });
}

export function kindServed({ group, version, definition }: Served): GroupVersionKind {
  return { group, version, kind: definition.kind };
}

export async function serveCreate(exchange: Exchange, served: Served): Promise<void> {
  const query = writeQuery(exchange.query, "CreateOptions");
  const presentation = presentationOf(exchange, served);
  const draft = await decodedBody(exchange, kindServed(served), query);
  const created = await createObject(
    exchange.parts.dependencies,
    writeRequest(exchange, served, query),
    draft,
  );
  return exchange.writer.json(201, objectText(presentation, created));
}

export async function serveUpdate(
  exchange: Exchange,
  served: Served,
  subresourceTarget: SubresourceTarget,
): Promise<void> {
  const { target, writer, parts } = exchange;
  const query = writeQuery(exchange.query, "UpdateOptions");
  const presentation = presentationOf(exchange, served);
  const draft = await decodedBody(exchange, kindServed(served), query);
  checkName(draft, target);
  const creates = served.definition.createsOnUpdate === true && !subresourceTarget;
  const update: Update = {
    name: target.name,
    ...(subresourceTarget && { subresource: subresourceTarget }),
    mutate: (oldObject) => (oldObject || creates ? structuredClone(draft) : undefined),
    mayCreate: () => mayCreate(exchange),
  };
  const { object, created } = await updateObject(
    parts.dependencies,
    writeRequest(exchange, served, query),
    update,
  );
  return writer.json(created ? 201 : 200, objectText(presentation, object));
}

export async function servePatch(
  exchange: Exchange,
  served: Served,
  subresourceTarget: SubresourceTarget,
): Promise<void> {
  const { target, writer, parts } = exchange;
  const query = writeQuery(exchange.query, "PatchOptions");
  const presentation = presentationOf(exchange, served);
  const update = patchUpdate({
    served,
    name: target.name,
    contentType: writer.request.headers["content-type"],
    text: (await bodyOf(exchange)).toString("utf8"),
    query,
    subresource: subresourceTarget,
    fields: parts.fields,
    warn: (text) => writer.warn(text),
    now: epochMs(parts.clock.wall()),
  });
  const request = writeRequest(exchange, served, query);
  const { object, created } = await updateObject(parts.dependencies, request, {
    ...update,
    mayCreate: () => mayCreate(exchange),
  });
  return writer.json(created ? 201 : 200, objectText(presentation, object));
}

/** Creating an object by an update or an apply also requires the permission to create. */
function mayCreate({ parts, caller, target }: Exchange): Promise<void> {
  const { group, version, resource, namespace, name } = target;
  const attributes = { verb: "create", group, version, resource, subresource: "", namespace, name };
  return mustBeAllowed(parts.authorizer, caller, attributes);
}

function checkName({ metadata }: Unstructured, { name, namespace }: Exchange["target"]): void {
  if (!metadata.name)
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (metadata.name !== name)
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  if (namespace && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest(
      `the namespace of the object (${metadata.namespace}) does not match the namespace on the request (${namespace})`,
    );
}

export async function serveDelete(exchange: Exchange, served: Served): Promise<void> {
  const { target, writer, parts } = exchange;
  const presentation = presentationOf(exchange, served);
  const options = await optionsOf(exchange);
  const request = writeRequest(exchange, served, { dryRun: options.dryRun, fieldManager: "" });
  const removed = await removeObject(parts.dependencies, request, target.name, options);
  const status = !removed.isRemoved && options.orphanDependents === false ? 202 : 200;
  if (returnsObject(served, removed)) return writer.json(status, objectText(presentation, removed.object));
  const { definition, group } = served;
  const details = {
    name: target.name,
    ...(group && { group }),
    kind: definition.name,
    uid: removed.object.uid,
  };
  return writer.object(status, success(details, status));
}

/** An object that is kept is returned; a removed one only for some kinds. */
function returnsObject({ definition }: Served, { isRemoved: gone }: Removed): boolean {
  return !gone || (definition.returnsDeleted ?? definition.deletionGrace !== undefined);
}

async function optionsOf(exchange: Exchange): Promise<DeleteOptions> {
  const body = await bodyOf(exchange);
  if (body.length === 0) return deleteOptions(undefined, exchange.query);
  const encoding = bodyEncoding(exchange.writer.request.headers["content-type"]);
  return deleteOptions(parseBody(body, encoding).value, exchange.query);
}

/** Parallel deletions of a deletecollection. */
const parallelDeletes = 20;

export async function serveDeleteCollection(exchange: Exchange, served: Served): Promise<void> {
  const { target, writer, parts } = exchange;
  const presentation = presentationOf(exchange, served);
  const options = await optionsOf(exchange);
  const request = writeRequest(exchange, served, { dryRun: options.dryRun, fieldManager: "" });
  const query = listQuery(exchange.query);
  const scope = selection(served, { ...query, namespace: target.namespace, name: "" });
  const page = await parts.dependencies.store.list(scope);
  const removed: StoredObject[] = [];
  for (let from = 0; from < page.items.length; from += parallelDeletes) {
    const some = page.items.slice(from, from + parallelDeletes);
    await Promise.all(
      some.map(async ({ key }) => {
        try {
          await removeObject(parts.dependencies, { ...request, namespace: key.namespace }, key.name, options);
        } catch (error) {
          if (!isStoreError(error, "NotFound")) throw error;
        }
      }),
    );
    removed.push(...some);
  }
  return writer.json(200, listText(presentation, removed, { resourceVersion: String(page.version) }));
}
