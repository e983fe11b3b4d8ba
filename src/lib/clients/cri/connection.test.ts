import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { create } from "@bufbuild/protobuf";
import { eventually } from "../../../../test/contracts/eventually.ts";
import { startFakeRuntime } from "../../../../test/fake-runtime/fake-runtime.ts";
import { sleep, systemClock } from "../../base/clock.ts";
import { FakeClock, settle } from "../../base/fake-clock.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { createMetrics } from "../../base/metrics.ts";
import { StatusResponseSchema, VersionResponseSchema } from "../../gen/runtime/v1/api_pb.js";
import { createCriClient } from "./client.ts";
import { RuntimeConnection } from "./connection.ts";
import type { CallOptions, CriClient } from "./cri.ts";
import { CriError } from "./cri-error.ts";

type FakeState = "up" | "not-ready" | "no-network" | "unavailable" | "hangs";

function started(t: TestContext, state: FakeState) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const logger: Logger = { ...silentLogger, info: log, warn: log, with: () => logger };
  const runtime = { state, version: "1.0", probes: 0, versionCalls: 0 };
  const listeners = new Set<() => void>();
  const respond = async <T>(method: string, o: CallOptions | undefined, value: () => T): Promise<T> => {
    o?.signal?.throwIfAborted();
    if (runtime.state === "unavailable") {
      for (const listener of listeners) listener();
      throw new CriError("UNAVAILABLE", method, "connect ENOENT /run/c.sock");
    }
    if (runtime.state === "hangs") {
      await sleep(clock, o?.timeoutMs ?? 0, o?.signal);
      throw new CriError("DEADLINE_EXCEEDED", method, "no response within 10 s");
    }
    return value();
  };
  const client: Pick<CriClient, "version" | "status" | "onUnavailable"> = {
    version: (o) => {
      runtime.versionCalls++;
      return respond("Version", o, () =>
        create(VersionResponseSchema, {
          runtimeName: "fake",
          runtimeVersion: runtime.version,
          runtimeApiVersion: "v1",
        }),
      );
    },
    status: (_verbose, o) => {
      runtime.probes++;
      return respond("Status", o, () =>
        create(StatusResponseSchema, {
          status: {
            conditions: [
              { type: "RuntimeReady", status: runtime.state !== "not-ready", reason: "Why", message: "what" },
              {
                type: "NetworkReady",
                status: runtime.state !== "no-network",
                reason: "NoCni",
                message: "none",
              },
            ],
          },
        }),
      );
    },
    onUnavailable: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const connection = new RuntimeConnection({ client, logger, clock });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await connection.done;
  });
  return {
    clock,
    lines,
    runtime,
    connection,
    stop,
    listeners,
    start: () => connection.start(stop.signal),
    /** A call of another part of the agent finds the runtime unavailable. */
    otherCallFails: () => {
      for (const listener of listeners) listener();
    },
  };
}

describe("runtime connection", () => {
  it("start does not wait for an unavailable runtime", async (t) => {
    const s = started(t, "unavailable");
    assert.deepEqual(s.connection.health(), {
      ok: false,
      reason: "container runtime status check may not have completed yet",
    });
    await s.start();
    await settle();
    assert.deepEqual(s.connection.health(), {
      ok: false,
      reason: "container runtime is down: connect ENOENT /run/c.sock",
    });
    assert.deepEqual(s.connection.networkHealth(), { ok: false, reason: "network state unknown" });
    assert.equal(s.connection.runtime, undefined);
  });

  it("waits for the runtime, and then knows its name", async (t) => {
    const s = started(t, "unavailable");
    await s.start();
    await s.clock.advance(60_000);
    assert.equal(s.connection.runtime, undefined);
    s.runtime.state = "up";
    await s.clock.advance(1000);
    assert.deepEqual(s.connection.runtime, { name: "fake", version: "1.0", apiVersion: "v1" });
    assert.deepEqual(s.connection.health(), { ok: true });
    assert.deepEqual(s.connection.networkHealth(), { ok: true });
  });

  it("logs each change once, however many attempts there are", async (t) => {
    const s = started(t, "unavailable");
    await s.start();
    await s.clock.advance(120_000);
    assert.ok(s.runtime.versionCalls > 100);
    s.runtime.state = "not-ready";
    await s.clock.advance(10_000);
    s.runtime.state = "up";
    await s.clock.advance(60_000);
    s.runtime.state = "unavailable";
    await s.clock.advance(60_000);
    assert.deepEqual(s.lines, [
      "Container runtime is down, waiting for it",
      "Container runtime is not ready, waiting for it",
      "Container runtime is ready",
      "Container runtime is down, waiting for it",
    ]);
  });

  it("probes every five seconds while the runtime is ready", async (t) => {
    const s = started(t, "up");
    await s.start();
    await s.clock.advance(50_000);
    assert.equal(s.runtime.probes, 11);
    assert.equal(s.runtime.versionCalls, 1);
  });

  it("probes immediately when another call finds the runtime unavailable", async (t) => {
    const s = started(t, "up");
    await s.start();
    await s.clock.advance(1000);
    s.runtime.state = "unavailable";
    s.otherCallFails();
    await settle();
    assert.equal(s.connection.state.kind, "unavailable");
    s.runtime.state = "up";
    s.runtime.version = "2.0";
    await s.clock.advance(400);
    assert.equal(s.connection.state.kind, "up");
    assert.equal(s.connection.runtime?.version, "2.0");
  });

  it("is not probed more often because of failed calls while the runtime responds", async (t) => {
    const s = started(t, "up");
    await s.start();
    for (let n = 0; n < 100; n++) {
      s.otherCallFails();
      await s.clock.advance(10);
    }
    assert.ok(s.runtime.probes >= 5 && s.runtime.probes <= 11, `${s.runtime.probes} probes in a second`);
    assert.equal(s.connection.state.kind, "up");
  });

  it("remains healthy for 30 s without the runtime, and not longer", async (t) => {
    const s = started(t, "up");
    await s.start();
    await settle();
    s.runtime.state = "unavailable";
    s.otherCallFails();
    await s.clock.advance(29_900);
    assert.equal(s.connection.state.kind, "unavailable");
    assert.deepEqual(s.connection.health(), { ok: true });
    await s.clock.advance(100);
    assert.deepEqual(s.connection.health(), {
      ok: false,
      reason: "container runtime is down: connect ENOENT /run/c.sock",
    });
    s.runtime.state = "up";
    await s.clock.advance(400);
    assert.deepEqual(s.connection.health(), { ok: true });
  });

  it("treats a runtime that hangs as unavailable", async (t) => {
    const s = started(t, "up");
    await s.start();
    await settle();
    s.runtime.state = "hangs";
    await s.clock.advance(15_000);
    assert.equal(s.connection.state.kind, "unavailable");
    await s.clock.advance(15_000);
    assert.deepEqual(s.connection.health(), {
      ok: false,
      reason: "container runtime is down: no response within 10 s",
    });
  });

  it("reports a runtime that is not ready immediately, with its reason", async (t) => {
    const s = started(t, "up");
    await s.start();
    await settle();
    s.runtime.state = "not-ready";
    await s.clock.advance(5000);
    assert.deepEqual(s.connection.health(), {
      ok: false,
      reason: "container runtime not ready: RuntimeReady=false reason:Why message:what",
    });
  });

  it("a runtime without a network is ready", async (t) => {
    const s = started(t, "no-network");
    await s.start();
    await settle();
    assert.deepEqual(s.connection.health(), { ok: true });
    assert.deepEqual(s.connection.networkHealth(), {
      ok: false,
      reason: "container runtime network not ready: NetworkReady=false reason:NoCni message:none",
    });
  });

  it("checks the network every second while it is not ready, and reports when it is", async (t) => {
    const s = started(t, "no-network");
    let changes = 0;
    s.connection.onChange(() => changes++);
    await s.start();
    await settle();
    assert.equal(changes, 1, "the runtime is available");
    const before = s.runtime.probes;
    await s.clock.advance(10_000);
    assert.equal(s.runtime.probes - before, 10);
    s.runtime.state = "up";
    await s.clock.advance(1000);
    assert.equal(changes, 2);
    assert.deepEqual(s.connection.networkHealth(), { ok: true });
    const later = s.runtime.probes;
    await s.clock.advance(10_000);
    assert.equal(s.runtime.probes - later, 2);
    assert.deepEqual(s.lines, [
      "Container runtime is ready",
      "Pod network is not ready, waiting for it",
      "Pod network is ready",
    ]);
  });

  it("notifies listeners of changes until they unsubscribe", async (t) => {
    const s = started(t, "up");
    const kinds: string[] = [];
    const leave = s.connection.onChange((state) => kinds.push(state.kind));
    await s.start();
    await s.clock.advance(10_000);
    s.runtime.state = "unavailable";
    await s.clock.advance(10_000);
    leave();
    s.runtime.state = "up";
    await s.clock.advance(10_000);
    assert.deepEqual(kinds, ["up", "unavailable"]);
  });

  it("ends when it is stopped, and leaves no timer", async (t) => {
    const s = started(t, "unavailable");
    await s.start();
    await s.clock.advance(1000);
    s.stop.abort();
    await s.connection.done;
    assert.equal(s.clock.pending, 0);
    assert.equal(s.listeners.size, 0);
    assert.equal(getEventListeners(s.stop.signal, "abort").length, 0);
  });

  it("detects a real runtime within about a second after it is back", async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "cri-connection-"));
    const runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock") });
    const clock = systemClock;
    const client = createCriClient({
      runtimeEndpoint: runtime.endpoint,
      requestTimeoutMs: 5000,
      logger: silentLogger,
      clock,
      metrics: createMetrics(),
    });
    const connection = new RuntimeConnection({ client, logger: silentLogger, clock });
    const stop = new AbortController();
    t.after(async () => {
      stop.abort();
      await connection.done;
      client.close();
      await runtime.close();
      await rm(dir, { recursive: true });
    });
    await connection.start(stop.signal);
    await eventually(() => (connection.state.kind === "up" ? true : undefined));
    await runtime.stop();
    await client.listContainers().catch(() => undefined);
    await eventually(() => (connection.state.kind === "unavailable" ? true : undefined));
    // After this many failed attempts the back-off is at its maximum.
    let tries = 0;
    client.onUnavailable(() => tries++);
    await eventually(() => (tries >= 8 ? true : undefined));
    const back = Date.now();
    await runtime.start();
    await eventually(() => (connection.state.kind === "up" ? true : undefined));
    // Without our limit the back-off would be most of a minute.
    assert.ok(Date.now() - back < 10_000, `detected after ${Date.now() - back} ms`);
  });
});
