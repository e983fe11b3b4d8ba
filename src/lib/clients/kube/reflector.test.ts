import assert from "node:assert/strict";
import { test } from "node:test";
import { httpStatusOf } from "../../base/errors.ts";
import { markReported } from "../../base/failure-log.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";
import { withoutManagedFields } from "./reflector-objects.ts";
import type { KubeRequest, KubeStreamRequest, KubeTransport, Query } from "./transport-interface.ts";
import type { RawObject } from "./watch-stream.ts";

const gone = new KubeApiError({ status: 410, reason: "Expired", message: "too old" });
const down = markReported(new TransportError("connection refused"));

const thing = (name: string, version: number, more: object = {}) => ({
  metadata: { namespace: "ns", name, uid: `uid-${name}`, resourceVersion: String(version), ...more },
});
const listOf = (version: number, items: object[], next?: string) => ({
  metadata: { resourceVersion: String(version), continue: next },
  items,
});
const bookmark = (version: number, end = false) => ({
  type: "BOOKMARK",
  object: {
    metadata: {
      resourceVersion: String(version),
      annotations: end ? { "k8s.io/initial-events-end": "true" } : {},
    },
  },
});

/** A watch that the test writes and ends. */
class FakeStream {
  #chunks: Uint8Array[] = [];
  #end: { error?: Error } | undefined;
  #wake = () => {};

  send(...events: object[]): void {
    this.#chunks.push(Buffer.from(events.map((e) => `${JSON.stringify(e)}\n`).join("")));
    this.#wake();
  }

  end(error?: Error): void {
    this.#end = { error };
    this.#wake();
  }

  async *read(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    signal.addEventListener("abort", () => this.#wake());
    while (!signal.aborted) {
      const chunk = this.#chunks.shift();
      if (chunk) yield chunk;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

type HttpResponse = object | Error;

/** Responds as scripted, in this order, and records the requests. */
class ScriptedTransport implements KubeTransport {
  readonly requests: Query[] = [];
  readonly requestedAt: number[] = [];
  readonly responses: HttpResponse[];
  readonly listeners = new Set<() => void>();
  readonly #clock: FakeClock;

  constructor(clock: FakeClock, responses: HttpResponse[]) {
    this.#clock = clock;
    this.responses = responses;
  }

  async request<T>({ query = {} }: KubeRequest): Promise<T> {
    return this.#next(query) as T;
  }

  async stream({ query = {}, signal }: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> {
    return (this.#next(query) as FakeStream).read(signal);
  }

  onReconnect(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  comeBack(): void {
    for (const listener of this.listeners) listener();
  }

  #next(query: Query): object {
    this.requests.push(Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)));
    this.requestedAt.push(this.#clock.elapsedMs);
    const response = this.responses.shift();
    if (!response) throw down;
    if (response instanceof Error) throw response;
    return response;
  }

  close(): void {}
}

async function started(responses: HttpResponse[], options: Partial<ReflectorOptions<RawObject>> = {}) {
  const clock = new FakeClock();
  const transport = new ScriptedTransport(clock, responses);
  const reported: string[] = [];
  const reflector = new Reflector<RawObject>({
    name: "things",
    path: "/api/v1/things",
    transport,
    clock,
    logger: silentLogger,
    transform: (raw) => {
      if (raw.broken) throw new Error("broken");
      return raw;
    },
    onChange: ({ type, key, object }) => reported.push(`${type} ${key} ${object.metadata?.resourceVersion}`),
    onBatch: () => reported.push("."),
    random: () => 0,
    ...options,
  });
  const stop = new AbortController();
  await reflector.start(stop.signal);
  await clock.advance(0);
  return { clock, transport, reported, reflector, stop };
}

const watchFrom = (version: number) => ({
  watch: true,
  allowWatchBookmarks: true,
  resourceVersion: String(version),
  timeoutSeconds: 300,
});

// parity: gate InOrderInformers=true as Reflector
test("lists from the server's cache, then watches from there, and reports both", async () => {
  const stream = new FakeStream();
  const { clock, transport, reported, reflector } = await started(
    [listOf(5, [thing("a", 3), thing("b", 4)]), stream],
    { fieldSelector: "spec.nodeName=n", labelSelector: "x=y" },
  );
  await reflector.synced;
  stream.send({ type: "MODIFIED", object: thing("a", 6) }, { type: "ADDED", object: thing("c", 7) });
  stream.send({ type: "DELETED", object: thing("b", 8) });
  await clock.advance(0);
  assert.deepEqual(reported, [
    ...["added ns/a 3", "added ns/b 4", "."],
    ...["updated ns/a 6", "added ns/c 7", "."],
    ...["deleted ns/b 8", "."],
  ]);
  const selectors = { fieldSelector: "spec.nodeName=n", labelSelector: "x=y" };
  assert.deepEqual(transport.requests, [
    { resourceVersion: "0", limit: 100, ...selectors },
    { ...watchFrom(5), ...selectors },
  ]);
});

test("a list without objects is synced too, and reported as complete", async () => {
  const { reported, reflector } = await started([listOf(5, []), new FakeStream()]);
  assert.ok(reflector.hasSynced);
  assert.deepEqual(reported, ["."]);
});

test("resumes from the last version of an event or a bookmark", async () => {
  const streams = [new FakeStream(), new FakeStream(), new FakeStream()];
  const { clock, transport } = await started([listOf(5, []), ...streams]);
  streams[0]!.send({ type: "ADDED", object: thing("a", 6) });
  streams[0]!.end();
  await clock.advance(0);
  streams[1]!.send(bookmark(9));
  streams[1]!.end(new TransportError("connection reset"));
  await clock.advance(0);
  assert.deepEqual(transport.requests.slice(1), [watchFrom(5), watchFrom(6), watchFrom(9)]);
});

test("a 410, as a response or as an event, leads to a list that is not older", async () => {
  const stream = new FakeStream();
  const { clock, transport, reported } = await started([
    listOf(5, [thing("a", 3), thing("b", 4)]),
    gone,
    listOf(9, [thing("b", 8)]),
    stream,
    listOf(12, [thing("b", 8), thing("c", 11)]),
    new FakeStream(),
  ]);
  await clock.advance(800);
  stream.send({
    type: "ERROR",
    object: { kind: "Status", code: 410, reason: "Expired", message: "too old" },
  });
  await clock.advance(2000);
  assert.deepEqual(reported.slice(3), ["deleted ns/a 3", "updated ns/b 8", ".", "added ns/c 11", "."]);
  const lists = transport.requests.filter((query) => !query.watch);
  // A server that does not page serves only unpaged lists from its cache.
  assert.deepEqual(lists, [
    { resourceVersion: "0", limit: 100 },
    { resourceVersion: "5" },
    { resourceVersion: "9" },
  ]);
});

test("after a restore of the server, its newest version is accepted, however old", async () => {
  const tooLarge = new KubeApiError({
    status: 504,
    reason: "Timeout",
    message: "Too large resource version: 50",
  });
  const { clock, reported, transport } = await started([
    listOf(50, [thing("a", 40), thing("b", 41)]),
    tooLarge,
    tooLarge,
    listOf(20, [thing("a", 10)]),
    new FakeStream(),
  ]);
  await clock.advance(800);
  assert.deepEqual(reported.slice(3), ["deleted ns/b 41", "updated ns/a 10", "."]);
  assert.deepEqual(transport.requests.at(-2), { limit: 100 });
  assert.deepEqual(transport.requests.at(-1), watchFrom(20));
});

test("a list is paged; a server that pages gets paged requests again", async () => {
  const { clock, transport, reported } = await started(
    [
      listOf(5, [thing("a", 1), thing("b", 2)], "next"),
      listOf(5, [thing("c", 3)]),
      gone,
      listOf(7, []),
      new FakeStream(),
    ],
    { pageSize: 2 },
  );
  await clock.advance(800);
  assert.deepEqual(reported.slice(0, 4), ["added ns/a 1", "added ns/b 2", "added ns/c 3", "."]);
  assert.deepEqual(transport.requests.slice(0, 4), [
    { resourceVersion: "0", limit: 2 },
    { continue: "next", limit: 2 },
    watchFrom(5),
    { resourceVersion: "5", limit: 2 },
  ]);
});

test("pages that expire are discarded for a list in one response", async () => {
  const { transport, reported } = await started(
    [listOf(5, [thing("a", 1)], "next"), gone, listOf(9, [thing("b", 2)]), new FakeStream()],
    { pageSize: 1 },
  );
  assert.deepEqual(reported, ["added ns/b 2", "."]);
  assert.deepEqual(transport.requests.slice(2), [{ resourceVersion: "0" }, watchFrom(9)]);
});

test("a list whose continue tokens repeat is a failure, and not read forever", async () => {
  const { clock, transport, reported } = await started([
    listOf(5, [thing("a", 1)], "one"),
    listOf(5, [thing("b", 2)], "two"),
    listOf(5, [thing("c", 3)], "one"),
    listOf(5, [thing("d", 4)], "two"),
  ]);
  assert.equal(transport.requests.length, 3);
  assert.deepEqual(reported, []);
  transport.responses.splice(0, 1, listOf(5, [thing("a", 1)]), new FakeStream());
  await clock.advance(1600);
  assert.deepEqual(reported, ["added ns/a 1", "."]);
});

test("a continue token that is not a text is a failure", async () => {
  const { transport, reported } = await started([listOf(5, [], { a: 1 } as never), listOf(5, [])]);
  assert.equal(transport.requests.length, 1);
  assert.deepEqual(reported, []);
});

test("an object that is nested too deep does not end the watch of the others", async () => {
  const deep = (version: number) => {
    const text = `${'{"a":'.repeat(100_000)}${version}${"}".repeat(100_000)}`;
    return { ...thing("deep", version), spec: JSON.parse(text) };
  };
  const stream = new FakeStream();
  const { clock, reported, reflector } = await started([
    listOf(5, [deep(1), deep(2), thing("a", 3)]),
    stream,
  ]);
  stream.send({ type: "ADDED", object: thing("b", 6) });
  await clock.advance(0);
  assert.deepEqual(reported.slice(-2), ["added ns/b 6", "."]);
  assert.equal(reflector.store.size, 3);
});

test("an object that cannot be decoded affects only itself, in a list and in a watch", async () => {
  const stream = new FakeStream();
  let unreadable = 0;
  const { clock, reported, reflector, transport } = await started(
    [
      listOf(5, [{ ...thing("a", 1), broken: true }, thing("b", 2), { metadata: null }]),
      stream,
      new FakeStream(),
    ],
    { metrics: { unreadable: () => unreadable++ } },
  );
  stream.send(
    { type: "MODIFIED", object: { ...thing("b", 6), broken: true } },
    { type: "ADDED", object: thing("c", 7) },
    { type: "ADDED", object: {} },
    { type: "DELETED", object: { ...thing("c", 8), broken: true } },
  );
  stream.end();
  await clock.advance(0);
  assert.deepEqual(reported, ["added ns/b 2", ".", "added ns/c 7", "deleted ns/c 7", "."]);
  assert.deepEqual(reflector.store.list(), [thing("b", 2)]);
  assert.deepEqual(transport.requests.at(-1), watchFrom(8));
  assert.equal(unreadable, 5);
});

test("unchanged parts of an update are the same objects as before", async () => {
  const stream = new FakeStream();
  const a = (version: number, more = {}) => ({
    ...thing("a", version),
    spec: { containers: [{ name: "c" }] },
    ...more,
  });
  const b = { ...thing("b", 2), spec: { containers: [{ name: "other" }] } };
  const { clock, reflector } = await started([listOf(5, [a(1), b]), stream]);
  const before = reflector.store.get("ns", "a");
  stream.send({ type: "MODIFIED", object: a(6, { status: {} }) });
  await clock.advance(0);
  const after = reflector.store.get("ns", "a");
  assert.deepEqual([after, before], [a(6, { status: {} }), a(1)]);
  assert.equal(after?.spec, before?.spec);
});

test("objects of one template share equal parts", async () => {
  const pod = (name: string) => ({ ...thing(name, 1), spec: { tolerations: [{ key: "k" }] } });
  const { reflector } = await started([listOf(5, [pod("a"), pod("b")]), new FakeStream()]);
  const { store } = reflector;
  assert.deepEqual(store.get("ns", "b"), pod("b"));
  assert.equal(store.get("ns", "a")?.spec, store.get("ns", "b")?.spec);
});

test("a consumer that throws does not miss the next change", async () => {
  const stream = new FakeStream();
  let calls = 0;
  const { clock, reflector } = await started([listOf(5, [thing("a", 1), thing("b", 2)]), stream], {
    onChange: () => {
      calls++;
      throw new Error("no");
    },
  });
  stream.send({ type: "ADDED", object: thing("c", 6) });
  await clock.advance(0);
  assert.equal(calls, 3);
  assert.equal(reflector.store.size, 3);
});

test("doubles its back-off up to 30 s, and a working watch resets it", async () => {
  const stream = new FakeStream();
  const failures = Array.from({ length: 8 }, () => down);
  const { clock, transport } = await started([...failures, listOf(5, []), stream, down, new FakeStream()]);
  await clock.advance(180_000);
  const waits = () => transport.requestedAt.slice(1).map((at, i) => at - transport.requestedAt[i]!);
  assert.deepEqual(waits(), [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 0]);
  stream.send(bookmark(6));
  stream.end(new TransportError("connection reset"));
  await clock.advance(800);
  assert.deepEqual(waits().slice(-1), [800]);
});

test("a server that is reachable again gets a request immediately, and the back-off is reset", async () => {
  const failures = Array.from({ length: 6 }, () => down);
  const { clock, transport, reflector, stop } = await started([...failures, down, listOf(5, [])]);
  await clock.advance(25_600);
  const before = transport.requests.length;
  assert.equal(before, 6);
  transport.comeBack();
  await clock.advance(0);
  assert.equal(transport.requests.length, before + 1);
  assert.equal(reflector.hasSynced, false);
  await clock.advance(800);
  assert.ok(reflector.hasSynced);
  stop.abort();
  await clock.advance(0);
  assert.equal(transport.listeners.size, 0, "a listener is left");
});

test("a server that responds with errors gets no earlier request when a connection is established", async () => {
  const busy = new KubeApiError({ status: 503, reason: "ServiceUnavailable", message: "not yet" });
  const { clock, transport } = await started([busy, listOf(5, [])]);
  transport.comeBack();
  await clock.advance(799);
  assert.equal(transport.requests.length, 1);
  await clock.advance(1);
  assert.ok(transport.requests.length > 1);
});

test("waits have a jitter of up to their length", async () => {
  const { clock, transport } = await started([down, listOf(5, []), new FakeStream()], { random: () => 0.5 });
  await clock.advance(1199);
  assert.equal(transport.requests.length, 1);
  await clock.advance(1);
  assert.equal(transport.requests.length, 3);
  assert.equal(transport.requests[2]!.timeoutSeconds, 450);
});

test("honors Retry-After, within limits", async () => {
  const busy = (retryAfterMs: number) =>
    new KubeApiError({ status: 429, reason: "TooManyRequests", message: "busy", retryAfterMs });
  const { clock, transport } = await started([
    busy(10_000),
    busy(3_600_000),
    listOf(5, []),
    new FakeStream(),
  ]);
  await clock.advance(70_000);
  const start = transport.requestedAt[0]!;
  assert.deepEqual(
    transport.requestedAt.map((at) => at - start),
    [0, 10_000, 70_000, 70_000],
  );
});

test("a watch that ends as soon as it starts is not reopened in a tight loop", async () => {
  const ended = () => {
    const stream = new FakeStream();
    stream.end();
    return stream;
  };
  const { clock, transport } = await started([listOf(5, []), ended(), ended(), ended(), new FakeStream()]);
  await clock.advance(10_000);
  const start = transport.requestedAt[0]!;
  assert.deepEqual(
    transport.requestedAt.map((at) => at - start),
    [0, 0, 800, 2400, 5600],
  );
});

test("a watch without a byte for 3 minutes is replaced, an active one is not", async () => {
  const [silent, active] = [new FakeStream(), new FakeStream()];
  const { clock, transport } = await started([listOf(5, []), silent, active, new FakeStream()]);
  await clock.advance(120_000);
  silent.send(bookmark(6));
  await clock.advance(179_999);
  assert.equal(transport.requests.length, 2);
  await clock.advance(1);
  assert.deepEqual(transport.requests.slice(2), [watchFrom(6)]);
});

test("a watch that the server does not end in time is replaced", async () => {
  const stream = new FakeStream();
  const { clock, transport } = await started([listOf(5, []), stream, new FakeStream()]);
  for (let version = 6; version < 17; version++) {
    stream.send(bookmark(version));
    await clock.advance(29_999);
  }
  assert.equal(transport.requests.length, 2);
  await clock.advance(100);
  assert.deepEqual(transport.requests.slice(2), [watchFrom(16)]);
});

test("is unhealthy after 5 minutes without a watch, and healthy again with one", async () => {
  const { clock, reflector, transport } = await started([]);
  await clock.advance(299_999);
  assert.deepEqual(reflector.health(), { ok: true });
  await clock.advance(1);
  assert.deepEqual(reflector.health(), {
    ok: false,
    reason: "no watch of things for 300s: connection refused",
  });
  transport.responses.push(listOf(5, []), new FakeStream());
  await clock.advance(30_000);
  assert.deepEqual(reflector.health(), { ok: true });
});

test("a streamed list is reported as one, when it is complete, and continues as a watch", async () => {
  const stream = new FakeStream();
  const { clock, transport, reported } = await started([stream, new FakeStream()], { streamList: true });
  stream.send(
    { type: "ADDED", object: thing("b", 4) },
    { type: "ADDED", object: thing("a", 3) },
    { type: "ADDED", object: thing("c", 5) },
    { type: "DELETED", object: thing("c", 6) },
    bookmark(5),
  );
  await clock.advance(0);
  assert.deepEqual(reported, []);
  stream.send(bookmark(7, true), { type: "MODIFIED", object: thing("a", 8) });
  await clock.advance(0);
  assert.deepEqual(reported, ["added ns/b 4", "added ns/a 3", ".", "updated ns/a 8", "."]);
  // The time limit is shorter than a watch's limit only until the list is complete.
  await clock.advance(100_000);
  assert.equal(transport.requests.length, 1);
  stream.end();
  await clock.advance(0);
  const { resourceVersion: _, ...query } = watchFrom(0);
  assert.deepEqual(transport.requests, [
    { ...query, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" },
    watchFrom(8),
  ]);
});

test("a server that rejects a streamed list, or treats it as a watch, gets list requests from then on", async () => {
  const rejection = new KubeApiError({
    status: 422,
    reason: "Invalid",
    message: "sendInitialEvents: Forbidden",
  });
  for (const [response, afterMs] of [
    [rejection, 0],
    [new FakeStream(), 60_000],
  ] as const) {
    const { clock, transport, reported } = await started(
      [response, listOf(5, [thing("a", 1)]), gone, listOf(6, []), new FakeStream()],
      { streamList: true },
    );
    await clock.advance(afterMs);
    assert.deepEqual(reported, ["added ns/a 1", "."]);
    await clock.advance(800);
    assert.deepEqual(reported.slice(2), ["deleted ns/a 1", "."]);
    assert.equal(transport.requests.filter((query) => query.sendInitialEvents).length, 1);
  }
});

test("a streamed list that is truncated is started again, and nothing of it is reported", async () => {
  const [truncated, whole] = [new FakeStream(), new FakeStream()];
  const { clock, reported } = await started([truncated, whole], { streamList: true });
  truncated.send({ type: "ADDED", object: thing("a", 3) });
  truncated.end();
  whole.send({ type: "ADDED", object: thing("b", 4) }, bookmark(5, true));
  await clock.advance(800);
  assert.deepEqual(reported, ["added ns/b 4", "."]);
});

test("a long stream yields to other work", async () => {
  const padding = "x".repeat(200_000);
  const total = 12;
  const line = (i: number) =>
    Buffer.from(`${JSON.stringify({ type: "ADDED", object: { ...thing(`o${i}`, 6 + i), padding } })}\n`);
  const chunks = Array.from({ length: total }, (_, i) => line(i));
  const reported: unknown[] = [];
  const reportedAtOthersTurn = Promise.withResolvers<number>();
  const { clock, transport, reflector } = await started([listOf(5, [])], {
    onChange: (change) => {
      if (reported.push(change) === 1) setImmediate(() => reportedAtOthersTurn.resolve(reported.length));
    },
  });
  transport.responses.push({ read: () => ReadableStream.from(chunks) });
  await clock.advance(800);
  const early = await reportedAtOthersTurn.promise;
  assert.ok(early < total, `${early} of ${total} were reported without a break`);
  while (reported.length < total) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(reflector.store.size, total);
});

test("ends when it is stopped in any state, and leaves no timer", async () => {
  for (const responses of [[], [listOf(5, []), new FakeStream()], [listOf(5, []), down]]) {
    const { clock, reflector, stop } = await started(responses);
    stop.abort();
    await reflector.done;
    assert.equal(clock.pending, 0);
  }
});

test("counts lists, watches and failures", async () => {
  const counted: string[] = [];
  const stream = new FakeStream();
  const { clock } = await started([down, listOf(5, [thing("a", 1)]), stream], {
    metrics: {
      listed: (ms, objects) => counted.push(`listed ${objects} in ${ms}`),
      watchEnded: (ms, events) => counted.push(`watched ${events} in ${ms}`),
      failed: (step) => counted.push(`${step} failed`),
    },
  });
  await clock.advance(800);
  stream.send(bookmark(6), bookmark(7));
  await clock.advance(5000);
  stream.end();
  await clock.advance(0);
  assert.deepEqual(counted, ["list failed", "listed 1 in 0", "watched 2 in 5000", "watch failed"]);
});

test("managed fields are omitted, and nothing else", () => {
  const raw = { kind: "Pod", metadata: { name: "a", managedFields: [{}], labels: { x: "y" } }, spec: {} };
  assert.deepEqual(withoutManagedFields(raw), {
    kind: "Pod",
    metadata: { name: "a", labels: { x: "y" } },
    spec: {},
  });
  const lean = { metadata: { name: "a" } };
  assert.equal(withoutManagedFields(lean), lean);
});

test("a server that was unreachable and then rejects requests is reported", async () => {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, fields) => warnings.push(String(fields?.err)) };
  const rejected = (status: number) =>
    new KubeApiError({ status, reason: "", message: `rejected: ${status}` });
  const { clock } = await started([down, rejected(403), rejected(403), rejected(500)], { logger });
  for (let i = 0; i < 4; i++) await clock.advance(40_000);
  assert.deepEqual(warnings, ["rejected: 403", "rejected: 500"]);
});

test("a failure that is expected is not reported, others are", async () => {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, fields) => warnings.push(String(fields?.err)) };
  const rejected = (status: number) =>
    new KubeApiError({ status, reason: "", message: `rejected: ${status}` });
  const isExpected = (error: unknown) => httpStatusOf(error) === 403;
  const { clock } = await started([rejected(403), rejected(500), rejected(403)], { logger, isExpected });
  for (let i = 0; i < 4; i++) await clock.advance(40_000);
  assert.deepEqual(warnings, ["rejected: 500"]);
});
