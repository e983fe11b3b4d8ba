import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { messageOf } from "../../../lib/base/errors.ts";
import { HttpError } from "../http-error.ts";
import { requestTarget } from "../https/request-target.ts";
import { RouteTable } from "../https/route-table.ts";
import { replyText } from "../replies.ts";
import type { Route } from "../route.ts";

export interface RouteServer {
  readonly url: string;
  /** How many requests are being handled. */
  active(): number;
  /** Errors of handlers other than HttpError. */
  readonly faults: string[];
}

/** Serves routes over plain HTTP without authorization: for tests of one route at a time. */
export async function serveRoutes(t: TestContext, routes: readonly Route[]): Promise<RouteServer> {
  const table = new RouteTable(routes);
  const faults: string[] = [];
  let active = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const target = requestTarget(request.url);
    if (target.kind !== "path") return replyText(response, 404, target.kind);
    const found = table.find(request.method ?? "", target.path);
    if (found.kind !== "route") return replyText(response, found.kind === "method" ? 405 : 404, found.kind);
    const disconnected = new AbortController();
    response.on("close", () => disconnected.abort());
    const { params, route } = found;
    const caller = { name: "test", groups: [] };
    active++;
    try {
      await route.handle({
        request,
        response,
        params,
        query: target.query,
        signal: disconnected.signal,
        caller,
      });
    } catch (error) {
      if (error instanceof HttpError) return replyText(response, error.status, error.message, error.headers);
      faults.push(messageOf(error));
      response.destroy();
    } finally {
      active--;
    }
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, active: () => active, faults };
}
