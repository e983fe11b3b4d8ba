import type { IncomingHttpHeaders } from "node:http";
import { setImmediate } from "node:timers/promises";
import { dnsSubdomain } from "../../../lib/base/name-rules.ts";
import { HttpError } from "../http-error.ts";
import { readBody } from "../https/body.ts";
import { replyJson } from "../replies.ts";
import type { Exchange, Route } from "../route.ts";
import type { ManifestProblem } from "./applied-manifest.ts";
import type { ManifestStore, StoredManifest } from "./manifest-store.ts";

export interface ManifestRoutesOptions {
  readonly store: ManifestStore;
  /** The largest accepted manifest; default 1 MiB. */
  readonly maxBytes?: number;
}

const subresources = ["manifests", "proxy"];

/** Pods over HTTP: `GET /manifests`, and `GET`, `PUT`, `DELETE /manifests/{name}`. */
export function manifestRoutes({ store, maxBytes = 1024 * 1024 }: ManifestRoutesOptions): Route[] {
  const route = (method: string, verb: string, path: string, handle: Route["handle"]): Route => ({
    method,
    path,
    attributes: () => ({ verb, subresources }),
    handle,
  });
  return [
    route("GET", "get", "/manifests", async ({ response }) => {
      await store.ready;
      replyJson(response, { items: store.list().map(described) });
    }),
    route("GET", "get", "/manifests/{name}", (exchange) => show(exchange, store)),
    route("PUT", "update", "/manifests/{name}", (exchange) => put(exchange, store, maxBytes)),
    route("DELETE", "delete", "/manifests/{name}", (exchange) => remove(exchange, store)),
  ];
}

function described({ name, bytes, digest, modified, pods, problems }: StoredManifest): object {
  return {
    name,
    bytes,
    digest: `sha256:${digest}`,
    modified: modified.toISOString(),
    pods: podsOf(pods),
    ...(problems.length > 0 && { problems }),
  };
}

function podsOf(pods: StoredManifest["pods"]): object[] {
  return pods.map(({ metadata: { namespace, name, uid } }) => ({ namespace, name, uid }));
}

async function show({ params, response }: Exchange, store: ManifestStore): Promise<void> {
  const name = params.name ?? "";
  await store.ready;
  const bytes = await store.read(name);
  if (!bytes) throw notFound(name);
  response.writeHead(200, {
    "content-type": bytes.toString("latin1", 0, 64).trimStart().startsWith("{")
      ? "application/json"
      : "application/yaml",
    "content-length": bytes.length,
    "x-content-type-options": "nosniff",
  });
  response.end(bytes);
}

async function put(exchange: Exchange, store: ManifestStore, maxBytes: number): Promise<void> {
  const { params, request, response, signal } = exchange;
  const name = params.name ?? "";
  const messages = dnsSubdomain(name);
  if (messages.length > 0)
    throw new HttpError(400, `manifest "${name}": invalid name: ${messages.join("; ")}\n`);
  checkType(request.headers);
  const bytes = await readBody(request, maxBytes, signal);
  // A truncated body is rejected, even if it parses. With HTTP/2 it ends like a complete one when the client disconnects,
  // and the disconnect is reported a moment later.
  await setImmediate();
  if (signal.aborted || request.aborted || isShort(request.headers["content-length"], bytes))
    throw new HttpError(400, "the body is incomplete\n");
  const result = await store.put(name, bytes);
  switch (result.kind) {
    case "invalid": {
      const { problems } = result;
      const message = problems.map((problem) => describeProblem(name, problem)).join("\n");
      return replyJson(response, { message, problems: problems.map(plain) }, 422);
    }
    case "conflict": {
      const message = `manifest "${name}": pod "${result.pod}" is already in ${result.holder}`;
      return replyJson(response, { message, problems: [{ field: "metadata.name", message }] }, 409);
    }
    case "full":
      return replyJson(response, { message: `the limit of ${result.max} manifests is reached` }, 403);
    default: {
      const { kind, pods, warnings } = result;
      const body = { name, result: kind, pods: podsOf(pods), warnings: warnings.map(plain) };
      return replyJson(response, body, kind === "created" ? 201 : 200);
    }
  }
}

/** The default content type of HTTP tools is treated as none. */
const types =
  /^(?:(?:application|text)\/(?:x-|vnd\.[\w.-]+\+)?(?:yaml|json)|text\/plain|application\/octet-stream|application\/x-www-form-urlencoded)$/;

function checkType(headers: IncomingHttpHeaders): void {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type && !types.test(type))
    throw new HttpError(415, `content-type "${type}": a manifest is application/yaml or application/json\n`);
  const encoding = headers["content-encoding"];
  if (encoding && encoding !== "identity")
    throw new HttpError(415, `content-encoding "${encoding}": a manifest must be sent without encoding\n`);
}

function isShort(contentLength: string | undefined, bytes: Uint8Array): boolean {
  return contentLength !== undefined && Number(contentLength) !== bytes.length;
}

async function remove({ params, response }: Exchange, store: ManifestStore): Promise<void> {
  const name = params.name ?? "";
  if (!(await store.remove(name))) throw notFound(name);
  replyJson(response, { name, result: "deleted" });
}

function notFound(name: string): HttpError {
  return new HttpError(404, `manifest "${name}" not found\n`);
}

/** `web:7: spec.containers[0].image: Required value` */
function describeProblem(name: string, { line, field, message }: ManifestProblem): string {
  return `${name}${line ? `:${line}` : ""}: ${field ? `${field}: ` : ""}${message}`;
}

/** Removes the additional fields of decoders, such as a file name. */
function plain({ line, field, message }: ManifestProblem): ManifestProblem {
  return { ...(line !== undefined && { line }), ...(field !== undefined && { field }), message };
}
