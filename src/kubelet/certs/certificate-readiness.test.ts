import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import { CertificateReadiness } from "./certificate-readiness.ts";
import { waitingTransport } from "./cluster-access.ts";

/** A transport that records requests, and a certificate that becomes available when the test calls `arrive`. */
function setUp(certificate?: string) {
  const sent: string[] = [];
  const logs: string[] = [];
  const listeners = new Set<() => void>();
  const clock = new FakeClock();
  let current = certificate;
  let closed = false;
  const plain: KubeTransport = {
    request: async <T>({ path }: { path: string }) => {
      sent.push(path);
      return path as T;
    },
    stream: async ({ path }) => {
      sent.push(path);
      return (async function* () {})();
    },
    close: () => {
      closed = true;
    },
  };
  const source = {
    current: () => current,
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reason: "a certificate has been requested and is not issued yet",
  };
  const logger = { ...silentLogger, info: (message: string) => void logs.push(message) };
  const readiness = new CertificateReadiness({ source, clock, logger });
  const transport = waitingTransport(plain, readiness);
  const arrive = ({ silently = false } = {}) => {
    current = "certificate";
    if (!silently) for (const listener of [...listeners]) listener();
  };
  const setBack = (ms: number) => clock.jump(-ms);
  return { transport, readiness, clock, setBack, logs, sent, listeners, arrive, isClosed: () => closed };
}

const a = { method: "GET", path: "/a" } as const;
const b = { path: "/b", signal: new AbortController().signal };
const turn = () => new Promise(setImmediate);

test("requests are sent immediately while there is a certificate", async () => {
  const { transport, sent, readiness } = setUp("certificate");
  assert.equal(await transport.request(a), "/a");
  await transport.stream(b);
  assert.deepEqual(sent, ["/a", "/b"]);
  assert.equal(readiness.waiting, undefined);
});

test("requests and watches wait until a certificate is available", async () => {
  const { transport, sent, arrive, listeners } = setUp();
  const requests = [transport.request(a), transport.stream(b)];
  await turn();
  assert.deepEqual(sent, []);
  arrive();
  await Promise.all(requests);
  assert.deepEqual(sent, ["/a", "/b"]);
  assert.equal(listeners.size, 0);
});

test("a certificate that becomes available without an event is found within a second", async () => {
  const { transport, sent, arrive, clock } = setUp();
  const request = transport.request(a);
  await clock.advance(500);
  arrive({ silently: true });
  await clock.advance(1000);
  await request;
  assert.deepEqual(sent, ["/a"]);
});

test("a wait is logged once after a few seconds, and reported by the health check", async () => {
  const { transport, logs, readiness, arrive, clock } = setUp();
  const requests = [transport.request(a), transport.stream(b)];
  await clock.advance(2000);
  assert.deepEqual(logs, []);
  await clock.advance(10_000);
  assert.deepEqual(logs, ["Waiting for a client certificate before sending requests to the API server"]);
  assert.equal(
    readiness.waiting,
    "no valid client certificate for 12s, 2 requests are waiting: a certificate has been requested and is not issued yet",
  );
  arrive();
  await Promise.all(requests);
  assert.deepEqual(logs.slice(1), ["Client certificate is available"]);
  assert.equal(readiness.waiting, undefined);
});

test("a wait is logged in time, and never negative, when the clock is set back", async () => {
  const { transport, readiness, logs, clock, setBack } = setUp();
  const rejected = assert.rejects(transport.request(a), /no valid client certificate/);
  await clock.advance(1000);
  setBack(3_600_000);
  await clock.advance(10_000);
  assert.deepEqual(logs, ["Waiting for a client certificate before sending requests to the API server"]);
  assert.match(readiness.waiting ?? "", /^no valid client certificate for 11s, /);
  await clock.advance(60_000);
  await rejected;
});

test("a wait has a deadline; listeners are notified when the certificate becomes available", async () => {
  const { transport, sent, arrive, clock } = setUp();
  const rejected = assert.rejects(transport.request(a), {
    name: "TransportError",
    message: /^no valid client certificate within 60 s: a certificate has been requested/,
  });
  await clock.advance(60_000);
  await rejected;
  let notified = 0;
  const stop = transport.onReconnect?.(() => notified++);
  await clock.advance(600_000);
  assert.equal(notified, 0);
  arrive();
  assert.equal(notified, 1);
  stop?.();
  assert.deepEqual(sent, []);
});

test("an aborted request is not sent", async () => {
  const { transport, sent, arrive } = setUp();
  const abort = new AbortController();
  const request = transport.request({ ...a, signal: abort.signal });
  abort.abort();
  await assert.rejects(request, { name: "AbortError" });
  arrive();
  await turn();
  assert.deepEqual(sent, []);
});

test("closing ends all waits and closes the transport", async () => {
  const { transport, sent, isClosed, clock } = setUp();
  const requests = [transport.request(a), transport.stream(b)];
  transport.close();
  for (const request of requests) await assert.rejects(request, { name: "AbortError" });
  await assert.rejects(transport.request(a), { name: "AbortError" });
  assert.ok(isClosed());
  assert.deepEqual(sent, []);
  assert.equal(clock.pending, 0);
});
