import { createHash } from "node:crypto";
import { packages } from "../../lib/schema/packages.ts";
import { json, oldSwaggerProtobuf, swaggerProtobuf } from "./content-types.ts";
import { descriptionText } from "./descriptions.ts";
import { type DocumentInfo, openApiV2 } from "./document-v2.ts";
import { documentNames, documentV3 } from "./document-v3.ts";
import { type Described, servedKinds } from "./operations.ts";
import { encodeSwagger } from "./swagger-protobuf.ts";

export interface DocumentAnswer {
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

/** Documents with their hash in the address never change. */
const forever = { "cache-control": "public, immutable", vary: "Accept" };
const askAgain = { "cache-control": "no-cache, private", vary: "Accept" };
const aYear = 365 * 24 * 3600 * 1000;

/**
 * The OpenAPI documents as they are served. Each is built when it is first asked for and kept as bytes, which is cheap:
 * most are never asked for.
 */
export class OpenApiDocuments {
  readonly #definitions: readonly Described[];
  readonly #info: DocumentInfo;
  readonly #now: () => number;
  readonly #kept = new Map<string, Buffer>();
  readonly #names: readonly string[];
  readonly #hash: string;

  constructor(options: {
    readonly definitions: readonly Described[];
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

  /** What `/openapi/v3` lists: where each document is. */
  get index(): object {
    return indexOf(this.#names, this.#hash);
  }

  /** One document of version 3 as JSON text, undefined if there is no such group and version. */
  document(name: string): Buffer | undefined {
    if (!this.#names.includes(name)) return undefined;
    return this.#keep(name, () => text(documentV3(this.#definitions, name, this.#info)));
  }

  v2(): Buffer {
    return this.#keep("v2", () => text(openApiV2(this.#definitions, this.#info)));
  }

  v2Protobuf(): Buffer {
    return this.#keep("v2.pb", () => Buffer.from(encodeSwagger(openApiV2(this.#definitions, this.#info))));
  }

  /** The answer to a GET below `/openapi`. */
  answer(request: DocumentRequest): DocumentAnswer {
    if (request.path === "/openapi/v2") return this.#swagger(request);
    if (request.path === "/openapi/v3" || request.path === "/openapi/v3/")
      return accepts(request.accept, json) ? found(text(this.index), json, askAgain) : notAcceptable;
    const name = request.path.replace("/openapi/v3/", "");
    if (!this.#names.includes(name)) return notFound;
    if (!accepts(request.accept, json)) return notAcceptable;
    if (request.hash !== undefined && request.hash !== this.#hash) {
      const headers = { location: addressOf(name, this.#hash), ...askAgain };
      return { status: 301, headers, body: nothing };
    }
    const caching =
      request.hash === undefined
        ? askAgain
        : { ...forever, expires: new Date(this.#now() + aYear).toUTCString() };
    return tagged(request, this.#hash, caching, json, () => this.document(name)!);
  }

  #swagger(request: DocumentRequest): DocumentAnswer {
    const asked = (type: string) => request.accept?.includes(type);
    const protobuf = asked(swaggerProtobuf) || asked(oldSwaggerProtobuf);
    if (!protobuf && !accepts(request.accept, json)) return notAcceptable;
    return protobuf
      ? tagged(request, `${this.#hash}-pb`, askAgain, swaggerProtobuf, () => this.v2Protobuf())
      : tagged(request, this.#hash, askAgain, json, () => this.v2());
  }

  #keep(key: string, build: () => Buffer): Buffer {
    const known = this.#kept.get(key) ?? build();
    this.#kept.set(key, known);
    return known;
  }
}

const nothing = Buffer.alloc(0);
const notFound: DocumentAnswer = { status: 404, headers: {}, body: nothing };
const notAcceptable: DocumentAnswer = { status: 406, headers: {}, body: nothing };

function found(body: Buffer, type: string, headers: Readonly<Record<string, string>>): DocumentAnswer {
  return { status: 200, headers: { "content-type": type, ...headers }, body };
}

/** The document, unless the client has it already. */
function tagged(
  request: DocumentRequest,
  tag: string,
  caching: Readonly<Record<string, string>>,
  type: string,
  document: () => Buffer,
): DocumentAnswer {
  const headers = { ...caching, etag: `"${tag}"` };
  if (request.ifNoneMatch?.includes(headers.etag)) return { status: 304, headers, body: nothing };
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
    paths: Object.fromEntries(names.map((name) => [name, { serverRelativeURL: addressOf(name, hash) }])),
  };
}

function addressOf(name: string, hash: string): string {
  return `/openapi/v3/${name}?hash=${hash}`;
}

/** Of all that the documents are made from, so that none has to be built for it. */
function hashOf(definitions: readonly Described[], info: DocumentInfo): string {
  const kinds = servedKinds(definitions).map((one) => [
    one.group,
    one.version,
    one.name,
    one.kind,
    one.namespaced,
    one.verbs,
    Object.entries(one.subresources ?? {}).map(([name, { how }]) => [name, how]),
  ]);
  const hash = createHash("sha256").update(
    JSON.stringify([info, kinds, packages.map((one) => one.text), descriptionText]),
  );
  return hash.digest("hex").toUpperCase();
}
