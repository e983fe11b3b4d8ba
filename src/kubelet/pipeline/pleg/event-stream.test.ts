import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Fields, type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import {
  type ContainerEventResponse,
  ContainerEventResponseSchema,
} from "../../../lib/gen/runtime/v1/api_pb.js";
import { labelPodUid } from "../../../lib/model/labels.ts";
import { EventStream } from "./event-stream.ts";

/** One stream that the runtime has opened. */
class Stream {
  #waiting: ContainerEventResponse[] = [];
  #news = Promise.withResolvers<void>();
  #end: { error?: Error } | undefined;

  send(event: ContainerEventResponse) {
    this.#waiting.push(event);
    this.#news.resolve();
    return settle();
  }

  end(error?: Error) {
    this.#end = { error };
    this.#news.resolve();
    return settle();
  }

  async *events(signal: AbortSignal) {
    signal.addEventListener("abort", () => this.end());
    for (;;) {
      const event = this.#waiting.shift();
      if (event) {
        yield event;
        continue;
      }
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return;
      await this.#news.promise;
      this.#news = Promise.withResolvers();
    }
  }
}

async function setUp(t: TestContext, refuse?: Error) {
  const clock = new FakeClock();
  const streams: Stream[] = [];
  const said: string[] = [];
  const logs: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (message: string, _fields?: Fields) => logs.push(message),
  };
  const runtime = { refuse };
  const stop = new AbortController();
  const stream = new EventStream({
    runtime: {
      containerEvents: (signal) => {
        const opened = new Stream();
        streams.push(opened);
        if (runtime.refuse) void opened.end(runtime.refuse);
        return opened.events(signal);
      },
    },
    clock,
    logger,
    onHint: (uid) => said.push(`look at ${uid}`),
    onGap: () => said.push("look at all"),
  });
  await stream.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await stream.done;
  });
  await settle();
  return { clock, streams, said, logs, stream, runtime, stop };
}

const event = (labels: Record<string, string>, id = "") =>
  create(ContainerEventResponseSchema, { podSandboxStatus: { labels, id } });

test("each event is a hint to look at its pod; one of nobody's pod, to look at all", async (t) => {
  const { said, streams } = await setUp(t);
  await streams[0]!.send(event({ [labelPodUid]: "u1" }));
  await streams[0]!.send(event({}, "s2"));
  await streams[0]!.send(create(ContainerEventResponseSchema, {}));
  assert.deepEqual(said, ["look at u1", "look at s2", "look at all"]);
});

test("a stream that stays open is trusted after a look at all", async (t) => {
  const { said, stream, clock } = await setUp(t);
  assert.equal(stream.connected, false);
  await clock.advance(499);
  assert.equal(stream.connected, false);
  await clock.advance(1);
  assert.equal(stream.connected, true);
  assert.deepEqual(said, ["look at all"]);
});

for (const error of [undefined, new CriError("UNAVAILABLE", "GetContainerEvents", "connection lost")])
  test(`a stream that ${error ? "breaks" : "ends"} is not trusted, all is looked at, and it is opened again`, async (t) => {
    const { said, stream, clock, streams } = await setUp(t);
    await clock.advance(500);
    said.length = 0;
    await streams[0]!.end(error);
    assert.equal(stream.connected, false);
    assert.deepEqual(said.splice(0), ["look at all"]);
    await clock.advance(999);
    assert.equal(streams.length, 1);
    await clock.advance(1);
    assert.equal(streams.length, 2);
    await clock.advance(500);
    assert.equal(stream.connected, true);
    assert.deepEqual(said, ["look at all"], "what happened in between was missed");
  });

test("a runtime without events is asked again after minutes, and said to have none once", async (t) => {
  const unsupported = new CriError("UNIMPLEMENTED", "GetContainerEvents", "method not implemented");
  const { clock, streams, stream, logs, runtime } = await setUp(t, unsupported);
  await clock.advance(299_999);
  assert.equal(streams.length, 1);
  assert.equal(stream.connected, false);
  await clock.advance(1);
  assert.equal(streams.length, 2);
  await clock.advance(300_000);
  assert.deepEqual(logs, ["The runtime has no event stream: relisting every second"]);
  runtime.refuse = undefined;
  await clock.advance(300_500);
  assert.equal(stream.connected, true, "it was upgraded");
});

test("a stream that keeps breaking is said to once, until it has held", async (t) => {
  const { clock, streams, logs, runtime } = await setUp(t, new Error("refused"));
  await clock.advance(10_000);
  assert.equal(streams.length, 11);
  assert.deepEqual(logs.splice(0), ["Event stream broke"]);
  runtime.refuse = undefined;
  await clock.advance(2000);
  await streams.at(-1)!.end(new Error("broke"));
  assert.deepEqual(logs, ["Event stream broke"]);
});

test("ends when told to, with no timer left", async (t) => {
  const { clock, stream, stop } = await setUp(t);
  stop.abort();
  await stream.done;
  assert.equal(clock.pending, 0);
});
