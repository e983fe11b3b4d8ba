import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import type { Attributes } from "../access.ts";
import { aNode, anApi, aPod, authority, fakeKubelet, RawClient, switching, upgradeText } from "./fixtures.ts";

const signer = authority();
const credentials = () => ({ ca: signer.ca });

async function setUp(t: TestContext, options: Partial<Parameters<typeof anApi>[1]> = {}) {
  const kubelet = await fakeKubelet(t, signer);
  const objects = { pods: aPod(), nodes: aNode(kubelet.port) };
  return { kubelet, api: await anApi(t, { objects, credentials, ...options }) };
}

/** A kubelet that upgrades every request, and its side of the connection. */
async function upgraded(t: TestContext, path = "/exec/p?command=sh") {
  const { kubelet, api } = await setUp(t);
  const accepted = new Promise<Socket>((resolve) => {
    kubelet.upgrade = (_, socket) => {
      socket.write(switching);
      resolve(socket);
    };
  });
  const done = api.nextDone();
  const client = new RawClient(t, api.port, upgradeText(path));
  const socket = await accepted;
  await client.until(/\r\n\r\n/);
  return { kubelet, api, client, socket, done };
}

/** The other side has disconnected, with or without an error. */
const disconnected = (socket: Socket) =>
  new Promise<void>((resolve) =>
    socket
      .resume()
      .once("end", resolve)
      .once("close", () => resolve()),
  );

describe("streams", () => {
  const paths: [string, string][] = [
    ["/exec/p?container=c&command=sh&stdin=true&tty=true", "/exec/ns/p/c?command=sh&input=1&tty=1"],
    ["/attach/p?stdout=true", "/attach/ns/p/c?output=1"],
    ["/portforward/p?ports=80", "/portForward/ns/p?port=80"],
  ];
  for (const [requested, forwarded] of paths) {
    test(`${requested} is forwarded to the kubelet as ${forwarded}`, async (t) => {
      const { kubelet, api } = await setUp(t);
      const url = new Promise((resolve) => {
        kubelet.upgrade = (request, socket) => {
          resolve(request.url);
          socket.end(switching);
        };
      });
      new RawClient(t, api.port, upgradeText(requested));
      assert.equal(await url, forwarded);
    });
  }

  test("repeated headers are forwarded to the kubelet; headers for the API are not", async (t) => {
    const { kubelet, api } = await setUp(t);
    const seen = new Promise<Record<string, unknown>>((resolve) => {
      kubelet.upgrade = ({ method, headersDistinct }, socket) => {
        resolve({ method, ...headersDistinct });
        socket.end(switching);
      };
    });
    const versions = ["v4.channel.k8s.io", "v3.channel.k8s.io"];
    const client = new RawClient(
      t,
      api.port,
      upgradeText("/exec/p", "POST", [
        ...versions.map((version) => `X-Stream-Protocol-Version: ${version}`),
        "Authorization: Bearer secret",
        "Impersonate-User: admin",
        "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io",
      ]),
    );
    const headers = await seen;
    assert.equal(headers.method, "POST");
    assert.deepEqual(headers["x-stream-protocol-version"], versions);
    assert.deepEqual(headers.connection, ["Upgrade"]);
    assert.deepEqual(headers.upgrade, ["SPDY/3.1"]);
    assert.deepEqual(headers["sec-websocket-protocol"], ["v5.channel.k8s.io"]);
    assert.deepEqual(headers["x-forwarded-for"], ["127.0.0.1"]);
    assert.deepEqual([headers.authorization, headers["impersonate-user"]], [undefined, undefined]);
    await client.ended;
    assert.equal(client.seen, switching);
  });

  test("both sides can send, and data sent early is not lost", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.upgrade = (_, socket, head) => {
      // In one chunk with the response, and before the client sent anything.
      socket.write(`${switching}welcome;${head}`);
      socket.on("data", (chunk) => socket.write(`received ${chunk};`));
    };
    const client = new RawClient(t, api.port, `${upgradeText("/exec/p", "GET")}early`);
    await client.until(/welcome;.*early/s);
    client.socket.write("late");
    await client.until(/received late;/);
  });

  test("after the client has closed its side, the kubelet can still send", async (t) => {
    const { client, socket, done } = await upgraded(t);
    const received = text(socket);
    client.socket.end("last line");
    assert.equal(await received, "last line");
    socket.end("response");
    await client.ended;
    assert.ok(client.seen.endsWith("\r\n\r\nresponse"));
    await done;
  });

  test("after the kubelet has closed its side, the client can still send", async (t) => {
    const { client, socket, done } = await upgraded(t);
    const received = text(socket);
    socket.end("that is all");
    await client.ended;
    client.socket.end("thanks");
    assert.equal(await received, "thanks");
    await done;
  });

  test("a client that disconnects closes the kubelet's connection", async (t) => {
    const { client, socket, done } = await upgraded(t);
    client.socket.resetAndDestroy();
    await Promise.all([disconnected(socket), done]);
  });

  test("a kubelet that disconnects closes the client's connection", async (t) => {
    const { client, socket, done } = await upgraded(t);
    socket.destroy();
    await client.ended;
    client.socket.end();
    await Promise.all([client.closed, done]);
  });

  test("stopping the API closes both connections", async (t) => {
    const { api, client, socket, done } = await upgraded(t);
    api.abort();
    await Promise.all([client.ended, disconnected(socket), done]);
  });

  test("a client that does not read applies backpressure to the kubelet, and eventually gets every byte", async (t) => {
    const { kubelet, api } = await setUp(t);
    const block = Buffer.alloc(64 * 1024, "0123456789abcdef");
    const blocks = 768;
    let written = 0;
    kubelet.upgrade = async (_, socket) => {
      socket.write(switching);
      for (; written < blocks; written++)
        if (!socket.write(block)) await new Promise((resolve) => socket.once("drain", resolve));
      socket.end();
    };
    const client = connect(api.port, "127.0.0.1").pause();
    t.after(() => client.destroy());
    client.write(upgradeText("/exec/p"));
    // Nothing is read: after a while, all buffers between the two are full and nothing moves.
    for (let still = 0, before = 0; still < 300; before = written) {
      await new Promise(setImmediate);
      still = written > 0 && written === before ? still + 1 : 0;
    }
    const held = api.clientSocket?.writableLength ?? 0;
    assert.ok(written < blocks, "the kubelet could write all of it");
    assert.ok(held < 512 * 1024, `${held} bytes are buffered in the API`);
    const hash = createHash("sha256");
    let length = -switching.length;
    for await (const chunk of client as AsyncIterable<Buffer>) {
      hash.update(length < 0 ? chunk.subarray(-length) : chunk);
      length += chunk.length;
    }
    const whole = createHash("sha256");
    for (let i = 0; i < blocks; i++) whole.update(block);
    assert.equal(length, blocks * block.length);
    assert.equal(hash.digest("hex"), whole.digest("hex"));
  });

  test("an error response of the kubelet is forwarded unchanged", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.upgrade = (_, socket) =>
      socket.end(
        "HTTP/1.1 403 Forbidden\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
      );
    const client = new RawClient(t, api.port, upgradeText("/exec/p"));
    await client.ended;
    assert.equal(client.seen, "HTTP/1.1 403 Forbidden\r\nx-a: b\r\nConnection: close\r\n\r\nno");
  });

  test("requests that follow a rejected upgrade never reach the kubelet, whose connection is closed", async (t) => {
    const { kubelet, api } = await setUp(t);
    let received = "";
    const closed = Promise.withResolvers<void>();
    kubelet.upgrade = (_, socket, head) => {
      received += head;
      socket.on("data", (chunk) => {
        received += chunk;
      });
      for (const event of ["end", "close"]) socket.once(event, () => closed.resolve());
      socket.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad");
    };
    const more = "GET /pods HTTP/1.1\r\nHost: n\r\n\r\n";
    const client = new RawClient(t, api.port, upgradeText("/exec/p") + more);
    await client.until(/bad/);
    client.socket.write(more);
    await closed.promise;
    assert.equal(received, "");
  });

  const problems: [string, number, string][] = [
    ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 500, "invalid upgrade response: status code 200"],
    ["", 500, "EOF"],
  ];
  for (const [response, code, message] of problems) {
    test(`the response ${JSON.stringify(response)} to an upgrade is reported as "${message}"`, async (t) => {
      const { kubelet, api } = await setUp(t);
      kubelet.upgrade = (_, socket) => socket.end(response);
      const client = new RawClient(t, api.port, upgradeText("/exec/p"));
      await client.ended;
      assert.match(client.seen, new RegExp(`^HTTP/1.1 ${code} .*"message":"${message}"`, "s"));
    });
  }

  test("an unreachable kubelet is reported with the dial error", async (t) => {
    const { api } = await setUp(t, { objects: { pods: aPod(), nodes: aNode(1) } });
    const client = new RawClient(t, api.port, upgradeText("/attach/p"));
    await client.ended;
    assert.match(client.seen, /"error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"/);
  });

  test("a pod without a node has no streams", async (t) => {
    const { api } = await setUp(t, { objects: { pods: aPod({ nodeName: "" }) } });
    const client = new RawClient(t, api.port, upgradeText("/portforward/p"));
    await client.ended;
    assert.match(client.seen, /^HTTP\/1.1 400 .*"pod p does not have a host assigned"/s);
  });

  test("a request without an upgrade is rejected", async (t) => {
    const { api } = await setUp(t);
    const body = await new Promise<string>((resolve, reject) =>
      get({ port: api.port, path: "/exec/p" }, (response) => resolve(text(response))).on("error", reject),
    );
    assert.deepEqual([JSON.parse(body).code, JSON.parse(body).message], [400, "Upgrade request required"]);
  });

  test("an upgrade by GET requires permission to create", async (t) => {
    const requested: Attributes[] = [];
    const allows = async (_: unknown, attributes: Attributes) => {
      requested.push(attributes);
      return { allowed: false, reason: "because" };
    };
    const { kubelet, api } = await setUp(t, { authorizer: { allows } });
    kubelet.upgrade = (_, socket) => socket.end(switching);
    const byGet = new RawClient(t, api.port, upgradeText("/exec/p", "GET"));
    await byGet.ended;
    assert.match(byGet.seen, /^HTTP\/1.1 403 .*pods \\"p\\" is forbidden: because/s);
    const byPost = new RawClient(t, api.port, upgradeText("/exec/p", "POST"));
    await byPost.until(/^HTTP\/1.1 101 /);
    assert.deepEqual(
      requested.map(({ verb, resource, subresource, namespace, name }) => [
        verb,
        resource,
        subresource,
        namespace,
        name,
      ]),
      [["create", "pods", "exec", "ns", "p"]],
    );
  });
});
