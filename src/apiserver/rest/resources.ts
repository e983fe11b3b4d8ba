import type { ConnectRequest } from "../definition.ts";
import { type Served, verbsOf } from "./catalog.ts";
import type { Exchange } from "./exchange.ts";
import { methodNotAllowed, noSuchResource } from "./problems.ts";
import { serveGet, serveList } from "./reads.ts";
import { serveAction, serveConnection, serveReview } from "./subresources.ts";
import { serveVirtual } from "./virtual.ts";
import { serveCreate, serveDelete, serveDeleteCollection, servePatch, serveUpdate } from "./writes.ts";

/** Handles a request for a resource. */
export async function serveResource(exchange: Exchange, upgrade?: ConnectRequest): Promise<void> {
  const { parts, target } = exchange;
  const served = parts.dependencies.catalog.find(target.apiVersion, target.resource);
  if (!served) throw noSuchResource();
  checkScope(exchange, served);
  if (target.subresource !== "") return serveSubresource(exchange, served, upgrade);
  if (upgrade || !(verbsOf(served.definition) as readonly string[]).includes(exchange.verb))
    throw methodNotAllowed();
  if (served.definition.virtual) return serveVirtual(exchange, served, served.definition.virtual);
  switch (exchange.verb) {
    case "get":
      return serveGet(exchange, served);
    case "list":
    case "watch":
      return serveList(exchange, served);
    case "create":
      return served.definition.handleCreate ? serveReview(exchange, served) : serveCreate(exchange, served);
    case "update":
      return serveUpdate(exchange, served, undefined);
    case "patch":
      return servePatch(exchange, served, undefined);
    case "delete":
      return serveDelete(exchange, served);
    case "deletecollection":
      return serveDeleteCollection(exchange, served);
    default:
      throw methodNotAllowed();
  }
}

/** A path has a namespace if, and only if, its resource is namespaced, except for lists across all namespaces. */
function checkScope({ target, verb }: Exchange, { definition }: Served): void {
  if (!definition.namespaced) {
    if (target.namespace !== "") throw noSuchResource();
  } else if (target.namespace === "") {
    if (target.name !== "") throw noSuchResource();
    if (verb !== "list" && verb !== "watch") throw methodNotAllowed();
  }
  if (verb === "create" && target.name !== "" && target.subresource === "") throw methodNotAllowed();
  if ((verb === "update" || verb === "patch") && target.name === "") throw methodNotAllowed();
}

async function serveSubresource(
  exchange: Exchange,
  served: Served,
  upgrade: ConnectRequest | undefined,
): Promise<void> {
  const { target, verb, writer } = exchange;
  const { subresources = {} } = served.definition;
  const name = target.subresource;
  const found = Object.hasOwn(subresources, name) ? subresources[name] : undefined;
  if (!found || (found.type === "update" && found.internal)) throw noSuchResource();
  if (found.type === "connect") {
    const { request, response } = writer;
    return serveConnection(exchange, served, found, upgrade ?? { kind: "request", request, response });
  }
  if (target.rest !== "") throw noSuchResource();
  if (upgrade) throw methodNotAllowed();
  if (found.type === "action") {
    if (verb !== "create") throw methodNotAllowed();
    return serveAction(exchange, served, found);
  }
  const subresourceTarget = { name, rules: found };
  if (verb === "get") return serveGet(exchange, served);
  if (verb === "update") return serveUpdate(exchange, served, subresourceTarget);
  if (verb === "patch") return servePatch(exchange, served, subresourceTarget);
  throw methodNotAllowed();
}
