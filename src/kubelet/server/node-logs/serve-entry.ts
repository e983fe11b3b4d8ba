import type { FileHandle } from "node:fs/promises";
import { isAbort } from "../../../lib/base/errors.ts";
import { readAt } from "../../../lib/host/regular-file.ts";
import { HttpError } from "../http-error.ts";
import { responseWriter } from "../logs/response-writer.ts";
import type { Exchange } from "../route.ts";
import { byteRange } from "./byte-range.ts";
import type { DirEntry } from "./log-dir.ts";

const chunkBytes = 128 * 1024;
const sniffBytes = 512;

/** Responds with a file, a part of it, or a directory listing. Closes the file. */
export async function serveEntry(exchange: Exchange, entry: DirEntry): Promise<void> {
  try {
    if (isUnchanged(exchange, entry.modified)) {
      exchange.response.writeHead(304, { "last-modified": entry.modified.toUTCString() }).end();
      return;
    }
    if (entry.kind === "directory") serveList(exchange, entry);
    else await serveFile(exchange, entry);
  } finally {
    if (entry.kind === "file") await entry.file.close();
  }
}

function isUnchanged({ request }: Exchange, modified: Date): boolean {
  const since = Date.parse(request.headers["if-modified-since"] ?? "");
  return Math.floor(modified.getTime() / 1000) * 1000 <= since;
}

function serveList({ response }: Exchange, { names, modified }: DirEntry & { kind: "directory" }): void {
  const links = names.map((name) => `<a href="${linkTo(name)}">${escaped(name)}</a>\n`);
  const page = `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join("")}</pre>\n`;
  response
    .writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      "content-length": Buffer.byteLength(page),
      "last-modified": modified.toUTCString(),
      "x-content-type-options": "nosniff",
    })
    .end(page);
}

function linkTo(name: string): string {
  const link = name.split("/").map(encodeURIComponent).join("/");
  return escaped(link.replaceAll("%3A", ":").replaceAll("%40", "@"));
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

async function serveFile(exchange: Exchange, entry: DirEntry & { kind: "file" }): Promise<void> {
  const { request, response, signal } = exchange;
  const { file, size, modified } = entry;
  const requestedRange = isStale(request.headers["if-range"]?.toString(), modified)
    ? undefined
    : request.headers.range;
  const range = byteRange(requestedRange, size);
  if (range === "bad")
    throw new HttpError(416, "invalid range: failed to overlap\n", {
      headers: { "content-range": `bytes */${size}` },
    });
  const { start, end } = range ?? { start: 0, end: size - 1 };
  response.writeHead(range ? 206 : 200, {
    "content-type": await contentType(file),
    "content-length": end - start + 1,
    "accept-ranges": "bytes",
    "last-modified": modified.toUTCString(),
    "x-content-type-options": "nosniff",
    ...(range && { "content-range": `bytes ${start}-${end}/${size}` }),
  });
  const writer = responseWriter(response, signal);
  try {
    for (let at = start; at <= end; ) {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end + 1 - at));
      const read = await readAt(file, buffer, at);
      // Truncated since its size was sent: the client must detect that the response is incomplete.
      if (read < buffer.length) return void response.destroy();
      await writer.write(buffer);
      at += read;
    }
    response.end();
  } catch (error) {
    if (!isAbort(error) && !response.destroyed) throw error;
  }
}

/** A part is only useful to a client that has the rest of the same file. */
function isStale(ifRange: string | undefined, modified: Date): boolean {
  return ifRange !== undefined && Date.parse(ifRange) !== Math.floor(modified.getTime() / 1000) * 1000;
}

/** Never a type that a browser would execute: log content is not trusted. */
async function contentType(file: FileHandle): Promise<string> {
  const head = Buffer.alloc(sniffBytes);
  const bytes = head.subarray(0, await readAt(file, head, 0));
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "application/gzip";
  const isBinary = bytes.some((byte) => byte < 9 || byte === 11 || (byte > 13 && byte < 32 && byte !== 27));
  return isBinary ? "application/octet-stream" : "text/plain; charset=utf-8";
}
