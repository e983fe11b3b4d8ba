import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runtimeClient } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { removeDir } from "../node/remove-dir.ts";
import { CriProxy } from "./cri-proxy.ts";

async function started(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "cri-proxy-"));
  const runtime = await startFakeRuntime({ socketPath: join(dir, "cri.sock"), events: true });
  const proxy = await CriProxy.open(join(dir, "proxy.sock"), join(dir, "cri.sock"));
  const client = runtimeClient(proxy.endpoint);
  t.after(async () => {
    client.close();
    await proxy.close();
    await runtime.close();
    await removeDir(dir);
  });
  const run = (name: string) =>
    client.runPodSandbox(
      {
        metadata: { name, uid: name, namespace: "default", attempt: 0 },
        logDirectory: join(dir, name),
      },
      "",
    );
  return { dir, runtime, proxy, client, run };
}

test("calls, errors and events pass through", async (t) => {
  const { runtime, client, run } = await started(t);
  const hints: string[] = [];
  const stop = new AbortController();
  t.after(() => stop.abort());
  const events = (async () => {
    for await (const event of client.containerEvents(stop.signal)) hints.push(event.containerId);
  })();
  events.catch(() => {});
  await waitFor(() => assert.equal(runtime.eventReaders, 1));
  const id = await run("a");
  await waitFor(() => assert.deepEqual(hints.slice(0, 1), [id]));
  assert.deepEqual(
    (await client.listPodSandboxes()).map((sandbox) => sandbox.id),
    [id],
  );
  assert.ok(await client.imageStatus({ image: fakeImages.busybox }));
  await assert.rejects(client.containerStatus("none" as never), { grpcCode: "NOT_FOUND" });
});

test("only chosen calls are held back, and continue when they are released", async (t) => {
  const { runtime, proxy, client, run } = await started(t);
  proxy.add({ method: "RunPodSandbox", contains: "slow", effect: { kind: "hang" } });
  const slow = run("slow");
  await waitFor(() => assert.equal(proxy.held, 1));
  await run("fast");
  assert.equal(runtime.callsOf("RunPodSandbox").length, 1);
  proxy.release();
  await slow;
  assert.equal((await client.listPodSandboxes()).length, 2);
});

test("a response is held back after the call was made", async (t) => {
  const { runtime, proxy, run } = await started(t);
  proxy.add({ method: "RunPodSandbox", effect: { kind: "hang-response" } });
  const slow = run("a");
  await waitFor(() => assert.equal(runtime.pods.sandboxes.size, 1));
  assert.equal(proxy.held, 1);
  proxy.release();
  await slow;
});

test("chosen calls fail, before or after they were made", async (t) => {
  const { runtime, proxy, run } = await started(t);
  proxy.add({ method: "RunPodSandbox", effect: { kind: "fail", code: 13 } });
  await assert.rejects(run("a"), { grpcCode: "INTERNAL" });
  assert.equal(runtime.pods.sandboxes.size, 0);
  proxy.add({ method: "RunPodSandbox", effect: { kind: "fail-response", code: 4 } });
  await assert.rejects(run("b"), { grpcCode: "DEADLINE_EXCEEDED" });
  assert.equal(runtime.pods.sandboxes.size, 1);
});

test("a runtime that stops is unavailable, and available again when it is started", async (t) => {
  const { runtime, client, run } = await started(t);
  await run("a");
  await runtime.stop();
  await assert.rejects(client.listPodSandboxes(), { grpcCode: "UNAVAILABLE" });
  await runtime.start();
  await waitFor(async () => assert.equal((await client.listPodSandboxes()).length, 1));
});
