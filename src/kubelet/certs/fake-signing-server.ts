import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { generateKey, privateKeyPem, signCertificate, type Usage } from "../../lib/base/x509/x509.ts";
import { fakeAuthority, issue } from "./fake-signer.ts";

interface Csr {
  metadata: { name: string; uid: string; resourceVersion: string };
  spec: { request: string; signerName: string; usages: Usage[]; username: string };
  status: { conditions?: { type: string; reason: string; message: string }[]; certificate?: string };
}

const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/** A server over TLS that accepts one token and the certificates it signed, and signs more of them. */
export class FakeSigningServer {
  readonly authority = fakeAuthority();
  readonly token = "bootstrap-token";
  /** The user of each certificate request. */
  readonly requestedBy: string[] = [];
  readonly csrs: Csr[] = [];
  lifetimeMs = 3_600_000;
  approve = true;
  readonly #history: { type: string; object: Csr }[] = [];
  readonly #watchers = new Set<(event: { type: string; object: Csr }) => void>();
  readonly #server: Server;
  #version = 0;

  constructor() {
    const { privateKey, publicKey } = generateKey();
    const cert = signCertificate({
      subject: { commonName: "server", organizations: [] },
      issuer: this.authority,
      publicKey,
      ipAddresses: ["127.0.0.1"],
      notBefore: new Date("2000-01-01"),
      notAfter: new Date("2100-01-01"),
      usages: ["digital signature", "server auth"],
    });
    const tls = { cert, key: privateKeyPem(privateKey), ca: this.authority.certificate };
    this.#server = createServer(
      { ...tls, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        void this.#handle(request, response);
      },
    );
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  kubeconfig(server: string, user: object): string {
    const authority = Buffer.from(this.authority.certificate).toString("base64");
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: { server, "certificate-authority-data": authority } }],
      users: [{ name: "u", user }],
    });
  }

  sign(csr: Csr): void {
    const request = Buffer.from(csr.spec.request, "base64").toString();
    const validity = { from: Date.now() - 1000, until: Date.now() + this.lifetimeMs };
    const certificate = issue(this.authority, request, csr.spec.usages, validity);
    csr.status = {
      conditions: [{ type: "Approved", reason: "Test", message: "" }],
      certificate: Buffer.from(certificate).toString("base64"),
    };
    this.touch(csr);
  }

  /** Notifies the watchers of the change. */
  touch(csr: Csr): void {
    this.#write("MODIFIED", csr);
  }

  #write(type: string, csr: Csr): void {
    csr.metadata.resourceVersion = String(++this.#version);
    const event = { type, object: structuredClone(csr) };
    this.#history.push(event);
    for (const watcher of this.#watchers) watcher(event);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "https://x");
    const user = this.#user(request);
    const send = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const fail = (code: number, reason: string) =>
      send(code, { kind: "Status", code, reason, message: reason });
    if (pathname === "/version") return send(200, {});
    if (user === undefined) return fail(401, "Unauthorized");
    if (request.method === "POST") return this.#create(await bodyOf(request), user, send, fail);
    const name = searchParams.get("fieldSelector")?.split("=")[1] ?? pathname.slice(collection.length + 1);
    const found = this.csrs.filter((csr) => csr.metadata.name === name);
    if (pathname !== collection) return found[0] ? send(200, found[0]) : fail(404, "NotFound");
    // As a server without streamed lists.
    if (searchParams.has("sendInitialEvents")) return fail(422, "Invalid");
    if (!searchParams.has("watch")) {
      return send(200, { metadata: { resourceVersion: String(this.#version) }, items: found });
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const from = Number(searchParams.get("resourceVersion"));
    const emit = (event: { type: string; object: Csr }) => {
      const { metadata } = event.object;
      if (metadata.name === name && Number(metadata.resourceVersion) > from) {
        response.write(`${JSON.stringify(event)}\n`);
      }
    };
    for (const event of this.#history) emit(event);
    this.#watchers.add(emit);
    response.on("close", () => this.#watchers.delete(emit));
  }

  #create(
    body: Csr & { metadata: { name?: string; generateName?: string } },
    username: string,
    send: (status: number, body: object) => void,
    fail: (status: number, reason: string) => void,
  ): void {
    const name = body.metadata.name ?? `${body.metadata.generateName}${this.csrs.length}`;
    if (this.csrs.some((csr) => csr.metadata.name === name)) return fail(409, "AlreadyExists");
    this.requestedBy.push(username);
    const metadata = { name, uid: `uid-${this.csrs.length}`, resourceVersion: "" };
    const csr: Csr = { metadata, spec: { ...body.spec, username }, status: {} };
    this.csrs.push(csr);
    this.#write("ADDED", csr);
    send(201, csr);
    if (this.approve) this.sign(csr);
  }

  #user(request: IncomingMessage): string | undefined {
    if (request.headers.authorization === `Bearer ${this.token}`) return "bootstrapper";
    const socket = request.socket as TLSSocket;
    return socket.authorized ? String(socket.getPeerCertificate().subject.CN) : undefined;
  }
}

async function bodyOf(request: IncomingMessage): Promise<Csr> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as Csr;
}
