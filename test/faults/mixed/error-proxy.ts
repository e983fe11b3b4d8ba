import { once } from "node:events";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { Agent, request } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Random } from "../seeded-random.ts";

export interface ErrorProxyOptions {
  readonly port: number;
  /** The certificate of the API server, which clients of the proxy verify. */
  readonly serving: { readonly key: string; readonly cert: string };
  /** The identity of the clients, as the API server sees them. */
  readonly client: { readonly key: string; readonly cert: string; readonly ca: string };
  readonly random: Random;
}

/** Headers of one connection, which HTTP/2 does not have. */
const hopHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "host", "upgrade"]);
const retryable = [429, 503];

/** An HTTPS proxy in front of the API server that can fail requests, or lose their responses. */
export class ErrorProxy {
  readonly #o: ErrorProxyOptions;
  readonly #server: Http2SecureServer;
  readonly #upstream: Agent;
  readonly #sockets = new Set<Socket>();
  #errors = 0;

  static async open(o: ErrorProxyOptions): Promise<ErrorProxy> {
    const proxy = new ErrorProxy(o);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(o: ErrorProxyOptions) {
    this.#o = o;
    this.#upstream = new Agent({ ...o.client, keepAlive: true });
    this.#server = createSecureServer({ ...o.serving, allowHTTP1: true }, (req, res) =>
      this.#serve(req, res),
    );
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("sessionError", () => {});
    this.#server.on("tlsClientError", () => {});
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next requests fail. */
  fail(count: number): void {
    this.#errors = count;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#upstream.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(req: Http2ServerRequest, res: Http2ServerResponse): void {
    const abort = () => res.stream?.destroy();
    req.on("error", () => {});
    res.on("error", () => {});
    const error = this.#errors > 0 ? [500, 503, 429, "lost"][this.#o.random.below(4)] : undefined;
    if (error !== undefined) this.#errors--;
    if (typeof error === "number") {
      const wait = retryable.includes(error) ? { "retry-after": "1" } : {};
      const body = {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        code: error,
        message: "injected failure",
      };
      res.writeHead(error, { "content-type": "application/json", ...wait });
      return void res.end(JSON.stringify(body));
    }
    // Without it, Node.js sends no body with DELETE unless its length is known.
    const chunked =
      req.method === "GET" || req.headers["content-length"] ? {} : { "transfer-encoding": "chunked" };
    const upstream = request(
      {
        host: "127.0.0.1",
        port: this.#o.port,
        agent: this.#upstream,
        method: req.method,
        path: req.url,
        headers: { ...plainHeaders(req.headers), ...chunked },
      },
      (response) => {
        response.on("error", abort);
        response.on("aborted", abort);
        if (error === "lost") return abort();
        res.writeHead(response.statusCode ?? 502, plainHeaders(response.headers) as Record<string, string>);
        response.pipe(res);
      },
    );
    upstream.on("error", abort);
    res.on("close", () => upstream.destroy());
    req.pipe(upstream);
  }
}

function plainHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":") && !hopHeaders.has(name)) kept[name] = value;
  return kept;
}
