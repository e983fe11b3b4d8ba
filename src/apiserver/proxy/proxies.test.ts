import assert from "node:assert/strict";
import { once } from "node:events";
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  type ServerResponse,
  request as send,
} from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import {
  type Api,
  aNode,
  anApi,
  aPod,
  authority,
  fakeKubelet,
  plainServer,
  RawClient,
  switching,
  upgradeText,
} from "./fixtures.ts";

const signer = authority();
const { cert: clientCert, key: clientKey } = signer.sign("api", "client auth");
const credentials = () => ({ clientCert, clientKey, ca: signer.ca });

async function setUp(t: TestContext) {
  const kubelet = await fakeKubelet(t, signer);
  const other = await plainServer(t);
  const ports = [{ containerPort: other.port }];
  const pods = aPod({ containers: [{ name: "c", ports }] }, { podIPs: [{ ip: "127.0.0.1" }] });
  const objects = { pods, nodes: aNode(kubelet.port) };
  return { kubelet, other, objects, api: await anApi(t, { objects, credentials }) };
}

function fetchPath(
  api: Api,
  path: string,
  options: RequestOptions = {},
  body = "",
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    send({ port: api.port, path, agent: false, ...options }, resolve)
      .on("error", reject)
      .end(body);
  });
}

async function rejection(api: Api, path: string): Promise<[number, string]> {
  const { code, message } = JSON.parse(await text(await fetchPath(api, path)));
  return [code, message];
}

describe("the proxy to a node", () => {
  test("forwards method, path, query, headers and body, and returns the response", async (t) => {
    const { kubelet, api } = await setUp(t);
    let seen: unknown[] = [];
    let headers: IncomingMessage["headers"] = {};
    kubelet.handle = async (request, response) => {
      headers = request.headers;
      const peer = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
      seen = [request.method, request.url, await text(request), peer];
      const cors = { "access-control-allow-origin": "*", "x-two": ["a", "b"] };
      response.writeHead(201, "Made", { ...cors, connection: "close, x-hop", "x-hop": "1" }).end("done");
    };
    const response = await fetchPath(
      api,
      "/nodeProxy/n/run/a%2Fb/?q=1&q=2",
      { method: "PUT", headers: { authorization: "Bearer s", "x-a": "b", te: "trailers", host: "api" } },
      "body",
    );
    assert.deepEqual(
      [response.statusCode, response.statusMessage, await text(response)],
      [201, "Made", "done"],
    );
    assert.deepEqual(response.headersDistinct["x-two"], ["a", "b"]);
    assert.equal(response.headers["access-control-allow-origin"], undefined);
    assert.equal(response.headers["x-hop"], undefined);
    assert.deepEqual(seen, ["PUT", "/run/a%2Fb/?q=1&q=2", "body", "api"]);
    assert.deepEqual(
      [headers.authorization, headers.te, headers["x-a"], headers.host],
      [undefined, undefined, "b", "api"],
    );
    assert.deepEqual(
      [headers["x-forwarded-for"], headers["x-forwarded-uri"]],
      ["127.0.0.1", "/nodeProxy/n/run/a%2Fb/"],
    );
  });

  for (const method of ["GET", "DELETE", "POST"]) {
    test(`a body without a length is forwarded with a ${method}, too`, async (t) => {
      const { kubelet, api } = await setUp(t);
      kubelet.handle = async (request, response) => response.end(await text(request));
      const headers = { "transfer-encoding": "chunked" };
      assert.equal(await text(await fetchPath(api, "/nodeProxy/n/x", { method, headers }, "body")), "body");
    });
  }

  test("dot segments in paths are resolved", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = ({ url }, response) => response.end(url);
    assert.equal(await text(await fetchPath(api, "/nodeProxy/n/a/../b//c/")), "/b/c/");
    assert.equal(await text(await fetchPath(api, "/nodeProxy/n/")), "/");
  });

  test("an address without a trailing slash is redirected to the one with it", async (t) => {
    const { kubelet, api } = await setUp(t);
    const { statusCode, headers } = await fetchPath(api, "/nodeProxy/n?a=b");
    assert.deepEqual([statusCode, headers.location], [301, "/nodeProxy/n/?a=b"]);
    kubelet.handle = ({ method }, response) => response.end(method);
    assert.equal(await text(await fetchPath(api, "/nodeProxy/n", { method: "POST" })), "POST");
  });

  test("redirects are rewritten to go through the API", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = (_, response) => response.writeHead(302, { location: "/logs/" }).end();
    const { statusCode, headers } = await fetchPath(api, "/nodeProxy/n/logs");
    assert.deepEqual([statusCode, headers.location], [302, "/nodeProxy/n/logs/"]);
  });

  test("the API does not present its certificate to another port of the node", async (t) => {
    const { other, api, kubelet } = await setUp(t);
    other.handle = (_, response) => response.end("other");
    assert.equal(await text(await fetchPath(api, `/nodeProxy/n:${other.port}/`)), "other");
    const second = await fakeKubelet(t, authority("unknown"));
    second.handle = ({ socket }, response) =>
      response.end(String((socket as TLSSocket).getPeerCertificate().subject?.CN));
    assert.equal(await text(await fetchPath(api, `/nodeProxy/https:n:${second.port}/`)), "undefined");
    kubelet.handle = (_, response) => response.end("kubelet");
    assert.equal(await text(await fetchPath(api, `/nodeProxy/n:${kubelet.port}/`)), "kubelet");
  });

  test("responses are streamed, and aborted when the client disconnects", async (t) => {
    const { kubelet, api } = await setUp(t);
    const disconnected = new Promise<void>((resolve) => {
      kubelet.handle = (_, response) => {
        response.write("piece");
        response.once("close", resolve);
      };
    });
    const response = await fetchPath(api, "/nodeProxy/n/watch");
    const pieces = response.setEncoding("utf8")[Symbol.asyncIterator]();
    assert.equal((await pieces.next()).value, "piece");
    response.destroy();
    await disconnected;
  });

  test("a backend may respond before it has received the whole body", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = (request, response) => {
      request.pause();
      response.writeHead(413, { connection: "close" }).end("too much");
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { port: api.port, path: "/nodeProxy/n/x", method: "POST", agent: false as const };
      const request = send(options, resolve).on("error", reject);
      request.write(Buffer.alloc(1024 * 1024));
    });
    assert.deepEqual([response.statusCode, await text(response)], [413, "too much"]);
  });

  test("protocol upgrades are proxied, too", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.upgrade = (request, socket) => {
      socket.write(`${switching}${request.url};`);
      socket.pipe(socket);
    };
    const client = new RawClient(t, api.port, upgradeText("/nodeProxy/n/exec/ns/p/c?input=1"));
    await client.until(/\/exec\/ns\/p\/c\?input=1;/);
    client.socket.write("echo");
    await client.until(/;echo$/);
  });

  test("a body keeps its length if the Connection header names it", async (t) => {
    const { kubelet, api } = await setUp(t);
    const received: string[] = [];
    kubelet.handle = async (request, response) => {
      received.push(`${request.method} ${request.url} ${await text(request)}`);
      response.end();
    };
    const smuggled = "GET /smuggled HTTP/1.1\r\nHost: n\r\n\r\n";
    const headers = { connection: "content-length", "content-length": smuggled.length };
    for (const method of ["POST", "GET"])
      await text(await fetchPath(api, "/nodeProxy/n/pods", { method, headers }, smuggled));
    assert.deepEqual(received, [`POST /pods ${smuggled}`, `GET /pods ${smuggled}`]);
  });

  test("a backend that switches protocols without a request for it has failed", {
    timeout: 20_000,
  }, async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = ({ socket }) => void socket.write(switching);
    const [code, message] = await rejection(api, "/nodeProxy/n/pods");
    assert.equal(code, 503);
    assert.match(message, /switches protocols/);
  });

  test("an unreachable node is reported with the dial error", async (t) => {
    const { objects } = await setUp(t);
    const api = await anApi(t, { objects: { ...objects, nodes: aNode(1) } });
    assert.deepEqual(await rejection(api, "/nodeProxy/n/"), [
      503,
      "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused",
    ]);
  });

  test("it connects to the addresses that were checked, not to those that a name has later", async (t) => {
    const { kubelet, objects } = await setUp(t);
    const node = aNode(kubelet.port);
    const checked: string[] = [];
    const api = await anApi(t, {
      objects: {
        ...objects,
        nodes: {
          ...node,
          status: { ...(node.status as object), addresses: [{ type: "Hostname", address: "node.invalid" }] },
        },
      },
      lookUp: async (host) => {
        checked.push(host);
        return ["127.0.0.1"];
      },
      mayProxyTo: (address) => checked.push(address) > 0,
    });
    kubelet.upgrade = (request, socket) => void socket.write(`${switching}${request.url};`);
    const client = new RawClient(t, api.port, upgradeText("/nodeProxy/n/exec/x"));
    await client.until(/\/exec\/x;/);
    assert.deepEqual(checked, ["node.invalid", "127.0.0.1"]);
  });

  test("by default, it does not connect to this machine", async (t) => {
    const { objects } = await setUp(t);
    const api = await anApi(t, { objects, mayProxyTo: undefined });
    assert.deepEqual(await rejection(api, "/nodeProxy/n/"), [400, "address not allowed"]);
    assert.deepEqual(await rejection(api, "/podProxy/p/"), [400, "address not allowed"]);
  });
});

describe("over HTTP/2, as kubectl connects", () => {
  /** An API that is called over HTTP/2, with pseudo headers in its requests. */
  async function overHttp2(t: TestContext, api: Api, headers: OutgoingHttpHeaders, body?: string) {
    const server = createHttp2Server((request, response) => {
      api.handle(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    t.after(() => {
      session.destroy();
      server.close();
    });
    const stream = session.request(
      { ":authority": "api.example", ...headers },
      { endStream: body === undefined },
    );
    if (body !== undefined) stream.end(body);
    const [head] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
    return { status: head[":status"], headers: head, body: await text(stream) };
  }

  test("method, path, headers and a body without a length are forwarded, pseudo headers are not", async (t) => {
    const { kubelet, api } = await setUp(t);
    let seen: unknown[] = [];
    let names: string[] = [];
    kubelet.handle = async (request, response) => {
      const { host, "x-a": a, authorization } = request.headers;
      names = Object.keys(request.headers);
      seen = [request.method, request.url, await text(request), host, a, authorization];
      response.writeHead(201, "Made", { "x-b": "c", connection: "keep-alive" }).end("done");
    };
    const requested = {
      ":method": "POST",
      ":path": "/nodeProxy/n/run?q=1",
      "x-a": "b",
      authorization: "Bearer s",
    };
    const response = await overHttp2(t, api, requested, "body");
    assert.deepEqual([response.status, response.headers["x-b"], response.body], [201, "c", "done"]);
    assert.deepEqual(seen, ["POST", "/run?q=1", "body", "api.example", "b", undefined]);
    assert.ok(!names.some((name) => name.startsWith(":")), names.join());
  });

  test("a request without a body is forwarded without one", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = (request, response) => {
      response.end(
        JSON.stringify([request.method, request.url, request.headers["transfer-encoding"] ?? "none"]),
      );
    };
    for (const method of ["GET", "DELETE"]) {
      const response = await overHttp2(t, api, { ":method": method, ":path": "/nodeProxy/n/healthz" });
      assert.deepEqual(JSON.parse(response.body), [method, "/healthz", "none"]);
    }
  });
});

describe("the proxy to a pod", () => {
  test("connects to the pod's first port, over HTTP", async (t) => {
    const { other, api } = await setUp(t);
    other.handle = ({ url }, response) => response.end(url);
    assert.equal(await text(await fetchPath(api, "/podProxy/p/a?b=c")), "/a?b=c");
  });

  test("connects to the requested port, over HTTPS if requested", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = (_, response) => response.end("secure");
    assert.equal(await text(await fetchPath(api, `/podProxy/https:p:${kubelet.port}/`)), "secure");
  });

  test("a missing pod and an invalid name are rejected", async (t) => {
    const { api } = await setUp(t);
    assert.deepEqual(await rejection(api, "/podProxy/x:80/"), [404, 'pods "x" not found']);
    assert.deepEqual(await rejection(api, "/podProxy/ftp:x:80/"), [400, 'invalid pod request "ftp:x:80"']);
  });
});
