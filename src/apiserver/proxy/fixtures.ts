import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { generateKey, privateKeyPem, signCertificate, type Usage } from "../../lib/base/x509/x509.ts";
import type { ConnectSubresource, Objects, RequestContext } from "../definition.ts";
import { allowAll } from "../fixtures.ts";
import { asStatusError, statusOf } from "../rest/status.ts";
import type { ApiObject } from "../storage/object.ts";
import type { KubeletConnectionOptions } from "./connection-options.ts";
import { kubeletConnections } from "./kubelet-connections.ts";

/** For tests: a CA, and certificates that it signs. */
export interface Authority {
  readonly ca: string;
  sign(name: string, usage: Usage): { readonly cert: string; readonly key: string };
}

export function authority(commonName = "ca"): Authority {
  const { privateKey: caKey, publicKey } = generateKey();
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const subject = { commonName, organizations: [] };
  const usages: Usage[] = ["cert sign", "digital signature"];
  const ca = signCertificate({
    subject,
    issuer: "self",
    key: caKey,
    publicKey,
    isCa: true,
    usages,
    ...validity,
  });
  return {
    ca,
    sign(name, usage) {
      const pair = generateKey();
      const cert = signCertificate({
        subject: { commonName: name, organizations: [] },
        issuer: { certificate: ca, key: caKey },
        publicKey: pair.publicKey,
        ipAddresses: ["127.0.0.1"],
        usages: ["digital signature", usage],
        ...validity,
      });
      return { cert, key: privateKeyPem(pair.privateKey) };
    },
  };
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;
type HandleUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

export interface FakeServer {
  readonly port: number;
  handle: Handle;
  upgrade: HandleUpgrade;
}

function listening(t: TestContext, server: Server): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  const fake = {
    port: 0,
    handle: ((_, response) => response.writeHead(404).end()) as Handle,
    upgrade: ((_, socket) => socket.destroy()) as HandleUpgrade,
  };
  server.on("connection", (socket) => sockets.add(socket.on("close", () => sockets.delete(socket))));
  server.on("request", (request, response) => fake.handle(request, response));
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => undefined);
    fake.upgrade(request, socket as Socket, head);
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      fake.port = (server.address() as AddressInfo).port;
      resolve(fake);
    }),
  );
}

export function fakeKubelet(t: TestContext, signer: Authority): Promise<FakeServer> {
  const identity = signer.sign("system:node:n", "server auth");
  const options = {
    ...identity,
    ca: signer.ca,
    requestCert: true,
    rejectUnauthorized: false,
    allowHalfOpen: true,
  };
  return listening(t, createSecureServer(options));
}

export function plainServer(t: TestContext): Promise<FakeServer> {
  return listening(t, createServer());
}

export function aNode(port: number): ApiObject {
  return {
    metadata: { name: "n", uid: "n" },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  };
}

export function aPod(spec: Record<string, unknown> = {}, status: Record<string, unknown> = {}): ApiObject {
  return {
    metadata: { name: "p", namespace: "ns", uid: "p" },
    spec: { nodeName: "n", containers: [{ name: "c" }], ...spec },
    status,
  };
}

export interface Api extends FakeServer {
  /** Ends the running request. */
  abort(): void;
  /** Resolves when the next request has been handled. */
  nextDone(): Promise<void>;
  /** The API's socket of the client that last requested an upgrade. */
  clientSocket?: Socket;
}

type Options = Partial<KubeletConnectionOptions> & { objects: { pods?: ApiObject; nodes?: ApiObject } };

/** An API that serves connect subresources only: /<name of the connection>/<name of the object>/<rest>. */
export async function anApi(t: TestContext, { objects, ...options }: Options): Promise<Api> {
  const connections: Readonly<Record<string, ConnectSubresource>> = kubeletConnections({
    credentials: () => ({}),
    mayProxyTo: () => true,
    authorizer: allowAll.authorizer,
    ...options,
  });
  const api = (await plainServer(t)) as Api;
  let current = new AbortController();
  let done: (() => void)[] = [];
  api.abort = () => current.abort();
  api.nextDone = () => new Promise((resolve) => done.push(resolve));
  const held: Pick<Objects, "get"> = {
    get: async ({ resource, name }) => {
      const found = objects[resource as "pods" | "nodes"];
      return found?.metadata.name === name ? found : undefined;
    },
  };
  const handle = async (
    request: IncomingMessage,
    connectRequest: Parameters<ConnectSubresource["connect"]>[2],
    sendError: (status: number, body: string) => void,
  ) => {
    current = new AbortController();
    const [, connection = "", name = "", ...rest] = (request.url ?? "").split("?", 1)[0]!.split("/");
    const resource = connection === "nodeProxy" ? "nodes" : "pods";
    const ref = { resource, namespace: resource === "pods" ? "ns" : "", name };
    const context: RequestContext = {
      caller: { name: "u", groups: [] },
      now: 0,
      dryRun: false,
      objects: held as Objects,
      signal: current.signal,
    };
    try {
      const path = rest.length > 0 ? `/${rest.join("/")}` : "";
      await connections[connection]!.connect(ref, path, connectRequest, context);
    } catch (error) {
      const problem = asStatusError(error);
      sendError(problem.status, JSON.stringify(statusOf(problem)));
    }
    for (const each of done) each();
    done = [];
  };
  api.handle = (request, response) =>
    void handle(request, { kind: "request", request, response }, (status, body) =>
      response.writeHead(status).end(body),
    );
  api.upgrade = (request, socket, head) => {
    api.clientSocket = socket;
    socket.once("close", () => current.abort());
    void handle(request, { kind: "upgrade", request, socket, head }, (status, body) =>
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
  };
  return api;
}

/** A raw connection, and the data received on it. */
export class RawClient {
  readonly socket: Socket;
  #seen = "";
  readonly ended: Promise<void>;
  readonly closed: Promise<void>;

  constructor(t: TestContext, port: number, text: string) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    t.after(() => this.socket.destroy());
    this.socket.setEncoding("latin1").on("data", (chunk) => {
      this.#seen += chunk;
    });
    this.socket.on("error", () => undefined);
    this.ended = new Promise((resolve) => this.socket.once("end", resolve));
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve()));
    this.socket.write(text);
  }

  get seen(): string {
    return this.#seen;
  }

  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#seen)) await new Promise((resolve) => this.socket.once("data", resolve));
    return this.#seen;
  }
}

export function upgradeText(path: string, method = "POST", headers: readonly string[] = []): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "Host: api",
    "Connection: Upgrade",
    "Upgrade: SPDY/3.1",
    ...headers,
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** The response of a kubelet to an upgrade. */
export const switching =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";
