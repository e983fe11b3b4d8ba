import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { epochMs, wallTime } from "../../../lib/base/time.ts";
import { KubeApiError } from "../../../lib/clients/kube/api-error.ts";
import type { KubeRequest } from "../../../lib/clients/kube/transport-interface.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { type ApiEvent, eventName } from "./event-object.ts";
import { type EventDrop, EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";

type Response = "ok" | "unreachable" | number | Error;

async function setUp(t: { after(fn: () => void): void }, more: Partial<EventRecorderOptions> = {}) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const calls: KubeRequest[] = [];
  const drops: EventDrop[] = [];
  const server = { response: (_call: KubeRequest): Response => "ok" };
  const recorder = new EventRecorder({
    api: {
      request: async <T>(call: KubeRequest): Promise<T> => {
        calls.push(call);
        const response = server.response(call);
        if (response === "unreachable") throw new Error("connection refused");
        if (response instanceof Error) throw response;
        if (response !== "ok") throw Object.assign(new Error(`response ${response}`), { status: response });
        return {} as T;
      },
    },
    clock,
    logger: silentLogger,
    nodeName: "node-1",
    perSecond: 50,
    burst: 100,
    random: () => 0.5,
    collectMs: 0,
    onDrop: (why) => drops.push(why),
    ...more,
  });
  await recorder.start(stop.signal);
  t.after(() => stop.abort());
  const bodies = () => calls.map((c) => c.body as ApiEvent);
  return { clock, stop, calls, bodies, drops, server, recorder };
}

const pod: Pod = fakePod({
  metadata: { resourceVersion: "227" },
  spec: { containers: [{ name: "c" }], initContainers: [{ name: "i", image: "x" }] },
});

test("an event about a container equals the reference kubelet's", async (t) => {
  const { clock, calls, recorder } = await setUp(t);
  recorder.normal(pod, "Created", "Container created", "c");
  await clock.advance(0);
  const name = `web.${(BigInt(epochMs(clock.wall())) * 1_000_000n).toString(16)}`;
  assert.equal(calls[0]?.path, "/api/v1/namespaces/default/events");
  assert.deepEqual(calls[0]?.body, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: {
      kind: "Pod",
      namespace: "default",
      name: "web",
      uid: "11111111-2222-3333-4444-555555555555",
      apiVersion: "v1",
      resourceVersion: "227",
      fieldPath: "spec.containers{c}",
    },
    reason: "Created",
    message: "Container created",
    source: { component: "kubelet", host: "node-1" },
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
    type: "Normal",
    reportingComponent: "kubelet",
    reportingInstance: "node-1",
  });
});

test("an event about the node has no namespace in its reference and is in namespace default", async (t) => {
  const { clock, bodies, recorder } = await setUp(t);
  recorder.node.normal("Starting", "Starting kubelet.");
  await clock.advance(0);
  const [event] = bodies();
  assert.deepEqual(event?.involvedObject, { kind: "Node", name: "node-1", apiVersion: "v1" });
  assert.equal(event?.metadata.namespace, "default");
});

test("uidFor overrides the UID of the involved object", async (t) => {
  const { clock, bodies, recorder } = await setUp(t, { uidFor: () => "of-the-mirror" });
  recorder.warning(pod, "Failed", "m", "i");
  await clock.advance(0);
  assert.equal(bodies()[0]?.involvedObject.uid, "of-the-mirror");
  assert.equal(bodies()[0]?.involvedObject.fieldPath, "spec.initContainers{i}");
});

test("a repeated event patches count, time and message; if it has expired, it is recreated", async (t) => {
  const { clock, calls, bodies, server, recorder } = await setUp(t);
  recorder.normal(pod, "Pulled", "m", "c");
  await clock.advance(5000);
  recorder.normal(pod, "Pulled", "m", "c");
  await clock.advance(0);
  assert.equal(calls[1]?.method, "PATCH");
  assert.ok(calls[1]?.path.startsWith("/api/v1/namespaces/default/events/web."));
  assert.deepEqual(calls[1]?.body, { count: 2, lastTimestamp: "2026-01-01T00:00:05Z", message: "m" });
  server.response = (call) => (call.method === "PATCH" ? 404 : "ok");
  recorder.normal(pod, "Pulled", "m", "c");
  await clock.advance(0);
  assert.deepEqual(
    calls.map((c) => c.method),
    ["POST", "PATCH", "PATCH", "POST"],
  );
  assert.equal(bodies()[3]?.count, 3);
});

test("the events of one start are sent together, 100 ms after the first", async (t) => {
  const { clock, bodies, recorder } = await setUp(t, { collectMs: undefined });
  recorder.normal(pod, "Pulled", "pulled", "c");
  await clock.advance(60);
  recorder.normal(pod, "Created", "created", "c");
  await clock.advance(39);
  assert.deepEqual(bodies(), []);
  await clock.advance(1);
  assert.deepEqual(
    bodies().map(({ reason }) => reason),
    ["Pulled", "Created"],
  );
});

test("a warning is sent at once, with the normal events before it", async (t) => {
  const { clock, bodies, recorder } = await setUp(t, { collectMs: undefined });
  const reasons = () => bodies().map(({ reason }) => reason);
  recorder.warning(pod, "Preempting", "preempted");
  await clock.advance(0);
  assert.deepEqual(reasons(), ["Preempting"]);
  recorder.normal(pod, "Pulled", "pulled", "c");
  await clock.advance(5);
  recorder.warning(pod, "Failed", "failed", "c");
  await clock.advance(0);
  assert.deepEqual(reasons(), ["Preempting", "Pulled", "Failed"]);
});

test("an agent that stops does not wait for more events", async (t) => {
  const { clock, stop, recorder } = await setUp(t, { collectMs: undefined });
  recorder.normal(pod, "Pulled", "pulled", "c");
  await clock.advance(1);
  stop.abort();
  await recorder.done;
});

test("two events within a millisecond have different names", async (t) => {
  const { clock, bodies, recorder } = await setUp(t);
  recorder.normal(pod, "Created", "m", "c");
  recorder.normal(pod, "Started", "m", "c");
  await clock.advance(0);
  assert.notEqual(bodies()[0]?.metadata.name, bodies()[1]?.metadata.name);
});

test("while the API server is unreachable, repeated events are counted, and sent as one request afterwards", async (t) => {
  const { clock, calls, bodies, server, recorder } = await setUp(t);
  server.response = () => "unreachable";
  recorder.normal(pod, "Created", "m", "c");
  await clock.advance(0);
  for (let i = 0; i < 3; i++) recorder.warning(pod, "BackOff", "m", "c");
  await clock.advance(60_000);
  server.response = () => "ok";
  calls.length = 0;
  await clock.advance(10_000);
  assert.deepEqual(
    bodies().map((e) => [e.reason, e.count]),
    [
      ["Created", 1],
      ["BackOff", 3],
    ],
  );
});

test("an event that is repeated between attempts is sent with the new count", async (t) => {
  const { clock, calls, bodies, server, recorder } = await setUp(t);
  server.response = () => (calls.length === 1 ? "unreachable" : "ok");
  recorder.warning(pod, "BackOff", "m", "c");
  await clock.advance(1000);
  recorder.warning(pod, "BackOff", "m", "c");
  await clock.advance(20_000);
  assert.deepEqual(
    bodies().map((e) => e.count),
    [1, 2],
  );
});

test("an event is tried 12 times, 10 s apart, then the next is sent", async (t) => {
  const { clock, calls, drops, server, recorder } = await setUp(t);
  server.response = (call) => ((call.body as ApiEvent).reason === "Lost" ? "unreachable" : "ok");
  recorder.normal(pod, "Lost", "m");
  recorder.normal(pod, "Next", "m");
  await clock.advance(5000 + 10 * 10_000 - 1);
  assert.equal(calls.length, 11);
  await clock.advance(1);
  assert.equal(calls.length, 13);
  assert.deepEqual(drops, ["unsent"]);
});

const rejections: [number, EventDrop[], number][] = [
  [403, ["rejected"], 1],
  [409, [], 1],
  [500, [], 2],
  [429, [], 2],
];
for (const [status, dropped, requests] of rejections)
  test(`after a response of ${status} there are ${requests} requests and ${dropped.length} drops`, async (t) => {
    const { clock, calls, drops, server, recorder } = await setUp(t);
    server.response = () => (calls.length === 1 ? status : "ok");
    recorder.normal(pod, "Created", "m");
    await clock.advance(30_000);
    assert.deepEqual([drops, calls.length], [dropped, requests]);
  });

const terminating = "unable to create new content in namespace n because it is being terminated";
for (const [status, message, cause, warnings] of [
  [403, `events "e" is forbidden: ${terminating}`, "NamespaceTerminating", []],
  [404, 'namespaces "n" not found', undefined, []],
  [403, 'events is forbidden: User "u" cannot create', undefined, ["API server rejected event"]],
] as const)
  test(`"${message}" is ${warnings.length > 0 ? "a warning" : "not logged at -v 2"}`, async (t) => {
    const lines: string[] = [];
    const logger = {
      ...silentLogger,
      warn: (line: string) => void lines.push(line),
      debug: (level: number, line: string) => void (level <= 2 && /event/.test(line) && lines.push(line)),
    };
    const { clock, drops, server, recorder } = await setUp(t, { logger });
    const details = { causes: cause ? [{ reason: cause }] : [] };
    server.response = () => new KubeApiError({ status, reason: "R", message, details });
    recorder.normal(pod, "Killing", "m");
    await clock.advance(1000);
    assert.deepEqual(lines, warnings);
    assert.deepEqual(drops, ["rejected"]);
  });

test("at most 1,000 events are queued, and those about one object are limited", async (t) => {
  const { clock, calls, drops, server, recorder } = await setUp(t, { perSecond: 0 });
  server.response = () => "unreachable";
  for (let i = 0; i < 1005; i++) {
    const { metadata } = pod;
    recorder.normal({ ...pod, metadata: { ...metadata, name: `p${i}` } }, "Created", "m");
  }
  assert.deepEqual(drops, ["queue", "queue", "queue", "queue", "queue"]);
  drops.length = 0;
  for (let i = 0; i < 30; i++) recorder.normal(pod, "Created", `m${i % 2}`);
  assert.equal(drops.filter((d) => d === "spam").length, 5);
  assert.equal(calls.length, 0, "the caller does not send");
  await clock.advance(0);
  assert.equal(calls.length, 1, "one at a time");
});

test("no more events per second than configured are sent, after a burst", async (t) => {
  const { clock, calls, recorder } = await setUp(t, { perSecond: 2, burst: 3 });
  for (let i = 0; i < 8; i++) recorder.normal(pod, `Reason${i}`, "m");
  await clock.advance(0);
  assert.equal(calls.length, 3);
  await clock.advance(1000);
  assert.equal(calls.length, 5);
});

test("an abort stops the sender, idle or not", async (t) => {
  for (const isBusy of [false, true]) {
    const { clock, stop, server, recorder } = await setUp(t);
    server.response = () => "unreachable";
    if (isBusy) recorder.normal(pod, "Created", "m");
    await clock.advance(0);
    stop.abort();
    await recorder.done;
    assert.equal(clock.pending, 0);
  }
});

test("an invalid event name is replaced", () => {
  assert.equal(eventName("web", 255n), "web.ff");
  assert.match(eventName("Node_1", 255n), /^[0-9a-f-]{36}$/);
});

test("a clock that is set back blocks no events, and their timestamps follow it", async (t) => {
  const { clock, bodies, drops, recorder } = await setUp(t);
  const record = async () => {
    recorder.normal(pod, "BackOff", "m", "c");
    await clock.advance(1000);
  };
  for (let i = 0; i < 26; i++) await record();
  assert.deepEqual(drops, ["spam"]);
  clock.jump(-3_600_000);
  await clock.advance(300_000);
  await record();
  assert.deepEqual(drops, ["spam"], "one more each five minutes");
  assert.ok(wallTime(bodies().at(-1)!.lastTimestamp) < wallTime("2026-01-01T00:00:00Z"));
});

test("a warning, and that an image is pulled, are sent after the status of the pod is written", async (t) => {
  const written: string[] = [];
  let finishWrite = () => {};
  const flush = (uid: string) => {
    written.push(uid);
    return new Promise<void>((resolve) => {
      finishWrite = resolve;
    });
  };
  const { clock, bodies, recorder } = await setUp(t);
  recorder.writeStatusesWith({ flush });
  const reasons = () => bodies().map(({ reason }) => reason);
  recorder.normal(pod, "Created", "Container created", "c");
  await clock.advance(0);
  assert.deepEqual([written, reasons()], [[], ["Created"]]);
  recorder.warning(pod, "FailedMount", "MountVolume.SetUp failed");
  await clock.advance(0);
  assert.deepEqual([written, reasons()], [[pod.metadata.uid], ["Created"]]);
  finishWrite();
  await clock.advance(0);
  assert.deepEqual(reasons(), ["Created", "FailedMount"]);
  recorder.normal(pod, "Pulling", "Pulling image", "c");
  recorder.node.warning("Rebooted", "Node node-1 has been rebooted");
  await clock.advance(0);
  assert.equal(written.length, 2);
  finishWrite();
  await clock.advance(0);
  assert.deepEqual(reasons(), ["Created", "FailedMount", "Pulling", "Rebooted"]);
  assert.equal(written.length, 2, "an event about the node waits for no pod");
});

test("a message is shortened, however long the fields of the pod are that it contains", async (t) => {
  const { clock, bodies, recorder } = await setUp(t);
  recorder.warning(pod, "InspectFailed", `Failed to apply default image tag "${"x".repeat(700_000)}"`, "c");
  recorder.node.warning("Rebooted", "y".repeat(700_000));
  await clock.advance(0);
  assert.deepEqual(
    bodies().map(({ message }) => message.length),
    [32 * 1024, 32 * 1024],
  );
  assert.match(bodies()[0]!.message, /^Failed to apply default image tag "x+\.\.\.$/);
});
