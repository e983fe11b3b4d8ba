import assert from "node:assert/strict";
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from "node:http2";
import { request as httpsRequest } from "node:https";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { eventually } from "../../test/contracts/eventually.ts";
import { FakeClock } from "../lib/base/fake-clock.ts";
import { epochMs } from "../lib/base/time.ts";
import { generateKey, privateKeyPem, signCertificate } from "../lib/base/x509/x509.ts";
import { allowAll } from "./fixtures.ts";
import {
  configMap,
  configMaps,
  mapsPath,
  namespaces,
  testApi,
  widget,
  widgets,
  widgetsPath,
} from "./rest/fixtures.ts";
import { ApiServer, type ApiServerOptions } from "./server.ts";
import { memoryStore } from "./storage/fixtures.ts";

const day = 24 * 3600 * 1000;

function selfSigned(name: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKey();
  const cert = signCertificate({
    subject: { commonName: name, organizations: [] },
    issuer: "self",
    key: privateKey,
    publicKey,
    ipAddresses: ["127.0.0.1", "127.7.7.7"],
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    usages: ["server auth", "client auth"],
  });
  return { key: privateKeyPem(privateKey), cert };
}

async function secureApi(t: TestContext, more: Partial<ApiServerOptions> = {}) {
  const store = memoryStore();
  const pair = selfSigned("first");
  const client = selfSigned("someone");
  const server = new ApiServer({
    store,
    definitions: [namespaces, configMaps, widgets],
    tls: { ...pair, clientCa: client.cert },
    authenticator: {
      async authenticate(request) {
        const socket = request.socket as TLSSocket;
        const { subject } = socket.getPeerCertificate();
        return { name: socket.authorized ? String(subject.CN) : "system:anonymous", groups: [] };
      },
    },
    authorizer: { allows: async ({ name }) => ({ allowed: name === "someone" }) },
    ...more,
  });
  await server.start();
  t.after(async () => {
    await server.stop();
    store.close();
  });
  await server.objects.create("namespaces", { metadata: { name: "default" } });
  return { server, store, pair, client };
}

/** Relays connections until it is suspended; then it no longer reads from the server. */
async function suspendableRelay(t: TestContext, to: number): Promise<{ port: number; suspend(): void }> {
  const servers: Socket[] = [];
  const relay = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: to, host: "127.0.0.1", allowHalfOpen: true });
    for (const socket of [near, far]) {
      socket.on("error", () => {});
      t.after(() => socket.destroy());
    }
    near.pipe(far).pipe(near);
    servers.push(far);
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  t.after(() => relay.close());
  return {
    port: (relay.address() as AddressInfo).port,
    suspend: () => {
      for (const far of servers) far.unpipe().pause();
    },
  };
}

async function overHttp2(session: ClientHttp2Session, path: string, body?: unknown) {
  const stream = session.request({
    ":path": path,
    ":method": body === undefined ? "GET" : "POST",
    ...(body !== undefined && { "content-type": "application/json" }),
  });
  stream.end(body === undefined ? undefined : JSON.stringify(body));
  const [headers] = (await once(stream, "response")) as [{ ":status": number }];
  let text = "";
  for await (const chunk of stream) text += chunk;
  return { status: headers[":status"], body: JSON.parse(text) };
}

async function firstLine(stream: ClientHttp2Stream): Promise<string> {
  let text = "";
  while (!text.includes("\n")) text += String((await once(stream, "data"))[0]);
  return text.split("\n")[0]!;
}

test("HTTP/2: many requests and watches on one connection, and the certificate authenticates the caller", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
  t.after(() => session.destroy());
  const created = await overHttp2(session, mapsPath, configMap("a"));
  assert.equal(created.status, 201);
  const watches = Array.from({ length: 50 }, () => session.request({ ":path": `${mapsPath}?watch=1` }));
  const firsts = await Promise.all(watches.map(firstLine));
  for (const line of firsts) assert.equal(JSON.parse(line).object.metadata.name, "a");
  assert.equal((await overHttp2(session, `${mapsPath}/a`)).status, 200);
  const ended = Promise.all(watches.map((stream) => once(stream, "end")));
  for (const stream of watches) stream.resume();
  await server.stop();
  await ended;
});

test("HTTP/1.1 on the same port; without a certificate the caller is anonymous", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const send = async (credentials: object) => {
    const url = `https://127.0.0.1:${server.port}${mapsPath}`;
    const request = httpsRequest(url, { ca: pair.cert, agent: false, ...credentials }).end();
    const [response] = await once(request, "response");
    response.resume();
    await once(response, "end");
    return [response.statusCode, response.httpVersion];
  };
  assert.deepEqual(await send(client), [200, "1.1"]);
  assert.deepEqual(await send({}), [403, "1.1"]);
  assert.deepEqual(await send(selfSigned("someone")), [403, "1.1"]);
});

test("another endpoint serves the same API, and closes with it", async (t) => {
  const endpoint = { host: "127.7.7.7", port: 26_443, from: ["127.0.0.1"] }; // an otherwise unused address
  const { server, pair, client } = await secureApi(t, { podEndpoints: [endpoint] });
  const url = `https://${endpoint.host}:${endpoint.port}`;
  const session = connectHttp2(url, { ca: pair.cert, ...client });
  t.after(() => session.destroy());
  assert.equal((await overHttp2(session, mapsPath, configMap("a"))).status, 201);
  const watch = session.request({ ":path": `${mapsPath}?watch=1` });
  assert.equal(JSON.parse(await firstLine(watch)).object.metadata.name, "a");
  const ended = once(watch.resume(), "end");
  await server.stop();
  await ended;
  const late = connect(endpoint.port, endpoint.host);
  const [rejected] = await once(late, "error");
  assert.equal(rejected.code, "ECONNREFUSED");
});

test("HTTP/1.1: a large request may follow while a large response is being sent", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const text = "x".repeat(2_000_000);
  await server.objects.create("configmaps", configMap("a", { text }, { namespace: "default" }) as never);
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca: pair.cert, ...client });
  t.after(() => socket.destroy());
  const gets = 8; // more than all buffers between the server and a client that does not read
  socket.write(`GET ${mapsPath}/a HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(gets));
  await once(socket, "readable");
  const body = JSON.stringify(configMap("b", { text: "y".repeat(500_000) }));
  socket.write(
    `POST ${mapsPath} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let responses = "";
  for await (const chunk of socket) responses += chunk;
  const statuses = [...responses.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1]));
  assert.deepEqual(statuses, [...Array(gets).fill(200), 201]);
});

test("a selector may be longer than the default header limit", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const path = `${mapsPath}?labelSelector=${encodeURIComponent(`a in (${"x,".repeat(10_000)}y)`)}`;
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
  t.after(() => session.destroy());
  assert.equal((await overHttp2(session, path)).status, 200);
  const url = `https://127.0.0.1:${server.port}${path}`;
  const request = httpsRequest(url, { ca: pair.cert, agent: false, ...client }).end();
  const [response] = await once(request, "response");
  response.resume();
  assert.equal(response.statusCode, 200);
});

test("HTTP/1.1: an idle connection is kept, for as long as without TLS", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const request = httpsRequest(`https://127.0.0.1:${server.port}${mapsPath}`, {
    ca: pair.cert,
    agent: false,
    headers: { connection: "keep-alive" },
    ...client,
  }).end();
  const [response] = await once(request, "response");
  response.resume();
  assert.equal(response.headers["keep-alive"], "timeout=180");
});

test("an upgrade over TLS is passed to its handler", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca: pair.cert, ...client });
  socket.write(
    `GET ${widgetsPath}/w/echo/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`,
  );
  let text = "";
  for await (const chunk of socket) text += chunk;
  assert.match(text, /^HTTP\/1\.1 101 [\s\S]*default\/w \/x$/);
});

test("a new certificate is used for new connections", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const old = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
  t.after(() => old.destroy());
  await overHttp2(old, "/version");
  const next = selfSigned("second");
  server.setTls({ ...next, clientCa: client.cert });
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca: next.cert });
  await once(socket, "secureConnect");
  assert.equal(socket.getPeerCertificate().subject.CN, "second");
  socket.destroy();
  assert.equal((await overHttp2(old, "/version")).status, 200);
});

test("an upgrade is rejected for a resource without connect subresource", async (t) => {
  const api = await testApi(t);
  await api.send("POST", widgetsPath, widget("w"));
  const upgrade = async (path: string) => {
    const socket = connect(api.server.port, "127.0.0.1");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
    let text = "";
    for await (const chunk of socket) text += chunk;
    return text;
  };
  assert.match(await upgrade(`${widgetsPath}/w/echo`), /^HTTP\/1\.1 101 /);
  assert.match(await upgrade(`${widgetsPath}/w/status`), /^HTTP\/1\.1 405 [\s\S]*"MethodNotAllowed"/);
  assert.match(await upgrade("/nothing"), /^HTTP\/1\.1 404 /);
});

test("a rejection over HTTP/2 ends with its stream, which is not reset", async (t) => {
  const { server, pair, client } = await secureApi(t);
  const socket = connectTls({
    port: server.port,
    host: "127.0.0.1",
    ca: pair.cert,
    ...client,
    ALPNProtocols: ["h2"],
  });
  t.after(() => socket.destroy());
  const frame = (type: number, flags: number, stream: number, payload = Buffer.alloc(0)) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const field = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]);
  const get = [
    field(":method", "GET"),
    field(":scheme", "https"),
    field(":authority", "x"),
    field(":path", "/nothing"),
  ];
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  // SETTINGS, and HEADERS that end both the headers and the request.
  socket.write(Buffer.concat([frame(4, 0, 0), frame(1, 5, 1, Buffer.concat(get))]));
  let buffer = Buffer.alloc(0);
  const ends: string[] = [];
  for await (const chunk of socket) {
    buffer = Buffer.concat([buffer, chunk]);
    while (buffer.length >= 9 && buffer.length >= 9 + buffer.readUIntBE(0, 3)) {
      const [type, flags, stream] = [buffer[3], buffer[4] ?? 0, buffer.readUInt32BE(5)];
      buffer = buffer.subarray(9 + buffer.readUIntBE(0, 3));
      if (stream === 1 && type === 3) ends.push("reset");
      if (stream === 1 && type === 0 && flags & 1) ends.push("end of stream");
    }
    if (ends.length > 0) break;
  }
  assert.deepEqual(ends, ["end of stream"]);
});

test("stopping does not wait for a client that no longer reads, nor for a body that never ends", {
  timeout: 60_000,
}, async (t) => {
  const clock = new FakeClock();
  const { server, pair, client } = await secureApi(t, { clock });
  const relay = await suspendableRelay(t, server.port);
  const suspended = connectHttp2(`https://127.0.0.1:${relay.port}`, { ca: pair.cert, ...client });
  t.after(() => suspended.destroy());
  await once(
    suspended.request({ ":path": `${mapsPath}?watch=1` }).on("error", () => {}),
    "response",
  );
  relay.suspend();
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
  t.after(() => session.destroy());
  await overHttp2(session, "/version");
  const before = clock.pending;
  const post = { ":method": "POST", ":path": mapsPath, "content-type": "application/json" };
  session
    .request(post)
    .on("error", () => {})
    .write("{");
  const socket = connectTls({ port: server.port, host: "127.0.0.1", ca: pair.cert, ...client });
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(
    `POST ${mapsPath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
  );
  const at = epochMs(clock.wall());
  // Both requests have two deadlines while its body is read.
  await eventually(() => (clock.pending >= before + 4 ? true : undefined));
  let stopped = false;
  const stopping = server.stop().then(() => {
    stopped = true;
  });
  // Requests in progress may take five seconds; there are none.
  await eventually(async () => {
    await clock.advance(10);
    return stopped || epochMs(clock.wall()) - at > 4000 ? true : undefined;
  });
  assert.ok(stopped, "still not stopped");
  await stopping;
});

test("stopping ends watches at the end of a line, and then the server", async (t) => {
  const api = await testApi(t);
  const response = await fetch(`${api.url}${mapsPath}?watch=1`);
  const text = response.text();
  await api.send("POST", mapsPath, configMap("a"));
  const controller = new AbortController();
  const other = new ApiServer({ store: api.store, definitions: [], ...allowAll });
  await other.start(controller.signal);
  controller.abort();
  await other.done;
  await api.server.stop();
  await api.server.done;
  const lines = (await text).split("\n").filter((line) => line !== "");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).object.metadata.name),
    ["a"],
  );
  await assert.rejects(fetch(`${api.url}/version`));
});

test("a client that disconnects ends its watch", async (t) => {
  const ended = Promise.withResolvers<void>();
  const api = await testApi(t, {
    onRequest: ({ verb }) => {
      if (verb === "watch") ended.resolve();
    },
  });
  const controller = new AbortController();
  await fetch(`${api.url}${mapsPath}?watch=1`, { signal: controller.signal });
  controller.abort();
  await ended.promise;
});

test("many idle connections do not block other clients, and no connection with a pending response is closed", async (t) => {
  const { server, pair, client } = await secureApi(t, { limits: { connections: 20 } });
  const { port } = server;
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: pair.cert, ...client });
  t.after(() => session.destroy());
  await overHttp2(session, mapsPath, configMap("a"));
  const watch = session.request({ ":path": `${mapsPath}?watch=1` });
  await firstLine(watch);
  const silentConnections = Array.from({ length: 60 }, (_, i) => {
    const socket = i % 2 ? connect(port, "127.0.0.1") : connectTls({ port, rejectUnauthorized: false });
    return socket.on("error", () => {}).resume();
  });
  t.after(() => silentConnections.forEach((socket) => void socket.destroy()));
  await Promise.all(silentConnections.map((socket) => once(socket, "connect")));
  const newClient = connectHttp2(`https://127.0.0.1:${port}`, { ca: pair.cert, ...client });
  t.after(() => newClient.destroy());
  assert.equal((await overHttp2(newClient, `${mapsPath}/a`)).status, 200);
  await eventually(() => silentConnections.filter((socket) => socket.closed).length > 40 || undefined);
  const added = once(watch, "data");
  assert.equal((await overHttp2(newClient, mapsPath, configMap("b"))).status, 201);
  assert.equal(JSON.parse(String((await added)[0])).object.metadata.name, "b");
});

test("connections of pods do not use up those of this machine, even if each has a watch", async (t) => {
  const podEndpoint = { host: "127.7.7.7", port: await freePort("127.7.7.7"), from: ["127.0.0.0/8"] };
  const { server, pair, client } = await secureApi(t, {
    limits: { connections: 40 },
    podEndpoints: [podEndpoint],
  });
  const agent = { ca: pair.cert, ...client, agent: false, path: `${mapsPath}?watch=1` };
  const watches = Array.from({ length: 60 }, () =>
    httpsRequest({ ...agent, host: podEndpoint.host, port: podEndpoint.port }).end(),
  );
  t.after(() => watches.forEach((watch) => void watch.destroy()));
  const outcomes = await Promise.all(
    watches.map((watch) =>
      Promise.race([
        once(watch, "response").then(() => "served"),
        once(watch, "error").then(() => "rejected"),
      ]).catch(() => "rejected"),
    ),
  );
  // One in four is reserved.
  assert.equal(outcomes.filter((outcome) => outcome === "served").length, 30);
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
  t.after(() => session.destroy());
  assert.equal((await overHttp2(session, mapsPath, configMap("a"))).status, 201);
});

describe("responses that are not read", () => {
  /** Requests of one connection; the client extends no window, so that no response with a body ends. */
  async function unread(
    t: TestContext,
    { server, pair, client }: Awaited<ReturnType<typeof secureApi>>,
    o: { path: string; count: number; hasCredentials?: boolean },
  ) {
    const options = { ca: pair.cert, settings: { initialWindowSize: 0 }, ...(o.hasCredentials && client) };
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, options).on("error", () => {});
    t.after(() => session.destroy());
    const streams = Array.from({ length: o.count }, () =>
      session.request({ ":path": o.path }).on("error", () => {}),
    );
    const responses = await Promise.all(streams.map((stream) => once(stream, "response")));
    return { streams, statuses: responses.map(([headers]) => Number(headers[":status"])) };
  }
  const authenticator: ApiServerOptions["authenticator"] = {
    async authenticate(request) {
      const isKnown = (request.socket as TLSSocket).authorized;
      return isKnown
        ? { name: "someone", groups: ["system:authenticated"] }
        : { name: "system:anonymous", groups: ["system:unauthenticated"] };
    },
  };
  const authorizer: ApiServerOptions["authorizer"] = {
    allows: async ({ name }, { path }) => ({ allowed: name === "someone" || path === "/version" }),
  };

  for (const [what, path, status] of [
    ["clients without credentials", "/version", 200],
    ["clients that are rejected", mapsPath, 403],
  ] as const)
    test(`of ${what} do not keep others from connecting`, async (t) => {
      const api = await secureApi(t, { authenticator, authorizer, limits: { connections: 10 } });
      for (let i = 0; i < 10; i++)
        assert.deepEqual((await unread(t, api, { path, count: 1 })).statuses, [status]);
      const { pair, client, server } = api;
      const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
      t.after(() => session.destroy());
      assert.equal((await overHttp2(session, mapsPath)).status, 200);
    });

  test("of clients without credentials are limited, and the oldest are dropped", async (t) => {
    const api = await secureApi(t, { authenticator, authorizer, limits: { unreadResponses: 20 } });
    const first = await unread(t, api, { path: "/version", count: 15 });
    const second = await unread(t, api, { path: "/version", count: 15 });
    await eventually(() => first.streams.filter(({ destroyed }) => destroyed).length === 10 || undefined);
    assert.ok(second.streams.every(({ destroyed }) => !destroyed));
  });

  test("count toward the limits of their user, whatever was requested", async (t) => {
    const limits = { connections: 10, requests: 5, watches: 5, bodyBytes: 1000 };
    const api = await secureApi(t, { authenticator, authorizer, limitsOf: () => limits });
    const { statuses } = await unread(t, api, { path: "/version", count: 8, hasCredentials: true });
    assert.deepEqual(statuses.sort(), [...Array(5).fill(200), ...Array(3).fill(429)]);
  });
});

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("HTTP/2: a connection is kept while a request is in progress, and closed when it has been idle", async (t) => {
  const { server, pair, client } = await secureApi(t, { limits: { idleMs: 100 } });
  const open = () => connectHttp2(`https://127.0.0.1:${server.port}`, { ca: pair.cert, ...client });
  const [idle, watching] = [open(), open()];
  t.after(() => [idle, watching].forEach((session) => void session.destroy()));
  await overHttp2(idle, mapsPath, configMap("a"));
  const watch = watching.request({ ":path": `${mapsPath}?watch=1` });
  await firstLine(watch);
  await once(idle, "close");
  const added = once(watch, "data");
  const another = open();
  t.after(() => another.destroy());
  assert.equal((await overHttp2(another, mapsPath, configMap("b"))).status, 201);
  assert.equal(JSON.parse(String((await added)[0])).object.metadata.name, "b");
  await once(another, "close");
  watch.close(constants.NGHTTP2_CANCEL);
  await once(watching, "close");
});
