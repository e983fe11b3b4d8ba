import assert from "node:assert/strict";
import { test } from "node:test";
import { abortError } from "../base/errors.ts";
import type { KubeTransport } from "../clients/kube/transport-interface.ts";
import { certifiedTransport } from "./certified-transport.ts";

/** A transport that notes what it is asked, and a certificate that comes when told. */
function setUp(certificate?: string) {
  const asked: string[] = [];
  const came = Promise.withResolvers<void>();
  let current = certificate;
  let closed = false;
  const plain: KubeTransport = {
    request: async <T>({ path }: { path: string }) => {
      asked.push(path);
      return path as T;
    },
    stream: async ({ path }) => {
      asked.push(path);
      return (async function* () {})();
    },
    close: () => {
      closed = true;
    },
  };
  const transport = certifiedTransport(plain, {
    current: () => current,
    whenAvailable: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) reject(abortError());
        signal.addEventListener("abort", () => reject(abortError()));
        void came.promise.then(resolve);
      }),
  });
  const arrive = () => {
    current = "certificate";
    came.resolve();
  };
  return { transport, asked, arrive, isClosed: () => closed };
}

const ask = { request: { method: "GET", path: "/a" } as const, turn: () => new Promise(setImmediate) };

test("with a certificate, nothing waits", async () => {
  const { transport, asked } = setUp("certificate");
  assert.equal(await transport.request(ask.request), "/a");
  await transport.stream({ path: "/b", signal: new AbortController().signal });
  assert.deepEqual(asked, ["/a", "/b"]);
});

test("without one, requests and watches are sent when it comes", async () => {
  const { transport, asked, arrive } = setUp();
  const answers = [
    transport.request(ask.request),
    transport.stream({ path: "/b", signal: new AbortController().signal }),
  ];
  await ask.turn();
  assert.deepEqual(asked, []);
  arrive();
  await Promise.all(answers);
  assert.deepEqual(asked, ["/a", "/b"]);
});

test("who does not want to wait any longer need not, and is not sent", async () => {
  const { transport, asked, arrive } = setUp();
  const over = new AbortController();
  const answer = transport.request({ ...ask.request, signal: over.signal });
  over.abort();
  await assert.rejects(answer, { name: "AbortError" });
  arrive();
  await ask.turn();
  assert.deepEqual(asked, []);
});

test("closing ends all waiting, and closes what is behind it", async () => {
  const { transport, asked, isClosed } = setUp();
  const answers = [
    transport.request(ask.request),
    transport.stream({ path: "/b", signal: new AbortController().signal }),
  ];
  transport.close();
  for (const answer of answers) await assert.rejects(answer, { name: "AbortError" });
  await assert.rejects(transport.request(ask.request), { name: "AbortError" });
  assert.ok(isClosed());
  assert.deepEqual(asked, []);
});
