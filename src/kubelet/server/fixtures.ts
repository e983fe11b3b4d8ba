import type { KeyObject } from "node:crypto";
import { type RequestOptions, request } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { systemClock } from "../../lib/base/clock.ts";
import { Listeners } from "../../lib/base/listeners.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { generateKey, privateKeyPem, signCertificate, type Usage } from "../../lib/base/x509/x509.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { AccessFilter } from "./auth/node-access.ts";
import { AgentServer, type Limits } from "./https/server.ts";
import type { Route } from "./route.ts";

const day = 86_400_000;

export interface TestAuthority {
  readonly certificate: string;
  readonly key: KeyObject;
}

export interface TestPair {
  readonly cert: string;
  readonly key: string;
}

export function testAuthority(name = "test-ca", issuer: TestAuthority | "self" = "self"): TestAuthority {
  const { privateKey, publicKey } = generateKey();
  const certificate = signCertificate({
    subject: { commonName: name, organizations: [] },
    issuer,
    publicKey,
    key: privateKey,
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    isCa: true,
    usages: ["cert sign", "digital signature"],
  });
  return { certificate, key: privateKey };
}

export function testPair(
  issuer: TestAuthority,
  commonName: string,
  o: {
    organizations?: string[];
    uids?: string[];
    usages?: Usage[];
    from?: number;
    to?: number;
    chain?: string;
  } = {},
): TestPair {
  const { privateKey, publicKey } = generateKey();
  const cert = signCertificate({
    subject: { commonName, organizations: o.organizations ?? [], ...(o.uids && { uids: o.uids }) },
    issuer,
    publicKey,
    ipAddresses: ["127.0.0.1"],
    notBefore: new Date(Date.now() + (o.from ?? -day)),
    notAfter: new Date(Date.now() + (o.to ?? day)),
    usages: o.usages ?? ["digital signature", "client auth", "server auth"],
  });
  return { cert: cert + (o.chain ?? ""), key: privateKeyPem(privateKey) };
}

/** A value that can be replaced, with change listeners. */
export function reloadable<T>(value: T) {
  const listeners = new Listeners<[T]>();
  let now = value;
  return {
    current: () => now,
    onChange: (listener: (value: T) => void) => listeners.add(listener),
    set(next: T) {
      now = next;
      listeners.notify(next);
    },
  };
}

/** An API that serves TokenReviews and SubjectAccessReviews, and counts them. */
export function fakeReviews(reviewers: {
  token?: (token: string) => object | Error;
  access?: (spec: { user: string; resourceAttributes: Record<string, string> }) => object | Error;
}) {
  const requests: { path: string; spec: unknown }[] = [];
  const transport: KubeTransport = {
    async request<T>({ path, body }: { path: string; body?: unknown }): Promise<T> {
      const { spec } = body as { spec: never };
      requests.push({ path, spec });
      const status = path.endsWith("/tokenreviews")
        ? reviewers.token?.((spec as { token: string }).token)
        : reviewers.access?.(spec);
      if (status instanceof Error) throw status;
      return { status: status ?? {} } as T;
    },
    stream: () => Promise.reject(new Error("not expected")),
    close() {},
  };
  return { transport, requests };
}

export interface TestServer {
  readonly server: AgentServer;
  readonly port: number;
  stop(): Promise<void>;
}

export async function startServer(o: {
  routes: readonly Route[];
  access: AccessFilter;
  certificate?: ReturnType<typeof reloadable<TestPair>>;
  clientCa?: ReturnType<typeof reloadable<string>>;
  limits?: Partial<Limits>;
  plain?: boolean;
}): Promise<TestServer> {
  const certificate = o.certificate ?? reloadable(testPair(testAuthority(), "node"));
  const ending = new AbortController();
  const server = new AgentServer({
    name: "test",
    address: "127.0.0.1",
    port: 0,
    routes: o.routes,
    access: o.access,
    clock: systemClock,
    logger: silentLogger,
    metrics: createMetrics(),
    ...(o.limits && { limits: o.limits }),
    ...(!o.plain && {
      tls: {
        settings: { tlsMinVersion: "", tlsCipherSuites: [] },
        certificate,
        ...(o.clientCa && { clientCa: o.clientCa }),
      },
    }),
  });
  await server.start(ending.signal);
  return {
    server,
    port: server.port ?? 0,
    async stop() {
      ending.abort();
      await server.done;
    },
  };
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request on its own connection. */
export function send(
  port: number,
  path: string,
  o: RequestOptions & { body?: string } = {},
): Promise<TestResponse> {
  const { body, ...options } = o;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: "127.0.0.1", port, path, agent: false, rejectUnauthorized: false, ...options },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
        response.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Sends bytes over TLS and returns everything received until the server closes the connection. */
export function rawTls(
  port: number,
  send: string | Buffer,
  o: ConnectionOptions & { until?: (text: string) => boolean } = {},
): Promise<string> {
  const { until, ...options } = o;
  return new Promise((resolve) => {
    let text = "";
    const socket: TLSSocket = connect(
      { host: "127.0.0.1", port, rejectUnauthorized: false, ...options },
      () => socket.write(send),
    );
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (until?.(text)) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
  });
}
