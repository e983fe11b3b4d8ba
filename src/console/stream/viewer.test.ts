import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import { FakeConsoleNode, fakeConsolePod } from "../fake-console-node.ts";
import { Feed } from "./feed.ts";
import { streamTo } from "./viewer.ts";

/** A response whose client may stop reading. */
class FakeResponse extends EventEmitter {
  readonly chunks: (string | Buffer)[] = [];
  reads = true;
  destroyed = false;
  writableEnded = false;
  writeHead() {}
  write(chunk: string | Buffer): boolean {
    this.chunks.push(chunk);
    return this.reads;
  }
  get written(): string[] {
    return this.chunks.map(String);
  }
  end() {
    this.writableEnded = true;
  }
  kinds(): string[] {
    return this.written.flatMap((text) => /^event: (\w+)/.exec(text)?.[1] ?? []);
  }
}

const uid = "a" as PodUid;

function setUp(o: { isGone?: boolean } = {}) {
  const clock = new FakeClock();
  const node = new FakeConsoleNode().add(fakeConsolePod({ metadata: { uid } }));
  const feed = new Feed({ node, clock, logger: silentLogger });
  return { clock, node, feed, uid, ...open(feed, clock, o) };
}

function open(feed: Feed, clock: FakeClock, o: { isGone?: boolean } = {}) {
  const response = new FakeResponse();
  const closed = new AbortController();
  if (o.isGone) closed.abort();
  const session = new AbortController();
  const stopping = new AbortController();
  const state: { mayRead: boolean | Error } = { mayRead: true };
  const done = streamTo({
    feed,
    clock,
    lastId: undefined,
    sessionEnded: session.signal,
    stopping: stopping.signal,
    exchange: {
      request: {} as IncomingMessage,
      response: response as unknown as ServerResponse,
      signal: closed.signal,
    },
    mayRead: async () => {
      if (state.mayRead instanceof Error) throw state.mayRead;
      return state.mayRead;
    },
  });
  return { response, closed, session, stopping, state, done };
}

test("a page gets at most five messages per second, however many changes there are", async () => {
  const { clock, feed, uid, response, node } = setUp();
  await settle();
  const before = node.counts.pod;
  for (let i = 0; i < 500; i++) {
    feed.podChanged(uid);
    await clock.advance(10);
  }
  const count = response.kinds().length;
  assert.ok(count >= 20 && count <= 28, String(count));
  assert.ok(node.counts.pod - before <= 28, String(node.counts.pod));
});

test("pages get the same message at the same time, computed and serialized once", async () => {
  const { clock, feed, response } = setUp();
  await clock.advance(130);
  const pages = [response];
  for (let i = 0; i < 4; i++) {
    pages.push(open(feed, clock).response);
    await clock.advance(30);
  }
  await clock.advance(1000);
  for (const page of pages) page.chunks.length = 0;
  for (let i = 0; i < 100; i++) {
    feed.podChanged(uid);
    await clock.advance(10);
  }
  assert.ok(response.chunks.length >= 4, String(response.chunks.length));
  for (const page of pages) {
    assert.equal(page.chunks.length, response.chunks.length);
    for (const [i, chunk] of page.chunks.entries()) assert.equal(chunk, response.chunks[i]);
  }
});

test("a page gets a change within 20 ms if there was none before", async () => {
  const { clock, feed, response } = setUp();
  await clock.advance(1000);
  const before = response.chunks.length;
  feed.podChanged(uid);
  await clock.advance(20);
  assert.equal(response.chunks.length, before + 1);
});

test("a page that does not read has one message in its buffer, and then gets the newest state", async () => {
  const { clock, feed, uid, response, node } = setUp();
  response.reads = false;
  feed.podChanged(uid);
  await clock.advance(300);
  const blockedAt = response.written.length;
  const computed = node.counts.pod;
  for (let i = 0; i < 100; i++) {
    feed.podChanged(uid);
    await clock.advance(1000);
  }
  assert.equal(response.written.length, blockedAt);
  assert.equal(node.counts.pod, computed);
  response.reads = true;
  response.emit("drain");
  await clock.advance(300);
  assert.equal(response.written.length, blockedAt + 1);
});

test("a stream ends with its session, and when the permission is gone or cannot be checked", async () => {
  const first = setUp();
  await settle();
  first.session.abort();
  await first.done;
  assert.equal(first.response.kinds().at(-1), "bye");
  assert.ok(first.response.writableEnded);

  for (const mayRead of [false, new Error("the API server does not respond")]) {
    const second = setUp();
    await settle();
    second.state.mayRead = mayRead;
    await second.clock.advance(16_000);
    await second.done;
    assert.equal(second.response.kinds().at(-1), "bye");
  }
});

test("a page that disconnects leaves nothing behind", async () => {
  const { clock, feed, closed, done, node } = setUp();
  await settle();
  closed.abort();
  await done;
  assert.equal(feed.viewers, 0);
  await clock.advance(31_000);
  const { usage } = node.counts;
  await clock.advance(600_000);
  assert.equal(node.counts.usage, usage);
  assert.equal(clock.pending, 0);
});

test("a page that disconnected before its stream began leaves nothing behind", async () => {
  const { feed, done } = setUp({ isGone: true });
  await done;
  assert.equal(feed.viewers, 0);
});

test("a state that cannot be computed ends the stream, and not the agent", async () => {
  const { clock, feed, node, uid, done } = setUp();
  const failed = assert.rejects(done, /no such pod/);
  node.pod = () => {
    throw new Error("no such pod");
  };
  feed.podChanged(uid);
  await clock.advance(1000);
  await failed;
  assert.equal(feed.viewers, 0);
});

test("a stream ends with the kubelet, and names the reason", async () => {
  const { stopping, response, done } = setUp();
  await settle();
  stopping.abort();
  await done;
  assert.match(response.written.at(-1) ?? "", /"reason":"stopping"/);
});
