import { createHash } from "node:crypto";
import { packages } from "../../lib/schema/packages.ts";
import { json, oldSwaggerProtobuf, swaggerProtobuf } from "./content-types.ts";
import { descriptionText } from "./descriptions.ts";
import { type DocumentInfo, openApiV2 } from "./document-v2.ts";
import { documentNames, documentV3 } from "./document-v3.ts";
import { type DocumentedResource, servedKinds } from "./operations.ts";
import { encodeSwagger } from "./swagger-protobuf.ts";

export interface DocumentResponse {
  readonly status: 200 | 301 | 304 | 404 | 406;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface DocumentRequest {
  /** "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1". */
  readonly path: string;
  readonly accept: string | undefined;
  /** The query parameter `hash`. */
  readonly hash?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

/** Documents with their hash in the URL never change. */
const immutable = { "cache-control": "public, immutable", vary: "Accept" };
const revalidate = { "cache-control": "no-cache, private", vary: "Accept" };
const yearMs = 365 * 24 * 3600 * 1000;

/** The OpenAPI documents as they are served. Each is built on its first request and cached; most are never requested. */
export class OpenApiDocuments {
  readonly #definitions: readonly DocumentedResource[];
  readonly #info: DocumentInfo;
  readonly #now: () => number;
  readonly #cache = new Map<string, Buffer>();
  readonly #names: readonly string[];
  readonly #hash: string;

  constructor(options: {
    readonly definitions: readonly DocumentedResource[];
    readonly info: DocumentInfo;
    /** For the Expires header. */
    readonly now: () => number;
  }) {
    this.#definitions = options.definitions;
    this.#info = options.info;
    this.#now = options.now;
    this.#names = documentNames(options.definitions);
    this.#hash = hashOf(options.definitions, options.info);
  }

  /** The contents of `/openapi/v3`: the URL of each document. */
  get index(): object {
    return indexOf(this.#names, this.#hash);
  }

  /** A document of version 3 as JSON text; undefined if the group and version do not exist. */
  document(name: string): Buffer | undefined {
    if (!this.#names.includes(name)) return undefined;
    return this.#cached(name, () => text(documentV3(this.#definitions, name, this.#info)));
  }

  v2(): Buffer {
    return this.#cached("v2", () => text(openApiV2(this.#definitions, this.#info)));
  }

  v2Protobuf(): Buffer {
    return this.#cached("v2.pb", () => Buffer.from(encodeSwagger(openApiV2(this.#definitions, this.#info))));
  }

  /** Handles a GET below `/openapi`. */
  handle(request: DocumentRequest): DocumentResponse {
    if (request.path === "/openapi/v2") return this.#swagger(request);
    if (request.path === "/openapi/v3" || request.path === "/openapi/v3/")
      return accepts(request.accept, json) ? found(text(this.index), json, revalidate) : notAcceptable;
    const name = request.path.replace("/openapi/v3/", "");
    if (!this.#names.includes(name)) return notFound;
    if (!accepts(request.accept, json)) return notAcceptable;
    if (request.hash !== undefined && request.hash !== this.#hash) {
      const headers = { location: urlOf(name, this.#hash), ...revalidate };
      return { status: 301, headers, body: emptyBody };
    }
    const caching =
      request.hash === undefined
        ? revalidate
        : { ...immutable, expires: new Date(this.#now() + yearMs).toUTCString() };
    return withEtag(request, this.#hash, caching, json, () => this.document(name)!);
  }

  #swagger(request: DocumentRequest): DocumentResponse {
    const names = (type: string) => request.accept?.includes(type);
    const protobuf = names(swaggerProtobuf) || names(oldSwaggerProtobuf);
    if (!protobuf && !accepts(request.accept, json)) return notAcceptable;
    return protobuf
      ? withEtag(request, `${this.#hash}-pb`, revalidate, swaggerProtobuf, () => this.v2Protobuf())
      : withEtag(request, this.#hash, revalidate, json, () => this.v2());
  }

  #cached(key: string, build: () => Buffer): Buffer {
    const known = this.#cache.get(key) ?? build();
    this.#cache.set(key, known);
    return known;
  }
}

const emptyBody = Buffer.alloc(0);
const notFound: DocumentResponse = { status: 404, headers: {}, body: emptyBody };
const notAcceptable: DocumentResponse = { status: 406, headers: {}, body: emptyBody };

function found(body: Buffer, type: string, headers: Readonly<Record<string, string>>): DocumentResponse {
  return { status: 200, headers: { "content-type": type, ...headers }, body };
}

/** The document, or a 304 if the client has it. */
function withEtag(
  request: DocumentRequest,
  tag: string,
  caching: Readonly<Record<string, string>>,
  type: string,
  document: () => Buffer,
): DocumentResponse {
  const headers = { ...caching, etag: `"${tag}"` };
  if (request.ifNoneMatch?.includes(headers.etag)) return { status: 304, headers, body: emptyBody };
  return found(document(), type, headers);
}

function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined || accept.trim() === "") return true;
  const [main] = type.split("/");
  return accept.split(",").some((one) => [type, `${main}/*`, "*/*"].includes(one.split(";")[0]!.trim()));
}

function text(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function indexOf(names: readonly string[], hash: string): object {
  return {
    paths: Object.fromEntries(names.map((name) => [name, { serverRelativeURL: urlOf(name, hash) }])),
  };
}

function urlOf(name: string, hash: string): string {
  return `/openapi/v3/${name}?hash=${hash}`;
}

/** A hash of everything that the documents are built from, so that no document has to be built for it. */
function hashOf(definitions: readonly DocumentedResource[], info: DocumentInfo): string {
  const kinds = servedKinds(definitions).map((one) => [
    one.group,
    one.version,
    one.name,
    one.kind,
    one.namespaced,
    one.verbs,
    Object.entries(one.subresources ?? {}).map(([name, { type }]) => [name, type]),
  ]);
  const hash = createHash("sha256").update(
    JSON.stringify([info, kinds, packages.map((one) => one.text), descriptionText]),
  );
  return hash.digest("hex").toUpperCase();
}
