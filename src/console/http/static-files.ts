import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { ConsoleProblem, notFound } from "./problem.ts";
import { reply } from "./response-headers.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
};

const encodings = [
  { name: "br", extension: ".br" },
  { name: "gzip", extension: ".gz" },
];

/** The files of the page, as built. They contain no data of the node. */
export class StaticFiles {
  readonly #dir: string;
  #names: Promise<ReadonlySet<string>> | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** "index.html", or "assets/main-5d41402a.js": only names that the build created. */
  async serve(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
    this.#names ??= this.#list();
    const names = await this.#names;
    const type = types[extname(name)];
    if (!names.has("index.html"))
      throw new ConsoleProblem("unavailable", "the page of the console is missing in this installation");
    if (!names.has(name) || type === undefined) throw notFound();
    const accepted = String(request.headers["accept-encoding"] ?? "").split(/[\s,]+/);
    const encoding = encodings.find((e) => accepted.includes(e.name) && names.has(`${name}${e.extension}`));
    const bytes = await readFile(join(this.#dir, `${name}${encoding?.extension ?? ""}`));
    const isHashed = name.startsWith("assets/");
    reply(response, 200, type, request.method === "HEAD" ? "" : bytes, {
      "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      ...(encoding && { "content-encoding": encoding.name }),
      ...(request.method === "HEAD" && { "content-length": String(bytes.length) }),
    });
  }

  async #list(): Promise<ReadonlySet<string>> {
    const names = await readdir(this.#dir, { recursive: true }).catch(() => []);
    return new Set(names);
  }
}
