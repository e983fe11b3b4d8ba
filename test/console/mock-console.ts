// A server that speaks the console's protocol, without a node: for tests of the page.
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { ApplyRequest, Changes, PodSummary, Session, Snapshot } from "../../src/console/protocol.ts";
import { WebSocketConnection } from "../../src/kubelet/server/streaming/websocket/connection.ts";
import { handshake } from "../../src/kubelet/server/streaming/websocket/handshake.ts";
import {
  mockDetail,
  mockEvents,
  mockHistory,
  mockNode,
  mockPod,
  mockPodUsage,
  mockYaml,
} from "./mock-objects.ts";

const dist = fileURLToPath(new URL("../../dist/console/", import.meta.url));
const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
/** The content security policy of the node: no inline code, no inline styles, and nothing from other hosts. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

export class MockConsole {
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  readonly #sockets = new Set<Socket>();
  readonly pods: Map<string, PodSummary>;
  /** Requests that change something: "POST /console/api/pods/uid-1/delete". */
  readonly changes: string[] = [];
  may: Session["may"] = { logs: true, exec: true, apply: true, deletePods: true, restart: true };
  loggedIn = true;
  readonly #clock: () => number;
  #id = 0;
  #port = 0;

  /** `clock` is the node's clock. */
  constructor(podCount: number, clock: () => number = Date.now) {
    this.#clock = clock;
    const now = clock();
    this.pods = new Map(
      Array.from({ length: podCount }, (_, index) => [`uid-${index}`, mockPod(index, now)]),
    );
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket, head) => exec(request, socket as Socket, head));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/console/`;
  }

  /** Listens on the former port if it was stopped. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    this.#streams.clear();
    await closed;
  }

  /** Changes pods and sends them to all pages. */
  update(pods: readonly PodSummary[], more: Partial<Changes> = {}): void {
    for (const pod of pods) this.pods.set(pod.uid, pod);
    this.send({ kind: "changes", now: this.#clock(), pods, ...more });
  }

  send(message: Changes | Snapshot): void {
    const text = `event: ${message.kind}\nid: ${++this.#id}\ndata: ${JSON.stringify(message)}\n\n`;
    for (const stream of this.#streams) stream.write(text);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "", this.url);
    const path = decodeURIComponent(pathname);
    response.setHeader("content-security-policy", policy);
    if (!path.startsWith("/console/api/")) return serveFile(path, response);
    const body = await bodyOf(request);
    if (request.method === "POST") this.changes.push(`POST ${path}`);
    if (!this.loggedIn) {
      const login = { method: "link" as const, command: "kubelet console --node node-1" };
      return json(response, 401, {
        error: { code: "unauthenticated", message: "There is no session.", login },
      });
    }
    if (path === "/console/api/stream") return this.#stream(response);
    this.#respond(path.slice("/console/api/".length), body, response);
  }

  #respond(path: string, body: string, response: ServerResponse): void {
    const [kind, uid = "", what, name] = path.split("/");
    const now = this.#clock();
    const pod = this.pods.get(uid);
    if (kind === "session") return json(response, 200, this.#session());
    if (kind === "images") {
      const sizes = { "postgres:17": 438e6, "app:2.1": 71e6, "web:1.4": 52e6, "pause:3.10": 0.7e6 };
      const items = Object.entries(sizes).map(([image, bytes], index) => ({
        name: `registry.example/${image}`,
        id: `sha256:${index}`,
        bytes,
        pinned: image === "pause:3.10",
      }));
      return json(response, 200, { count: items.length, bytes: 562e6, items });
    }
    if (kind === "apply") return applied(JSON.parse(body), response);
    if (!pod) return json(response, 404, { error: { code: "not-found", message: "There is no such pod." } });
    if (what === undefined) return json(response, 200, mockDetail(pod, now));
    if (what === "yaml") return json(response, 200, { uid, yaml: mockYaml(pod) });
    if (what === "usage") return json(response, 200, mockPodUsage(pod, now));
    if (what === "delete") return json(response, 200, { message: `Pod ${pod.name} is terminating` });
    if (what === "containers") return json(response, 200, { message: `Container ${name} is stopping` });
    if (what === "logs") return void logs(response);
    json(response, 404, { error: { code: "not-found", message: "There is no such path." } });
  }

  #session(): Session {
    const expiresAt = this.#clock() + 3_600_000;
    return {
      user: "root",
      node: "node-1",
      expiresAt,
      may: this.may,
      readOnlyBecause: null,
    };
  }

  #stream(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    this.#streams.add(response);
    response.on("close", () => this.#streams.delete(response));
    const now = this.#clock();
    const pods = [...this.pods.values()];
    const snapshot: Snapshot = {
      kind: "snapshot",
      now,
      node: mockNode(now),
      pods,
      usage: mockHistory(pods, now),
      events: mockEvents(pods, now),
    };
    response.write(`event: snapshot\nid: ${++this.#id}\ndata: ${JSON.stringify(snapshot)}\n\n`);
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function serveFile(path: string, response: ServerResponse): void {
  const name = path.replace(/^\/console\//, "") || "index.html";
  if (!/^(?:assets\/)?[\w.-]+$/.test(name) || !existsSync(dist + name)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": types[extname(name)] ?? "application/octet-stream" });
  response.end(readFileSync(dist + name));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}

function applied({ manifest, dryRun }: ApplyRequest, response: ServerResponse): void {
  const line = manifest.split("\n").findIndex((text) => /imgae:/.test(text)) + 1;
  if (line > 0) {
    const field = "spec.containers[0].image";
    const problems = [{ line, column: 7, field, message: "Required value" }];
    const message = `line ${line}: ${field}: Required value`;
    return json(response, 422, { error: { code: "invalid", message, problems } });
  }
  const name = /name: (\S+)/.exec(manifest)?.[1] ?? "";
  const result = { namespace: "default", name, result: dryRun ? "valid" : "created", uid: "" };
  json(response, 200, { results: [result], warnings: [] });
}

function logs(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/plain" });
  for (let index = 1; index <= 200; index++) {
    const time = new Date(Date.parse("2026-11-17T12:00:00Z") + index * 370).toISOString();
    const level = index % 9 === 0 ? "WARN  slow query: SELECT * FROM items" : "INFO  GET";
    response.write(`${time} ${level} /items/${index} 200 ${(index * 7) % 17} ms\n`);
  }
  response.end();
}

const commands: Readonly<Record<string, string>> = {
  hostname: "mock-host",
  "ls -l /etc/app":
    "total 8\r\n-rw-r--r--    1 root     root           412 Nov 17 11:46 app.conf\r\n-rw-r--r--    1 root     root            96 Nov 17 11:46 log.conf",
  "wget -qO- localhost:8080/healthz": "ok",
};

/** A shell that knows a few commands. */
function exec(request: IncomingMessage, socket: Socket, head: Buffer): void {
  socket.write(handshake(request, "v5.channel.k8s.io"));
  const write = (text: string) => connection.send(Buffer.from([1]), Buffer.from(text));
  let line = "";
  const connection = new WebSocketConnection(socket, {
    message: (data) => {
      if (data[0] !== 0) return;
      for (const char of data.subarray(1).toString()) {
        if (char !== "\r") {
          line += char;
          write(char);
        } else {
          const output = commands[line];
          write(output === undefined ? "\r\n/ # " : `\r\n${output}\r\n/ # `);
          line = "";
        }
      }
    },
    end: () => {},
  });
  connection.start(head);
  write("/ # ");
}
