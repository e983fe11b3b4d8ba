import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type Api, aNode, anApi, aPod, authority, fakeKubelet } from "./fixtures.ts";

const signer = authority();
const { cert: clientCert, key: clientKey } = signer.sign("kube-apiserver-kubelet-client", "client auth");
const credentials = { clientCert, clientKey, ca: signer.ca };

function send(api: Api, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) =>
    get({ port: api.port, path, agent: false }, resolve).on("error", reject),
  );
}

async function rejection(
  api: Api,
  path = "/log/p",
): Promise<{ code: number; reason?: string; message: string }> {
  return JSON.parse(await text(await send(api, path)));
}

async function setUp(t: TestContext, o: { pod?: ReturnType<typeof aPod>; credentials?: object } = {}) {
  const kubelet = await fakeKubelet(t, signer);
  const objects = { pods: o.pod ?? aPod(), nodes: aNode(kubelet.port) };
  return { kubelet, api: await anApi(t, { objects, credentials: () => o.credentials ?? credentials }) };
}

describe("logs", () => {
  test("come from the kubelet, to which the API presents its certificate", async (t) => {
    const { kubelet, api } = await setUp(t);
    let seen: string[] = [];
    kubelet.handle = ({ url = "", method = "", socket, headers }, response) => {
      const peer = (socket as TLSSocket).getPeerCertificate().subject.CN;
      seen = [method, url, String(peer), String(headers.authorization)];
      response.writeHead(200, { "content-type": "application/x-other", "x-other": "1" }).end("hello\n");
    };
    const response = await send(api, "/log/p?container=c&tailLines=5&timestamps=true");
    assert.equal(await text(response), "hello\n");
    assert.equal(response.statusCode, 200);
    assert.deepEqual(
      [response.headers["content-type"], response.headers["x-other"]],
      ["text/plain", undefined],
    );
    const path = "/containerLogs/ns/p/c?tailLines=5&timestamps=true";
    assert.deepEqual(seen, ["GET", path, "kube-apiserver-kubelet-client", "undefined"]);
  });

  test("are followed: each chunk is sent as soon as it is received", async (t) => {
    const { kubelet, api } = await setUp(t);
    let more: (chunk?: string) => void = () => undefined;
    kubelet.handle = (_, response) => {
      response.flushHeaders();
      more = (chunk) => (chunk === undefined ? response.end() : response.write(chunk));
    };
    const response = await send(api, "/log/p?follow=true");
    const chunks = response.setEncoding("utf8")[Symbol.asyncIterator]();
    for (const chunk of ["one\n", "two\n"]) {
      more(chunk);
      assert.equal((await chunks.next()).value, chunk);
    }
    more();
    assert.equal((await chunks.next()).done, true);
  });

  test("a client that disconnects aborts the kubelet's request", async (t) => {
    const { kubelet, api } = await setUp(t);
    const disconnected = new Promise<void>((resolve) => {
      kubelet.handle = (_, response) => {
        response.write("x");
        response.once("close", resolve);
      };
    });
    const done = api.nextDone();
    const response = await send(api, "/log/p?follow=true");
    response.destroy();
    await Promise.all([disconnected, done]);
  });

  test("a client that disconnects before the response aborts the request, too", async (t) => {
    const { kubelet, api } = await setUp(t);
    const request = get({ port: api.port, path: "/log/p", agent: false }).on("error", () => undefined);
    const disconnected = new Promise<void>((resolve) => {
      kubelet.handle = (_, response) => {
        response.once("close", resolve);
        request.destroy();
      };
    });
    await Promise.all([disconnected, api.nextDone()]);
  });

  test("a log that is cut off is not a complete response", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = ({ socket }, response) => {
      response.write("x", () => socket.destroy());
    };
    await assert.rejects(text(await send(api, "/log/p")), { code: "ECONNRESET" });
  });

  test("stopping the API ends the log", async (t) => {
    const { kubelet, api } = await setUp(t);
    const disconnected = new Promise<void>((resolve) => {
      kubelet.handle = (_, response) => {
        response.write("x");
        response.once("close", resolve);
      };
    });
    const response = await send(api, "/log/p?follow=true");
    api.abort();
    await assert.rejects(text(response), { code: "ECONNRESET" });
    await disconnected;
  });

  test("a pod without a node has an empty log", async (t) => {
    const { api } = await setUp(t, { pod: aPod({ nodeName: "" }) });
    assert.equal((await send(api, "/log/p")).statusCode, 204);
  });

  test("an error of the kubelet is reported with the API's message", async (t) => {
    const { kubelet, api } = await setUp(t);
    const message = 'container "c" in pod "p" is waiting to start: ContainerCreating';
    kubelet.handle = (_, response) => response.writeHead(400).end(message);
    const { code, reason, message: shown } = await rejection(api);
    assert.deepEqual([code, reason, shown], [400, "BadRequest", message]);
  });

  test("an error body is read only up to a limit", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = (_, response) => response.writeHead(400).end("x".repeat(200_000));
    assert.equal((await rejection(api)).message.length, 50_000);
  });

  test("redirects of a kubelet are not followed", async (t) => {
    const { kubelet, api } = await setUp(t);
    kubelet.handle = (_, response) => response.writeHead(302, { location: "https://example.org/" }).end();
    assert.equal((await rejection(api)).message, 'Get "https://example.org/": redirects forbidden');
  });

  test("an unreachable kubelet is reported with the dial error", async (t) => {
    const objects = { pods: aPod(), nodes: aNode(1) };
    const api = await anApi(t, { objects });
    const { code, reason, message } = await rejection(api);
    const why = "dial tcp 127.0.0.1:1: connect: connection refused";
    assert.deepEqual(
      [code, reason, message],
      [500, undefined, `Get "https://127.0.0.1:1/containerLogs/ns/p/c": ${why}`],
    );
  });

  test("a kubelet whose certificate is signed by another CA is not trusted, unless the user skips verification", async (t) => {
    const { kubelet, api } = await setUp(t, { credentials: { ...credentials, ca: authority("other").ca } });
    kubelet.handle = (_, response) => response.end("hello");
    const why = /: tls: failed to verify certificate: x509: certificate signed by unknown authority$/;
    assert.match((await rejection(api)).message, why);
    assert.equal(await text(await send(api, "/log/p?insecureSkipTLSVerifyBackend=true")), "hello");
  });

  test("a kubelet's certificate is not verified without a CA", async (t) => {
    const { kubelet, api } = await setUp(t, { credentials: { clientCert, clientKey } });
    kubelet.handle = (_, response) => response.end("hello");
    assert.equal(await text(await send(api, "/log/p")), "hello");
  });

  const rejections: [string, object, string, string][] = [
    ["a missing pod", {}, "/log/x", 'pods "x" not found'],
    ["a missing node", { nodeName: "m" }, "/log/p", 'nodes "m" not found'],
    ["an unknown container", {}, "/log/p?container=x", "container x is not valid for pod p"],
  ];
  for (const [rule, spec, path, message] of rejections) {
    test(rule, async (t) => {
      const { api } = await setUp(t, { pod: aPod({ ...spec }) });
      assert.equal((await rejection(api, path)).message, message);
    });
  }
});
