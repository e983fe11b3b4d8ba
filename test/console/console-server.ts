import { rmSync } from "node:fs";
import { type ClientRequest, type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { type ConsoleOptions, createConsole } from "../../src/console/console.ts";
import { FakeConsoleNode, fakeConsolePod } from "../../src/console/fake-console-node.ts";
import { fakePage } from "../../src/console/fake-page.ts";
import type { Login } from "../../src/console/protocol.ts";
import { allowAll } from "../../src/kubelet/server/auth/node-access.ts";
import { AgentServer } from "../../src/kubelet/server/https/server.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";

export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Send = (
  method: string,
  path: string,
  more?: { readonly headers?: Record<string, string>; readonly body?: string },
) => Promise<Response>;

export const tokenOf = (link: string): string => link.slice(link.indexOf("#login=") + "#login=".length);

/** The console with a fake node, on the agent's own HTTP server. Paths are sent exactly as given. */
export async function consoleServer(
  t: TestContext,
  node = new FakeConsoleNode().add(fakeConsolePod()),
  more: Pick<ConsoleOptions, "sessionsFile"> & { readonly pageDir?: string; readonly port?: number } = {},
) {
  const { port: ownPort = 0, ...options } = more;
  const pageDir = fakePage();
  const console = createConsole({ node, pageDir, clock: systemClock, logger: silentLogger, ...options });
  const server = new AgentServer({
    name: "console",
    address: "127.0.0.1",
    port: ownPort,
    routes: [
      {
        method: "*",
        path: "/console/{path...}",
        checksAccess: true,
        attributes: () => ({ verb: "get", subresources: ["proxy"] }),
        handle: (exchange) => console.handle(exchange),
        upgrade: (exchange) => console.upgrade(exchange),
      },
    ],
    access: allowAll,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
  });
  const stop = new AbortController();
  await server.start(stop.signal);
  const end = async () => {
    console.stop();
    stop.abort();
    await server.done;
  };
  t.after(async () => {
    await end();
    rmSync(pageDir, { recursive: true });
  });
  const port = server.port ?? 0;
  const origin = `http://127.0.0.1:${port}`;
  node.ownOrigins = [origin];
  const open = (method: string, path: string, headers: Record<string, string>): ClientRequest =>
    request({ host: "127.0.0.1", port, method, path, headers, agent: false });
  const send: Send = (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const call = open(method, path, headers);
      call.on("error", reject);
      call.on("response", async (response) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: await text(response),
        }),
      );
      call.on("upgrade", (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: "" });
      });
      call.end(body);
    });
  /** The headers of a page that is logged in, for requests and for WebSockets. */
  const headersOf = (key: string) => ({
    "x-console-key": key,
    origin,
    "content-type": "application/json",
    "sec-websocket-protocol": `v5.channel.k8s.io, kubelet-console-key.${key}`,
  });
  const logIn = async () => {
    const { body } = await send("POST", "/console/api/login", {
      headers: { origin, "content-type": "application/json" },
      body: JSON.stringify({ token: tokenOf(console.link()) }),
    });
    const { key } = JSON.parse(body) as Login;
    return headersOf(key);
  };
  return { console, node, port, origin, open, send, headersOf, logIn, end };
}
