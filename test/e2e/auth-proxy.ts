import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { join } from "node:path";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import type { TestNode } from "../node/test-node.ts";
import type { Registry } from "./registry.ts";

/** A proxy of a registry that requires a user name and a password. */
export class AuthProxy {
  readonly port: number;
  /** The credentials of all requests, in order; "" without credentials. */
  readonly credentials: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as { port: number }).port;
  }

  static async open(registry: Registry, user: { username: string; password: string }): Promise<AuthProxy> {
    const expected = `${user.username}:${user.password}`;
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = new AuthProxy(server);
    server.on("request", (incoming, outgoing) => {
      const credentials = /^Basic (.*)$/.exec(incoming.headers.authorization ?? "")?.[1] ?? "";
      const sent = Buffer.from(credentials, "base64").toString();
      proxy.credentials.push(sent);
      if (sent !== expected) {
        outgoing.writeHead(401, { "www-authenticate": 'Basic realm="proxy"' }).end();
        return;
      }
      const { authorization: _, ...headers } = incoming.headers;
      const inner = request(
        { host: "127.0.0.1", port: registry.port, method: incoming.method, path: incoming.url, headers },
        (response) => {
          outgoing.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(outgoing);
        },
      );
      inner.on("error", () => outgoing.destroy());
      incoming.pipe(inner);
    });
    return proxy;
  }

  get host(): string {
    return `localhost:${this.port}`;
  }

  /** Configures the node's containerd to use plain HTTP for this proxy. */
  configure(node: TestNode): void {
    const dir = join(nodeFiles(node.name).containerd.certs, this.host);
    mkdirSync(dir, { recursive: true });
    writeFileSync(
      join(dir, "hosts.toml"),
      `server = "http://${this.host}"\n[host."http://${this.host}"]\n  capabilities = ["pull", "resolve"]\n`,
    );
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
