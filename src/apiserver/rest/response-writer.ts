import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { stringify } from "yaml";
import { encodeProtobuf, protobufType } from "../protobuf/protobuf.ts";
import type { BodyEncoding } from "./body.ts";

const zip = promisify(gzip);
/** Smaller responses are not compressed. */
const gzipMinBytes = 128 * 1024;
const prettyClients = /^(curl|Wget|Mozilla)/;

/** Writes the response to one request. */
export class ResponseWriter {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #warnings: string[] = [];
  readonly #pretty: boolean;
  encoding: BodyEncoding = "json";

  constructor(request: IncomingMessage, response: ServerResponse, query: URLSearchParams) {
    this.request = request;
    this.response = response;
    const requested = query.get("pretty");
    this.#pretty =
      requested === null
        ? prettyClients.test(request.headers["user-agent"] ?? "")
        : requested !== "false" && requested !== "0";
  }

  /** A warning that kubectl prints. */
  warn(text: string): void {
    this.#warnings.push(`299 - ${quoted(text)}`);
  }

  object(status: number, value: object, headers: OutgoingHttpHeaders = {}): Promise<void> {
    return this.json(status, JSON.stringify(value), headers);
  }

  /** Sends JSON text in the encoding that the client accepts. */
  async json(status: number, text: string, headers: OutgoingHttpHeaders = {}): Promise<void> {
    if (this.encoding === "yaml")
      return this.text(status, stringify(JSON.parse(text)), {
        "content-type": "application/yaml",
        ...headers,
      });
    if (this.encoding === "protobuf")
      return this.text(status, encodeProtobuf(JSON.parse(text)), {
        "content-type": protobufType,
        ...headers,
      });
    const body = this.#pretty ? JSON.stringify(JSON.parse(text), null, 2) : text;
    return this.text(status, `${body}\n`, { "content-type": "application/json", ...headers });
  }

  async text(status: number, text: string | Buffer, headers: OutgoingHttpHeaders = {}): Promise<void> {
    let body = typeof text === "string" ? Buffer.from(text) : text;
    const zipped = body.length >= gzipMinBytes && this.#acceptsGzip();
    if (zipped) body = await zip(body, { level: 1 });
    const all: OutgoingHttpHeaders = { ...headers };
    if (status !== 304) all["content-length"] = body.length;
    if (zipped) all["content-encoding"] = "gzip";
    this.writeHead(status, all);
    this.response.end(this.request.method === "HEAD" ? undefined : body);
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    const all: OutgoingHttpHeaders = { "cache-control": "no-cache, private", ...headers };
    if (this.#warnings.length > 0) this.response.setHeader("warning", this.#warnings);
    this.response.writeHead(status, all);
  }

  get headersSent(): boolean {
    return this.response.headersSent;
  }

  #acceptsGzip(): boolean {
    return /\bgzip\b/.test(String(this.request.headers["accept-encoding"] ?? ""));
  }
}

/** The text of a Warning header: quoted, without control characters. */
function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed.
  const safe = text.replace(/[\u0000-\u001f\u007f]/g, " ").replace(/[^\x20-\x7e]/g, "?");
  return `"${safe.replace(/["\\]/g, "\\$&")}"`;
}

/** Writes a chunk of a streamed response; resolves when the client can receive more, or has disconnected. */
export function write(response: ServerResponse, part: string | Buffer): Promise<void> {
  if (response.writableEnded || response.destroyed || response.write(part)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done).off("error", done);
      resolve();
    };
    response.on("drain", done).on("close", done).on("error", done);
  });
}
