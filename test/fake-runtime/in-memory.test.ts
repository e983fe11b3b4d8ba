import assert from "node:assert/strict";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isAbort } from "../../src/lib/base/errors.ts";
import { FakeClock, settle } from "../../src/lib/base/fake-clock.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type CallBehavior, InMemoryRuntime } from "./in-memory.ts";
import type { Exec } from "./methods.ts";

async function setUp(
  t: TestContext,
  options: { exec?: Exec; behavior?: () => CallBehavior; events?: boolean } = {},
) {
  const logDirectory = await mkdtemp(join(tmpdir(), "in-memory-"));
  t.after(() => rm(logDirectory, { recursive: true }));
  const clock = new FakeClock();
  const runtime = new InMemoryRuntime({ clock, exec: options.exec, events: options.events });
  const client = runtime.client({ behavior: options.behavior });
  const sandbox = { metadata: { name: "p", namespace: "default", uid: "u", attempt: 0 }, logDirectory };
  const sandboxId = await client.runPodSandbox(sandbox, "");
  const start = async (command: string[] = ["sleep", "inf"], attempt = 0) => {
    const id = await client.createContainer(
      sandboxId,
      {
        metadata: { name: "c", attempt },
        image: { image: "busybox:1" },
        command,
        logPath: `${attempt}.log`,
        mounts: [{ containerPath: "/data", hostPath: "/host" }],
        linux: {
          resources: { memoryLimitInBytes: 1024n },
          securityContext: { runAsUser: { value: 7n }, runAsGroup: { value: 8n }, supplementalGroups: [9n] },
        },
      },
      sandbox,
    );
    await client.startContainer(id);
    return id;
  };
  return { clock, runtime, client, start, logDirectory };
}

test("a status has the user, the resources and the mounts of the container", async (t) => {
  const { client, start } = await setUp(t);
  const { status } = await client.containerStatus(await start());
  const { uid, gid, supplementalGroups } = status!.user!.linux!;
  assert.deepEqual([uid, gid, supplementalGroups], [7n, 8n, [8n, 9n]]);
  assert.equal(status?.resources?.linux?.memoryLimitInBytes, 1024n);
  assert.equal(status?.mounts[0]?.containerPath, "/data");
});

test("a container that ran out of memory reports it", async (t) => {
  const { client, runtime, start } = await setUp(t);
  const id = await start();
  runtime.pods.oomKill(id);
  await settle();
  const { status } = await client.containerStatus(id);
  assert.deepEqual([status?.exitCode, status?.reason], [137, "OOMKilled"]);
});

test("a container that the runtime lost track of is unknown, and exits when it is stopped", async (t) => {
  const { client, clock, runtime, start } = await setUp(t);
  const id = await start();
  runtime.pods.setUnknown(id);
  assert.equal((await client.containerStatus(id)).status?.state, ContainerState.CONTAINER_UNKNOWN);
  const stopped = client.stopContainer(id, 1);
  await clock.advance(1000);
  await stopped;
  assert.equal((await client.containerStatus(id)).status?.state, ContainerState.CONTAINER_EXITED);
});

test("commands return what the test defines, else what they print", async (t) => {
  const { client, clock, start } = await setUp(t, {
    exec: (_container, [name]) =>
      name === "probe" ? { exitCode: 3, stdout: "not yet", takesMs: 2000 } : undefined,
  });
  const id = await start();
  assert.equal((await client.execSync(id, ["false"], 1)).exitCode, 1);
  const result = client.execSync(id, ["probe"], 5);
  await clock.advance(2000);
  assert.deepEqual(
    [(await result).exitCode, Buffer.from((await result).stdout).toString()],
    [3, "not yet\n"],
  );
  const late = assert.rejects(client.execSync(id, ["probe"], 1), /timeout 1s exceeded/);
  await clock.advance(1000);
  await late;
});

test("logs are written, and reopened when they were moved away", async (t) => {
  const { client, clock, start, logDirectory } = await setUp(t);
  const id = await start(["sh", "-c", "echo one; sleep 1; echo two; sleep 9"]);
  await rename(join(logDirectory, "0.log"), join(logDirectory, "old"));
  await client.reopenContainerLog(id);
  await clock.advance(1000);
  assert.match(await readFile(join(logDirectory, "old"), "utf8"), /stdout F one\n$/);
  assert.match(await readFile(join(logDirectory, "0.log"), "utf8"), /stdout F two\n$/);
  await clock.advance(9000);
});

test("an aborted call ends immediately, and is not executed if it had not started", async (t) => {
  let beforeMs = 0;
  const { client, runtime, start } = await setUp(t, { behavior: () => ({ beforeMs }) });
  const id = await start();
  beforeMs = 5000;
  const abort = new AbortController();
  const call = client.removeContainer(id, { signal: abort.signal });
  abort.abort();
  await assert.rejects(call, isAbort);
  assert.ok(runtime.pods.containers.has(id));
});

test("a runtime that is down does not respond, and its event streams break", async (t) => {
  const { client, runtime, start } = await setUp(t, { events: true });
  await start();
  const received: string[] = [];
  const stream = (async () => {
    for await (const event of client.containerEvents(new AbortController().signal))
      received.push(event.containerId);
  })();
  await settle();
  assert.ok(received.length > 0);
  runtime.down = true;
  await assert.rejects(stream, /connection broke/);
  await assert.rejects(client.version(), /connection refused/);
  runtime.down = false;
  assert.equal((await client.imageFsInfo()).imageFilesystems.length, 1);
});
