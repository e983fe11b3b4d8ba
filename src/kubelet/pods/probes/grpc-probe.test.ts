import assert from "node:assert/strict";
import { constants, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import { systemClock } from "../../../lib/base/clock.ts";
import { isAbort } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { closedPort, pushAndFail, serveTcp } from "./fake-server.ts";
import { probeGrpc } from "./grpc-probe.ts";
import { healthRequest, healthStatus } from "./health-message.ts";

type Check = (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => void;

const raw = (bytes: Buffer) => bytes;
const health = {
  check: {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  },
} as const;

/** A real gRPC server; without `check` it has no health service. */
async function serve(t: TestContext, check?: Check, port = 0): Promise<number> {
  const server = new Server();
  if (check) server.addService(health, { check });
  t.after(() => server.forceShutdown());
  return new Promise((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
}

function probe(
  port: number,
  { service = "", clock = systemClock, signal = new AbortController().signal } = {},
) {
  return probeGrpc({ host: "127.0.0.1", port, service }, { clock, timeoutMs: 2000, signal });
}

describe("a gRPC probe", () => {
  const table: [rule: string, result: Buffer, kind: string, output: string][] = [
    ["SERVING is success", Buffer.of(8, 1), "success", "service healthy"],
    [
      "NOT_SERVING is failure",
      Buffer.of(8, 2),
      "failure",
      'service unhealthy (responded with "NOT_SERVING")',
    ],
    ["no status is UNKNOWN", Buffer.of(), "failure", 'service unhealthy (responded with "UNKNOWN")'],
    ["other fields are ignored", Buffer.of(0x12, 1, 65, 8, 1), "success", "service healthy"],
    [
      "a truncated message is failure",
      Buffer.of(8),
      "failure",
      "error: health rpc probe failed: rpc error: code = Internal desc = the response is truncated",
    ],
  ];
  for (const [rule, message, kind, output] of table)
    it(rule, async (t) => {
      const port = await serve(t, (_, reply) => reply(null, message));
      assert.deepEqual(await probe(port), { kind, output });
    });

  it("sends the name of the service and its user agent", async (t) => {
    let received: { body: string; agent: unknown } | undefined;
    const port = await serve(t, ({ request, metadata }, reply) => {
      received = { body: request.toString("latin1"), agent: metadata.get("user-agent") };
      reply(null, Buffer.of(8, 1));
    });
    await probe(port, { service: "shop.Cart" });
    assert.deepEqual(received, { body: "\n\x09shop.Cart", agent: ["kube-probe/1.36"] });
  });

  it("fails with the server's message", async (t) => {
    const port = await serve(t, (_, reply) => reply({ code: status.NOT_FOUND, details: "kein Dienst ü" }));
    assert.deepEqual(await probe(port), {
      kind: "failure",
      output: "error: health rpc probe failed: rpc error: code = NotFound desc = kein Dienst ü",
    });
  });

  it("fails if the server has no health service", async (t) => {
    const result = await probe(await serve(t));
    assert.equal(result.kind, "failure");
    assert.match(
      result.kind === "failure" ? result.output : "",
      /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /,
    );
  });

  it("fails if the call takes too long", async (t) => {
    const clock = new FakeClock();
    const received = Promise.withResolvers<void>();
    const port = await serve(t, () => received.resolve());
    const result = probe(port, { clock });
    await received.promise;
    await clock.advance(2000);
    assert.deepEqual(await result, {
      kind: "failure",
      output: "timeout: health rpc did not complete within 2s",
    });
    assert.equal(clock.pending, 0);
  });

  const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants;
  const closed: [rule: string, status: number, code: number, output: RegExp][] = [
    [
      "fails immediately if the call is rejected",
      200,
      NGHTTP2_REFUSED_STREAM,
      /code = Unavailable desc = .*REFUSED_STREAM/,
    ],
    [
      "fails immediately if the call is canceled",
      200,
      NGHTTP2_CANCEL,
      /code = Internal desc = server closed the stream/,
    ],
    [
      "fails if the server does not speak gRPC",
      404,
      0,
      /code = Unknown desc = unexpected HTTP status code .*: 404/,
    ],
  ];
  for (const [rule, httpStatus, code, output] of closed)
    it(rule, async (t) => {
      const server = createServer();
      server.on("stream", (stream) => {
        stream.on("error", () => {});
        stream.respond({ ":status": httpStatus });
        if (code) stream.close(code);
        else stream.end();
      });
      t.after(() => server.close());
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const result = await probe((server.address() as AddressInfo).port, { clock: new FakeClock() });
      assert.equal(result.kind, "failure");
      assert.match(result.kind === "failure" ? result.output : "", output);
    });

  it("ends nothing else if the server pushes a stream and fails", { timeout: 20_000 }, async (t) => {
    const server = createServer();
    server.on("session", (session) => session.on("error", () => {}));
    server.on("stream", pushAndFail);
    t.after(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { kind } = await probe((server.address() as AddressInfo).port, { clock: new FakeClock() });
    assert.equal(kind, "failure");
  });

  it("fails if the server sends nothing", async (t) => {
    const clock = new FakeClock();
    const connected = Promise.withResolvers<void>();
    const server = await serveTcp(() => connected.resolve());
    t.after(() => server.close());
    const result = probe(server.port, { clock });
    await connected.promise;
    await clock.advance(2000);
    assert.deepEqual(await result, {
      kind: "failure",
      output: `timeout: failed to connect service "127.0.0.1:${server.port}" within 2s: context deadline exceeded`,
    });
  });

  it("retries until the timeout if the port is not open yet", async (t) => {
    const clock = new FakeClock();
    const port = await closedPort();
    const result = probe(port, { clock });
    // The two timers are the timeout and, after the connection was refused, the next attempt.
    while (clock.pending < 2) await new Promise((resolve) => setImmediate(resolve));
    await serve(t, (_, reply) => reply(null, Buffer.of(8, 1)), port);
    await clock.advance(1000);
    assert.deepEqual(await result, { kind: "success", output: "service healthy" });
    assert.equal(clock.pending, 0);
  });

  it("fails if the port is never opened", async () => {
    const clock = new FakeClock();
    const port = await closedPort();
    const result = probe(port, { clock });
    const settled = result.then(() => true);
    while (!(await Promise.race([settled, clock.advance(100).then(() => false)])));
    assert.deepEqual(await result, {
      kind: "failure",
      output: `timeout: failed to connect service "127.0.0.1:${port}" within 2s: context deadline exceeded`,
    });
    assert.equal(clock.pending, 0);
  });

  it("can be aborted", async (t) => {
    const call = new AbortController();
    const port = await serve(t, () => call.abort());
    await assert.rejects(probe(port, { signal: call.signal }), isAbort);
  });
});

describe("health messages", () => {
  it("have a length of more than one byte if the name is long", () => {
    const framed = healthRequest("x".repeat(300));
    assert.deepEqual([...framed.subarray(0, 8)], [0, 0, 0, 1, 47, 0x0a, 0xac, 0x02]);
  });

  it("keep an unknown status as its number", () =>
    assert.equal(healthStatus(Buffer.of(0, 0, 0, 0, 2, 8, 9)), "9"));

  it("must not be compressed", () =>
    assert.throws(() => healthStatus(Buffer.of(1, 0, 0, 0, 2, 8, 1)), /compressed/));
});
