import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "../../src/lib/base/clock.ts";
import { FakeClock } from "../../src/lib/base/fake-clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";
import { hasGrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { eventually } from "../contracts/eventually.ts";
import { type FakeRuntimeOptions, fakeImages, startFakeRuntime } from "./fake-runtime.ts";

async function started(t: TestContext, options: Partial<FakeRuntimeOptions> = {}) {
  const dir = await mkdtemp(join(tmpdir(), "fake-runtime-"));
  const runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock"), ...options });
  const client = createCriClient({
    runtimeEndpoint: runtime.endpoint,
    requestTimeoutMs: 60_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
  });
  t.after(async () => {
    client.close();
    await runtime.close();
    await rm(dir, { recursive: true });
  });
  const sandboxConfig = { metadata: { name: "p", namespace: "n", uid: "u", attempt: 0 }, logDirectory: dir };
  const run = async (command: string[], image: string = fakeImages.busybox): Promise<ContainerId> => {
    const sandbox = await client.runPodSandbox(sandboxConfig, "");
    const config = { metadata: { name: "c" }, image: { image }, command, logPath: "c/0.log" };
    const id = await client.createContainer(sandbox, config, sandboxConfig);
    await client.startContainer(id);
    return id;
  };
  const state = async (id: ContainerId) => (await client.containerStatus(id)).status?.state;
  return { dir, runtime, client, sandboxConfig, run, state };
}

const fail = { kind: "fail", code: "UNAVAILABLE" } as const;

describe("fake runtime", () => {
  it("runs containers on the clock of the test", async (t) => {
    const clock = new FakeClock();
    const { dir, client, run, state } = await started(t, { clock });
    const id = await run(["/bin/sh", "-c", "echo a; sleep 60; echo b; exit 2"]);
    await clock.advance(59_999);
    assert.equal(await state(id), ContainerState.CONTAINER_RUNNING);
    await clock.advance(1);
    const { status } = await client.containerStatus(id);
    assert.equal(status?.exitCode, 2);
    assert.equal(status.finishedAt - status.startedAt, 60_000_000_000n);
    assert.match(
      await readFile(join(dir, "c/0.log"), "utf8"),
      /^2026-01-01T00:00:00Z stdout F a\n\S+ stdout F b\n$/,
    );
  });

  it("waits for the grace period on the clock of the test", async (t) => {
    const clock = new FakeClock();
    const { runtime, client, run, state } = await started(t, { clock });
    const id = await run(["/bin/sh", "-c", "trap '' TERM; sleep inf"]);
    const stopped = client.stopContainer(id, 30);
    await eventually(() => runtime.callsOf("StopContainer")[0]);
    await clock.advance(29_999);
    assert.equal(await state(id), ContainerState.CONTAINER_RUNNING);
    await clock.advance(1);
    await stopped;
    assert.equal((await client.containerStatus(id)).status?.exitCode, 137);
  });

  it("runs the program that the test defines for a container", async (t) => {
    const program = () => ({ steps: [{ do: "exit", code: 42 } as const], onTerm: 0 });
    const { client, run } = await started(t, { program });
    assert.equal((await client.containerStatus(await run(["/anything"]))).status?.exitCode, 42);
  });

  it("lets a test make a container or a sandbox exit", async (t) => {
    const { runtime, client, run } = await started(t);
    const id = await run([]);
    runtime.exit(id, 9);
    const { status } = await client.containerStatus(id);
    assert.equal(status?.exitCode, 9);
    const [sandbox] = await client.listPodSandboxes();
    runtime.pods.loseSandbox(sandbox!.id);
    assert.equal((await client.listPodSandboxes())[0]?.state, PodSandboxState.SANDBOX_NOTREADY);
  });

  it("keeps its containers while it is stopped, and they keep running", async (t) => {
    const { runtime, client, run } = await started(t);
    const id = await run([]);
    await runtime.stop();
    runtime.exit(id, 3);
    await runtime.start();
    const result = await eventually(() => client.containerStatus(id).catch(() => undefined));
    assert.equal(result.status?.exitCode, 3);
  });

  it("records its calls and their results", async (t) => {
    const { runtime, client, sandboxConfig, dir } = await started(t);
    await client.runPodSandbox(sandboxConfig, "");
    await client.runPodSandbox(sandboxConfig, "").catch(() => undefined);
    const config = { metadata: { name: "p", namespace: "n", uid: "u" }, logDirectory: dir };
    assert.deepEqual(
      runtime.callsOf("RunPodSandbox").map(({ request, result }) => ({ request, result })),
      [
        { request: { config }, result: "OK" },
        { request: { config }, result: "FAILED_PRECONDITION" },
      ],
    );
  });

  it("fails as many calls as configured, before or after the work", async (t) => {
    const { runtime, client, sandboxConfig } = await started(t);
    runtime.faults.add({ method: "RunPodSandbox", times: 2, effect: fail });
    for (let n = 0; n < 2; n++) await assert.rejects(client.runPodSandbox(sandboxConfig, ""));
    assert.equal(runtime.pods.sandboxes.size, 0);
    runtime.faults.add({ method: "*", after: true, effect: fail });
    await assert.rejects(client.runPodSandbox(sandboxConfig, ""), (error) =>
      hasGrpcCode(error, "UNAVAILABLE"),
    );
    assert.equal(runtime.pods.sandboxes.size, 1);
    await client.version();
  });

  it("delays a call on the clock of the test", async (t) => {
    const clock = new FakeClock();
    const { runtime, client } = await started(t, { clock });
    runtime.faults.add({ method: "Version", effect: { kind: "delay", ms: 5000 } });
    const result = client.version();
    const call = await eventually(() => runtime.calls[0]);
    await clock.advance(4999);
    assert.equal(call.result, undefined);
    await clock.advance(1);
    assert.equal((await result).runtimeName, "fake");
  });

  it("pulls images of its registry with their delay, and a pull can be aborted", async (t) => {
    const clock = new FakeClock();
    const { runtime, client } = await started(t, {
      clock,
      registry: { "example.test/app:2": { pullMs: 9000, size: 7, user: 1000 }, busybox: {} },
    });
    const pull = (image: string, signal?: AbortSignal) =>
      client.pullImage({ image }, undefined, undefined, { signal });
    const abort = new AbortController();
    const aborted = assert.rejects(pull("example.test/app:2", abort.signal));
    const call = await eventually(() => runtime.calls[0]);
    abort.abort();
    await aborted;
    await eventually(() => call.result);
    assert.equal(await client.imageStatus({ image: "example.test/app:2" }), undefined);

    const pulled = pull("example.test/app:2");
    await eventually(() => runtime.callsOf("PullImage")[1]);
    await clock.advance(9000);
    const image = await client.imageStatus({ image: await pulled });
    assert.deepEqual([image?.repoTags, image?.size, image?.uid?.value], [["example.test/app:2"], 7n, 1000n]);

    await pull("busybox");
    assert.ok(await client.imageStatus({ image: "docker.io/library/busybox:latest" }));
    await assert.rejects(pull("example.test/none:1"), (error) => hasGrpcCode(error, "NOT_FOUND"));
  });
});
