import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, systemClock } from "../../../lib/base/clock.ts";
import { isAbort } from "../../../lib/base/errors.ts";
import { dialError } from "./dial.ts";
import { closedPort, serveTcp, timeWaitsTo } from "./fake-server.ts";
import { probeTcp } from "./tcp-probe.ts";

const limits = (clock: Clock = systemClock, signal = new AbortController().signal) => ({
  clock,
  timeoutMs: 1000,
  signal,
});

describe("a TCP probe", () => {
  for (const host of ["127.0.0.1", "::1", "localhost"])
    it(`succeeds if the port is open on ${host}, and closes the connection`, async (t) => {
      const closed = Promise.withResolvers<void>();
      const server = await serveTcp((socket) => void socket.once("close", () => closed.resolve()), host);
      t.after(() => server.close());
      assert.deepEqual(await probeTcp({ host, port: server.port }, limits()), {
        kind: "success",
        output: "",
      });
      await closed.promise;
      assert.equal(timeWaitsTo(server.port), 0);
    });

  it("fails if the port is closed", async () => {
    const port = await closedPort();
    assert.deepEqual(await probeTcp({ host: "127.0.0.1", port }, limits()), {
      kind: "failure",
      output: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
    });
  });

  it("fails when there is no response in time", async () => {
    // The timeout fires before the kernel can report anything.
    const clock: Clock = {
      ...systemClock,
      after: (_ms, callback) => {
        queueMicrotask(callback);
        return () => {};
      },
    };
    const port = await closedPort();
    assert.deepEqual(await probeTcp({ host: "127.0.0.1", port }, limits(clock)), {
      kind: "failure",
      output: `dial tcp 127.0.0.1:${port}: i/o timeout`,
    });
  });

  it("can be aborted", async () => {
    const call = new AbortController();
    const result = probeTcp({ host: "127.0.0.1", port: 1 }, limits(systemClock, call.signal));
    call.abort();
    await assert.rejects(result, isAbort);
  });
});

describe("a dial error", () => {
  const failed = (code: string, syscall = "connect") => Object.assign(new Error(code), { code, syscall });
  const address = { host: "fd00::1", port: 80 };
  const table: [rule: string, error: Error, text: string][] = [
    ["has Go's message", failed("EHOSTUNREACH"), "dial tcp [fd00::1]:80: connect: no route to host"],
    ["has Node's message for an unknown code", failed("EODD"), "dial tcp [fd00::1]:80: connect: EODD"],
    [
      "names the error of the first address of several",
      new AggregateError([failed("ECONNREFUSED"), failed("ENETUNREACH")]),
      "dial tcp [fd00::1]:80: connect: connection refused",
    ],
    ["names a failed lookup", failed("ENOTFOUND", "getaddrinfo"), "dial tcp: lookup fd00::1: no such host"],
  ];
  for (const [rule, error, text] of table) it(rule, () => assert.equal(dialError(address, error), text));
});
