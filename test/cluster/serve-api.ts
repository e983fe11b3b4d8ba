import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeRequest, KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";

type Api = Pick<KubeTransport, "request" | "stream">;

/** Serves the in-memory API on a real HTTP port, for an agent that runs in a separate process. */
export async function serveApi(api: Api): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void serve(api, request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function serve(api: Api, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname: path, searchParams } = new URL(request.url ?? "/", "http://api");
  const query = Object.fromEntries(searchParams);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  try {
    if (query.watch) {
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      const events = await api.stream({ path, query, signal: gone.signal });
      response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
      for await (const chunk of events) response.write(chunk);
      response.end();
      return;
    }
    const method = request.method as KubeRequest["method"];
    const result = await api.request({ method, path, query, body: text && JSON.parse(text) });
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result));
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    const { status: code, reason, message } = error;
    const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  }
}
