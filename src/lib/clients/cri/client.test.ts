import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { eventually } from "../../../../test/contracts/eventually.ts";
import {
  type FakeRuntimeOptions,
  fakeImages,
  startFakeRuntime,
} from "../../../../test/fake-runtime/fake-runtime.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { isAbort } from "../../base/errors.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { silentLogger } from "../../base/logger.ts";
import { createMetrics } from "../../base/metrics.ts";
import { createCriClient } from "./client.ts";
import type { ContainerId, CriClient, SandboxId } from "./cri.ts";
import { CriError, type GrpcCode, hasGrpcCode } from "./cri-error.ts";
import { operationType } from "./operation-metrics.ts";

const REQUEST_TIMEOUT_MS = 60_000;
const sandboxConfig = { metadata: { name: "p", namespace: "n", uid: "u", attempt: 0 } };

async function tempDir(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "cri-client-"));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

function clientOf(
  t: TestContext,
  runtimeEndpoint: string,
  options: { imageEndpoint?: string; clock?: Clock; streamsLists?: boolean } = {},
) {
  const metrics = createMetrics();
  const client = createCriClient({
    runtimeEndpoint,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    logger: silentLogger,
    metrics,
    ...options,
    clock: options.clock ?? systemClock,
  });
  t.after(() => client.close());
  return { client, metrics };
}

/** A fake runtime and a client of it; the given clock is the client's. */
async function connected(
  t: TestContext,
  { clientStreams, ...options }: Partial<FakeRuntimeOptions> & { clientStreams?: boolean } = {},
  clock?: Clock,
) {
  const runtime = await startFakeRuntime({ socketPath: join(await tempDir(t), "cri.sock"), ...options });
  t.after(() => runtime.close());
  return { runtime, ...clientOf(t, runtime.endpoint, { clock, streamsLists: clientStreams }) };
}

function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => assert.fail("the call should have failed"),
    (error: unknown) => error,
  );
}

describe("CRI client: deadlines", () => {
  const c = "c" as ContainerId;
  const rows: [
    rule: string,
    method: string,
    ms: number | undefined,
    call: (client: CriClient) => Promise<unknown>,
  ][] = [
    ["the default is the request timeout", "Status", 60_000, (x) => x.status(false)],
    [
      "RunPodSandbox has twice the request timeout",
      "RunPodSandbox",
      120_000,
      (x) => x.runPodSandbox(sandboxConfig, ""),
    ],
    ["a stop has its grace period in addition", "StopContainer", 90_000, (x) => x.stopContainer(c, 30)],
    ["a command has its own timeout in addition", "ExecSync", 65_000, (x) => x.execSync(c, ["true"], 5)],
    ["a command without a timeout has no deadline", "ExecSync", undefined, (x) => x.execSync(c, ["true"], 0)],
    [
      "a pull has no deadline",
      "PullImage",
      undefined,
      (x) => x.pullImage({ image: "a" }, undefined, undefined),
    ],
    ["the caller may set another timeout", "Version", 1000, (x) => x.version({ timeoutMs: 1000 })],
    [
      "the caller may set a timeout for a pull",
      "PullImage",
      50,
      (x) => x.pullImage({ image: "a" }, undefined, undefined, { timeoutMs: 50 }),
    ],
  ];
  // parity: field runtimeRequestTimeout as requestTimeoutMs
  for (const [rule, method, ms, call] of rows) {
    it(rule, async (t) => {
      const clock = new FakeClock();
      const { runtime, client } = await connected(
        t,
        { faults: [{ method, effect: { kind: "hang" } }] },
        clock,
      );
      let settled = false;
      const failure = failureOf(call(client)).finally(() => {
        settled = true;
      });
      await eventually(() => runtime.calls[0]);
      await clock.advance(ms === undefined ? 7 * 24 * 3600_000 : ms - 1);
      assert.equal(settled, false);
      if (ms === undefined) {
        client.close();
        runtime.dropConnections();
        return assert.ok(hasGrpcCode(await failure, "UNAVAILABLE"));
      }
      await clock.advance(1);
      const error = await failure;
      assert.ok(error instanceof CriError);
      assert.equal(error.grpcCode, "DEADLINE_EXCEEDED");
      assert.equal(error.method, method);
      assert.equal(error.message, `no response within ${ms / 1000} s`);
      assert.equal(await eventually(() => runtime.calls[0]?.result), "CANCELLED");
      assert.equal(clock.pending, 0);
    });
  }
});

describe("CRI client: aborting", () => {
  it("cancels the call in the runtime", async (t) => {
    const { runtime, client } = await connected(t, {
      faults: [{ method: "PullImage", effect: { kind: "hang" } }],
    });
    const abort = new AbortController();
    const failure = failureOf(
      client.pullImage({ image: "a" }, undefined, undefined, { signal: abort.signal }),
    );
    const call = await eventually(() => runtime.calls[0]);
    abort.abort("no longer wanted");
    const error = await failure;
    assert.ok(isAbort(error));
    assert.equal((error as Error).cause, "no longer wanted");
    assert.equal(await eventually(() => call.result), "CANCELLED");
  });

  it("before the call does not call the runtime", async (t) => {
    const { runtime, client } = await connected(t);
    assert.ok(isAbort(await failureOf(client.version({ signal: AbortSignal.abort() }))));
    await client.version();
    assert.equal(runtime.calls.length, 1);
  });

  it("leaves no listener and no timer after a thousand calls, successful or failed", async (t) => {
    const clock = new FakeClock();
    const { client } = await connected(t, {}, clock);
    const { signal } = new AbortController();
    const unknown = "f".repeat(64) as ContainerId;
    for (let round = 0; round < 20; round++) {
      const calls = Array.from({ length: 50 }, (_, n) =>
        n % 2 ? client.version({ signal }) : failureOf(client.containerStatus(unknown, { signal })),
      );
      await Promise.all(calls);
    }
    assert.equal(getEventListeners(signal, "abort").length, 0);
    assert.equal(clock.pending, 0);
  });
});

describe("CRI client: errors", () => {
  const codes: GrpcCode[] = [
    "NOT_FOUND",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "ALREADY_EXISTS",
    "FAILED_PRECONDITION",
    "RESOURCE_EXHAUSTED",
    "UNIMPLEMENTED",
    "PERMISSION_DENIED",
    "INTERNAL",
    "UNKNOWN",
    "CANCELLED",
  ];
  for (const code of codes) {
    it(`keeps ${code} and the runtime's own message`, async (t) => {
      const effect = { kind: "fail", code, message: "message of the runtime: no" } as const;
      const { client } = await connected(t, { faults: [{ method: "ContainerStatus", effect }] });
      const error = await failureOf(client.containerStatus("c" as ContainerId));
      assert.ok(error instanceof CriError);
      assert.deepEqual(
        [error.grpcCode, error.method, error.message],
        [code, "ContainerStatus", effect.message],
      );
      assert.equal(isAbort(error), false);
    });
  }

  const idempotent: [method: string, call: (client: CriClient) => Promise<void>][] = [
    ["StopContainer", (x) => x.stopContainer("c" as ContainerId, 1)],
    ["RemoveContainer", (x) => x.removeContainer("c" as ContainerId)],
    ["StopPodSandbox", (x) => x.stopPodSandbox("s" as SandboxId)],
    ["RemovePodSandbox", (x) => x.removePodSandbox("s" as SandboxId)],
    ["RemoveImage", (x) => x.removeImage({ image: "i" })],
  ];
  it("calls that end the same sandbox run one at a time, and a waiting one can be aborted", async (t) => {
    const { runtime, client } = await connected(t);
    runtime.faults.add({ method: "StopPodSandbox", effect: { kind: "hang" }, times: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const one = "a".repeat(64) as SandboxId;
    const stopping = failureOf(client.stopPodSandbox(one, { signal: first.signal }));
    await eventually(() => runtime.callsOf("StopPodSandbox")[0]);
    const waiting = failureOf(client.stopPodSandbox(one, { signal: second.signal }));
    const removing = client.removePodSandbox(one);
    await client.removePodSandbox("b".repeat(64) as SandboxId);
    assert.equal(runtime.callsOf("StopPodSandbox", "RemovePodSandbox").length, 2, "another is not affected");
    second.abort();
    assert.ok(isAbort(await waiting));
    first.abort();
    assert.ok(isAbort(await stopping));
    await removing;
    assert.deepEqual(
      runtime.callsOf("StopPodSandbox", "RemovePodSandbox").map(({ method }) => method),
      ["StopPodSandbox", "RemovePodSandbox", "RemovePodSandbox"],
    );
  });

  for (const [method, call] of idempotent) {
    it(`${method} succeeds when the runtime returns NOT_FOUND, and for no other error`, async (t) => {
      const { runtime, client, metrics } = await connected(t);
      runtime.faults.add({ method, effect: { kind: "fail", code: "NOT_FOUND" } });
      await call(client);
      assert.equal(
        /^kubelet_runtime_operations_errors_total\{/m.test(await metrics.registry.metrics()),
        false,
      );
      runtime.faults.add({ method, effect: { kind: "fail", code: "UNKNOWN" } });
      assert.ok(hasGrpcCode(await failureOf(call(client)), "UNKNOWN"));
    });
  }

  it("the error of a missing runtime names its socket", async (t) => {
    const socket = join(await tempDir(t), "none.sock");
    const { client } = clientOf(t, socket);
    const error = await failureOf(client.version());
    assert.ok(hasGrpcCode(error, "UNAVAILABLE"));
    assert.equal((error as Error).message, `connect ENOENT ${socket}`);
  });

  it("rejects calls after it was closed", async (t) => {
    const { client } = await connected(t);
    client.close();
    assert.ok(hasGrpcCode(await failureOf(client.version()), "CANCELLED"));
    const { signal } = new AbortController();
    const events = client.containerEvents(signal)[Symbol.asyncIterator]();
    assert.ok((await failureOf(events.next())) instanceof CriError);
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
});

describe("CRI client: connection", () => {
  it("reconnects after an outage of the runtime", async (t) => {
    const { runtime, client } = await connected(t);
    const id = await client.runPodSandbox(sandboxConfig, "");
    let unavailable = 0;
    const unsubscribe = client.onUnavailable(() => unavailable++);
    await runtime.stop();
    assert.ok(hasGrpcCode(await failureOf(client.version()), "UNAVAILABLE"));
    assert.equal(unavailable, 1);
    await runtime.start();
    await eventually(() => client.version().catch(() => undefined), 3000);
    unsubscribe();
    assert.deepEqual(
      (await client.listPodSandboxes()).map((sandbox) => sandbox.id),
      [id],
    );
  });

  it("fails a call whose connection breaks, and uses another for the next call", async (t) => {
    const { runtime, client } = await connected(t, {
      faults: [{ method: "Status", effect: { kind: "drop" } }],
    });
    assert.ok(hasGrpcCode(await failureOf(client.status(false)), "UNAVAILABLE"));
    await eventually(() => client.status(false).catch(() => undefined), 3000);
    assert.equal(runtime.callsOf("Status")[0]?.result, "CANCELLED");
  });

  // parity: field imageServiceEndpoint as imageEndpoint
  it("sends image calls to their own endpoint", async (t) => {
    const images = await startFakeRuntime({ socketPath: join(await tempDir(t), "images.sock") });
    t.after(() => images.close());
    const { runtime } = await connected(t);
    const { client } = clientOf(t, runtime.endpoint, { imageEndpoint: images.endpoint });
    await client.listImages();
    await client.version();
    assert.deepEqual([images.calls.length, runtime.calls.length], [1, 1]);
  });

  it("sends an authority and a deadline that Go servers understand", async (t) => {
    const socket = join(await tempDir(t), "raw.sock");
    const server = createServer();
    server.listen(socket);
    await once(server, "listening");
    const { client } = clientOf(t, `unix://${socket}`);
    const streamed = once(server, "stream");
    const failure = failureOf(client.version());
    const [stream, headers] = await streamed;
    assert.equal(headers[":authority"], "localhost");
    assert.equal(headers[":path"], "/runtime.v1.RuntimeService/Version");
    assert.match(headers["grpc-timeout"], /^\d{1,8}[mun]$|^\d+S$/);
    stream.respond(
      { ":status": 200, "content-type": "application/grpc", "grpc-status": "16" },
      { endStream: true },
    );
    assert.ok(hasGrpcCode(await failure, "UNAUTHENTICATED"));
    client.close();
    server.close();
  });
});

describe("CRI client: messages", () => {
  const mebibytes = (n: number) => ({ big: "x".repeat(n * 1024 * 1024) });

  it("messages of 15 MiB are sent and received", async (t) => {
    const { client } = await connected(t);
    await client.runPodSandbox({ ...sandboxConfig, annotations: mebibytes(15) }, "");
    assert.equal((await client.listPodSandboxes())[0]?.annotations.big?.length, 15 * 1024 * 1024);
  });

  it("messages of more than 16 MiB are not sent", async (t) => {
    const { runtime, client } = await connected(t);
    const error = await failureOf(client.runPodSandbox({ ...sandboxConfig, annotations: mebibytes(17) }, ""));
    assert.ok(hasGrpcCode(error, "RESOURCE_EXHAUSTED"));
    assert.equal(runtime.calls.length, 0);
  });

  it("messages of more than 16 MiB are not received, and the connection survives", async (t) => {
    const { client } = await connected(t);
    for (let attempt = 0; attempt < 2; attempt++) {
      const metadata = { ...sandboxConfig.metadata, attempt };
      await client.runPodSandbox({ metadata, annotations: mebibytes(9) }, "");
    }
    assert.ok(hasGrpcCode(await failureOf(client.listPodSandboxes()), "RESOURCE_EXHAUSTED"));
    await client.version();
  });

  it("a status without an image is undefined", async (t) => {
    const { client } = await connected(t);
    assert.equal(await client.imageStatus({ image: "none" }), undefined);
    assert.equal((await client.imageStatus({ image: fakeImages.busybox }))?.repoTags[0], fakeImages.busybox);
  });
});

describe("CRI client: metrics", () => {
  // parity: metric /metrics kubelet_run_podsandbox_duration_seconds
  it("count calls, failures and durations by operation", async (t) => {
    const { runtime, client, metrics } = await connected(t);
    const effect = { kind: "fail", code: "INTERNAL" } as const;
    runtime.faults.add({ method: "ContainerStatus", effect }, { method: "RunPodSandbox", effect });
    await client.version();
    await client.version();
    await failureOf(client.containerStatus("c" as ContainerId));
    await failureOf(client.runPodSandbox(sandboxConfig, "runc"));
    await client.stopContainer("c" as ContainerId, 0);
    const text = await metrics.registry.metrics();
    const lines = [
      'kubelet_runtime_operations_total{operation_type="version"} 2',
      'kubelet_runtime_operations_total{operation_type="container_status"} 1',
      'kubelet_runtime_operations_errors_total{operation_type="container_status"} 1',
      'kubelet_runtime_operations_duration_seconds_count{operation_type="version"} 2',
      'kubelet_runtime_operations_duration_seconds_bucket{le="0.005",operation_type="version"}',
      'kubelet_run_podsandbox_duration_seconds_count{runtime_handler="runc"} 1',
      'kubelet_run_podsandbox_errors_total{runtime_handler="runc"} 1',
    ];
    for (const line of lines) assert.ok(text.includes(line), `${line} is missing from\n${text}`);
    assert.equal(/errors_total\{operation_type="(version|stop_container)"/.test(text), false);
  });

  it("count no call that its caller does not count", async (t) => {
    const { client, metrics } = await connected(t);
    const total = 'kubelet_runtime_operations_total{operation_type="update_container"}';
    await failureOf(client.updateContainerResources("c" as ContainerId, {}, { isCounted: false }));
    assert.ok(!(await metrics.registry.metrics()).includes(total));
    await failureOf(client.updateContainerResources("c" as ContainerId, {}));
    assert.ok((await metrics.registry.metrics()).includes(`${total} 1\n`));
  });
});

describe("CRI client: events", () => {
  it("arrive in order, even when the reader starts late", async (t) => {
    const { client } = await connected(t, { events: true });
    const abort = new AbortController();
    const events = client.containerEvents(abort.signal)[Symbol.asyncIterator]();
    for (let attempt = 0; attempt < 100; attempt++) {
      await client.runPodSandbox({ metadata: { ...sandboxConfig.metadata, attempt } }, "");
    }
    const attempts: (number | undefined)[] = [];
    for (let n = 0; n < 200; n += 2) {
      await events.next();
      const { value } = await events.next();
      attempts.push(value?.podSandboxStatus?.metadata?.attempt);
    }
    assert.deepEqual(
      attempts,
      Array.from({ length: 100 }, (_, n) => n),
    );
    const waiting = events.next();
    abort.abort();
    assert.equal((await waiting).done, true);
    assert.equal(getEventListeners(abort.signal, "abort").length, 0);
  });

  it("end with an error when the connection breaks", async (t) => {
    const { runtime, client } = await connected(t, { events: true });
    const { signal } = new AbortController();
    const events = client.containerEvents(signal)[Symbol.asyncIterator]();
    const failure = failureOf(events.next());
    await client.version();
    runtime.dropConnections();
    assert.ok(hasGrpcCode(await failure, "UNAVAILABLE"));
    assert.equal((await events.next()).done, true);
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  it("are UNIMPLEMENTED in a runtime without them", async (t) => {
    const { client } = await connected(t);
    const read = async () => {
      for await (const event of client.containerEvents(new AbortController().signal))
        assert.fail(String(event));
    };
    assert.ok(hasGrpcCode(await failureOf(read()), "UNIMPLEMENTED"));
  });

  it("end immediately when the signal is already aborted", async (t) => {
    const { client } = await connected(t, { events: true });
    for await (const event of client.containerEvents(AbortSignal.abort())) assert.fail(String(event));
  });

  it("fail when the reader falls behind, after the buffered events", async (t) => {
    const { client, runtime } = await connected(t, { events: true });
    const { signal } = new AbortController();
    const events = client.containerEvents(signal)[Symbol.asyncIterator]();
    const begun = events.next();
    await client.runPodSandbox(sandboxConfig, "");
    await begun;
    const { config } = [...runtime.pods.sandboxes.values()][0]!;
    for (let n = 0; n < 600; n++) {
      const metadata = { ...config.metadata!, attempt: n + 1 };
      runtime.pods.run({ ...config, metadata }, "");
    }
    await eventually(() => (getEventListeners(signal, "abort").length === 0 ? true : undefined));
    let read = 0;
    const readAll = async () => {
      for (let next = await events.next(); !next.done; next = await events.next()) read++;
    };
    assert.ok(hasGrpcCode(await failureOf(readAll()), "RESOURCE_EXHAUSTED"));
    assert.equal(read, 1024);
  });

  it("are canceled when the reader leaves the loop", async (t) => {
    const { client, runtime } = await connected(t, { events: true });
    const { signal } = new AbortController();
    await client.runPodSandbox(sandboxConfig, "");
    for await (const event of client.containerEvents(signal)) {
      assert.ok(event.containerId);
      break;
    }
    assert.equal(getEventListeners(signal, "abort").length, 0);
    await eventually(() => (runtime.eventReaders === 0 ? true : undefined));
  });
});

describe("CRI client: streamed lists", () => {
  const lists: [unary: string, stream: string, count: number, call: (c: CriClient) => Promise<unknown[]>][] =
    [
      ["ListPodSandbox", "StreamPodSandboxes", 3, (c) => c.listPodSandboxes()],
      ["ListContainers", "StreamContainers", 2, (c) => c.listContainers()],
      ["ListImages", "StreamImages", 2, (c) => c.listImages()],
      ["ListContainerStats", "StreamContainerStats", 2, (c) => c.listContainerStats()],
      ["ListPodSandboxStats", "StreamPodSandboxStats", 3, (c) => c.listPodSandboxStats()],
      ["ListPodSandboxMetrics", "StreamPodSandboxMetrics", 3, (c) => c.listPodSandboxMetrics()],
    ];
  const withPods = async (t: TestContext, o: Parameters<typeof connected>[1]) => {
    const node = await connected(t, o);
    for (const name of ["a", "b", "c"]) {
      const config = { metadata: { name, namespace: "n", uid: name, attempt: 0 } };
      const sandbox = await node.client.runPodSandbox(config, "");
      const image = { image: fakeImages.busybox };
      if (name !== "c")
        await node.client.createContainer(sandbox, { metadata: { name: "c" }, image }, config);
    }
    return node;
  };

  for (const [unary, stream, count, call] of lists)
    it(`${unary} is streamed if the client wants and the runtime can`, async (t) => {
      const { runtime, client, metrics } = await withPods(t, {
        streamsLists: true,
        clientStreams: true,
        stats: true,
      });
      assert.equal((await call(client)).length, count);
      assert.deepEqual([runtime.callsOf(unary).length, runtime.callsOf(stream).length], [0, 1]);
      const counted = `operations_total{operation_type="${operationType(unary)}"} 1\n`;
      assert.equal((await metrics.registry.metrics()).includes(counted), !unary.endsWith("Stats"));
    });

  it("are the same as lists at once, with any filter", async (t) => {
    const { runtime, client } = await withPods(t, { streamsLists: true, clientStreams: true });
    const plain = clientOf(t, runtime.endpoint).client;
    const [first] = await plain.listPodSandboxes();
    for (const filter of [undefined, { id: first!.id }, { id: "none" }])
      assert.deepEqual(await client.listPodSandboxes(filter), await plain.listPodSandboxes(filter));
  });

  it("are requested once from a service that has none, and then as lists", async (t) => {
    const { runtime, client, metrics } = await withPods(t, { clientStreams: true });
    for (const _ of [1, 2]) assert.equal((await client.listContainers()).length, 2);
    assert.equal((await client.listPodSandboxes()).length, 3);
    assert.deepEqual(
      ["ListContainers", "ListPodSandbox"].map((name) => runtime.callsOf(name).length),
      [2, 1],
    );
    assert.doesNotMatch(await metrics.registry.metrics(), /operations_errors_total\{/);
  });

  it("end at once with another error, and are streamed again", async (t) => {
    const { runtime, client } = await withPods(t, { streamsLists: true, clientStreams: true });
    const effect = { kind: "fail", code: "INTERNAL", message: "broken" } as const;
    runtime.faults.add({ method: "StreamContainers", effect, times: 1 });
    assert.ok(hasGrpcCode(await failureOf(client.listContainers()), "INTERNAL"));
    assert.equal((await client.listContainers()).length, 2);
    assert.equal(runtime.callsOf("ListContainers").length, 0);
  });

  it("have the deadline of a list, and can be aborted", async (t) => {
    const clock = new FakeClock();
    const { runtime, client } = await connected(t, { streamsLists: true, clientStreams: true }, clock);
    runtime.faults.add({ method: "StreamContainers", effect: { kind: "hang" }, times: 2 });
    const late = failureOf(client.listContainers());
    await eventually(() => runtime.callsOf("StreamContainers")[0]);
    await clock.advance(REQUEST_TIMEOUT_MS);
    assert.ok(hasGrpcCode(await late, "DEADLINE_EXCEEDED"));
    const stop = new AbortController();
    const aborted = failureOf(client.listContainers(undefined, { signal: stop.signal }));
    await eventually(() => runtime.callsOf("StreamContainers")[1]);
    stop.abort();
    assert.ok(isAbort(await aborted));
  });
});
