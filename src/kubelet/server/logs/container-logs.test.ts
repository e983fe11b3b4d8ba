import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { ContainerStatus, Pod } from "../../../lib/model/pod.ts";
import { containerLogs } from "./container-logs.ts";
import { FakeLog } from "./fake-log.ts";
import { serveRoutes } from "./fake-route-server.ts";

const id = "containerd://abc";
const terminatedState = (containerID?: string) => ({
  terminated: { exitCode: 1, startedAt: "", finishedAt: "", ...(containerID && { containerID }) },
});

async function setUp(t: TestContext, status: Partial<ContainerStatus> | undefined) {
  const log = new FakeLog();
  t.after(() => log.remove());
  const pod: Pod = fakePod();
  const name = pod.spec.containers[0]!.name;
  let listeners = 0;
  const server = await serveRoutes(t, [
    containerLogs({
      pods: {
        pod: (namespace, podName) =>
          namespace === pod.metadata.namespace && podName === pod.metadata.name ? pod : undefined,
        status: () => ({
          containerStatuses: status
            ? [{ name, image: "", imageID: "", ready: false, restartCount: 0, ...status }]
            : [],
        }),
        container: (_pod, id) => (id === "abc" ? { logPath: log.path, running: log.running } : undefined),
        onChange: (_pod, listener) => {
          listeners++;
          const stop = log.state.onChange(listener);
          return () => {
            listeners--;
            stop();
          };
        },
      },
      splitStreams: true,
      clock: systemClock,
      logger: silentLogger,
    }),
  ]);
  const base = `${server.url}/containerLogs/${pod.metadata.namespace}`;
  return {
    log,
    server,
    listeners: () => listeners,
    url: (query = "") => `${base}/${pod.metadata.name}/${name}?${query}`,
    base,
    podName: pod.metadata.name,
    name,
  };
}

async function until(check: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !check(); ) {
    assert.ok(Date.now() < end, "timed out");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const running = { state: { running: {} }, containerID: id };

for (const [what, status, query, expected] of [
  ["it has no status", undefined, "", 'container "NAME" in pod "POD" is not available'],
  [
    "it is being created",
    { state: { waiting: { reason: "ContainerCreating" } } },
    "",
    'container "NAME" in pod "POD" is waiting to start: ContainerCreating',
  ],
  [
    "its image cannot be pulled",
    { state: { waiting: { reason: "ErrImagePull" } } },
    "",
    'container "NAME" in pod "POD" is waiting to start: image can\'t be pulled',
  ],
  [
    "its image pull is retried",
    { state: { waiting: { reason: "ImagePullBackOff" } } },
    "",
    'container "NAME" in pod "POD" is waiting to start: trying and failing to pull image',
  ],
  ["it has no state", {}, "", 'container "NAME" in pod "POD" is waiting to start - no logs yet'],
  [
    "it terminated without a container",
    { state: terminatedState() },
    "",
    'container "NAME" in pod "POD" is terminated',
  ],
  [
    "there is no previous container",
    running,
    "previous=true",
    'previous terminated container "NAME" in pod "POD" not found',
  ],
  [
    "the previous container was never created",
    { ...running, lastState: terminatedState() },
    "previous=true",
    'previous terminated container "NAME" in pod "POD" not found',
  ],
  [
    "the runtime no longer has it",
    { ...running, containerID: "containerd://gone" },
    "",
    "unable to retrieve container logs for containerd://gone",
  ],
] as const)
  test(`400 when ${what}`, async (t) => {
    const { url, name, podName } = await setUp(t, status as Partial<ContainerStatus> | undefined);
    const response = await fetch(url(query));
    assert.equal(response.status, 400);
    assert.equal(await response.text(), expected.replace("NAME", name).replace("POD", podName));
  });

// parity: endpoint 10250 GET /containerLogs/{namespace}/{pod}/{container}
for (const [what, status, query] of [
  ["of a running container", running, ""],
  ["of a terminated container", { state: terminatedState(id) }, ""],
  [
    "of the previous container, if the next one did not start",
    { state: terminatedState(), lastState: terminatedState(id) },
    "",
  ],
  [
    "of the previous container, while the next one waits",
    { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: terminatedState(id) },
    "",
  ],
  [
    "of the previous container, on request",
    { state: { running: {} }, containerID: "containerd://new", lastState: terminatedState(id) },
    "previous=1",
  ],
] as const)
  test(`the log ${what}`, async (t) => {
    const { url, log } = await setUp(t, status as Partial<ContainerStatus>);
    log.entry("hello");
    const response = await fetch(url(query));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(await response.text(), "hello\n");
  });

test("pods, containers and options that do not exist are rejected", async (t) => {
  const { base, url, podName, log } = await setUp(t, running);
  for (const [target, status, text] of [
    [`${base}/other/main`, 404, 'pod "other" does not exist'],
    [`${base}/${podName}/other`, 404, `container "other" not found in pod "${podName}"`],
    [url("tailLines=x"), 400, '{"message": "Unable to decode query."}'],
    [url("limitBytes=0"), 422, '{"message": "Invalid request."}'],
  ] as const) {
    const response = await fetch(target);
    assert.deepEqual([response.status, await response.text()], [status, text]);
  }
  rmSync(log.path);
  const response = await fetch(url());
  assert.equal(response.status, 400);
  assert.match(await response.text(), /^failed to try resolving symlinks in path /);
});

test("a follower gets its response immediately, receives new lines, and ends with the container", async (t) => {
  const { url, log } = await setUp(t, running);
  const response = await fetch(url("follow=true"));
  assert.equal(response.status, 200);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  log.entry("one");
  assert.equal((await reader.read()).value, "one\n");
  log.end();
  assert.equal((await reader.read()).done, true);
});

test("a client that disconnects ends its follower", async (t) => {
  const { url, server, listeners } = await setUp(t, running);
  const disconnected = new AbortController();
  await fetch(url("follow=true"), { signal: disconnected.signal });
  await until(() => listeners() === 1);
  disconnected.abort();
  await until(() => server.active() === 0 && listeners() === 0);
  assert.deepEqual(server.faults, []);
});

test("a client that does not read applies back-pressure", async (t) => {
  const { url, log, server } = await setUp(t, running);
  const block = "x".repeat(16_000);
  for (let i = 0; i < 4000; i++) log.entry(block);
  const disconnected = new AbortController();
  const response = await fetch(url(), { signal: disconnected.signal });
  // A second client, which reads, gets everything in the meantime.
  const other = await fetch(url());
  let size = 0;
  for await (const chunk of other.body!) size += chunk.length;
  assert.equal(size, 4000 * 16_001);
  // It would have ended if everything were buffered in memory.
  assert.equal(server.active(), 1);
  disconnected.abort();
  await until(() => server.active() === 0);
  assert.equal(response.status, 200);
});
