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

/** One event stream of the runtime. */
class Stream {
  #waiting: ContainerEventResponse[] = [];
  #changed = Promise.withResolvers<void>();
  #end: { error?: Error } | undefined;

  send(event: ContainerEventResponse) {
    this.#waiting.push(event);
    this.#changed.resolve();
    return settle();
  }

  end(error?: Error) {
    this.#end = { error };
    this.#changed.resolve();
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
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
    }
  }
}

async function setUp(t: TestContext, failure?: Error) {
  const clock = new FakeClock();
  const streams: Stream[] = [];
  const actions: string[] = [];
  const logs: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (message: string, _fields?: Fields) => logs.push(message),
  };
  const runtime = { failure };
  const stop = new AbortController();
  const state = { connected: false };
  const stream = new EventStream({
    runtime: {
      containerEvents: (signal) => {
        const opened = new Stream();
        streams.push(opened);
        if (runtime.failure) void opened.end(runtime.failure);
        return opened.events(signal);
      },
    },
    clock,
    logger,
    hints: { received: (uid) => actions.push(`refresh ${uid}`) },
    pleg: { relistSoon: () => actions.push("relist") },
    state,
  });
  await stream.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await stream.done;
  });
  await settle();
  return { clock, streams, actions, logs, stream, state, runtime, stop };
}

const event = (labels: Record<string, string>, id = "") =>
  create(ContainerEventResponseSchema, { podSandboxStatus: { labels, id } });

test("each event is a hint to refresh its pod; one without a pod, to relist", async (t) => {
  const { actions, streams } = await setUp(t);
  await streams[0]!.send(event({ [labelPodUid]: "u1" }));
  await streams[0]!.send(event({}, "s2"));
  await streams[0]!.send(create(ContainerEventResponseSchema, {}));
  assert.deepEqual(actions, ["refresh u1", "refresh s2", "relist"]);
});

test("a stream that stays open is connected, after a relist", async (t) => {
  const { actions, clock, state } = await setUp(t);
  assert.equal(state.connected, false);
  await clock.advance(499);
  assert.equal(state.connected, false);
  await clock.advance(1);
  assert.equal(state.connected, true);
  assert.deepEqual(actions, ["relist"]);
});

for (const error of [undefined, new CriError("UNAVAILABLE", "GetContainerEvents", "connection lost")])
  test(`a stream that ${error ? "breaks" : "ends"} is not connected, causes a relist, and is opened again`, async (t) => {
    const { actions, clock, streams, state } = await setUp(t);
    await clock.advance(500);
    actions.length = 0;
    await streams[0]!.end(error);
    assert.equal(state.connected, false);
    assert.deepEqual(actions.splice(0), ["relist"]);
    await clock.advance(999);
    assert.equal(streams.length, 1);
    await clock.advance(1);
    assert.equal(streams.length, 2);
    await clock.advance(500);
    assert.equal(state.connected, true);
    assert.deepEqual(actions, ["relist"], "the events in between were missed");
  });

test("a runtime without events is retried after minutes, and that is logged once", async (t) => {
  const unsupported = new CriError("UNIMPLEMENTED", "GetContainerEvents", "method not implemented");
  const { clock, streams, logs, runtime, state } = await setUp(t, unsupported);
  await clock.advance(299_999);
  assert.equal(streams.length, 1);
  assert.equal(state.connected, false);
  await clock.advance(1);
  assert.equal(streams.length, 2);
  await clock.advance(300_000);
  assert.deepEqual(logs, ["Runtime has no event stream, relisting every second"]);
  runtime.failure = undefined;
  await clock.advance(300_500);
  assert.equal(state.connected, true, "it was upgraded");
});

test("a stream that the runtime ends at once is retried after minutes: CRI-O without events", async (t) => {
  const { clock, streams, logs, state } = await setUp(t);
  for (const count of [1, 2]) {
    await streams.at(-1)!.end();
    await clock.advance(299_999);
    assert.equal(streams.length, count);
    await clock.advance(1);
    assert.equal(streams.length, count + 1);
  }
  assert.deepEqual(logs, ["Runtime has no event stream, relisting every second"]);
  await clock.advance(500);
  assert.equal(state.connected, true, "its events were enabled");
});

test("a stream that keeps breaking is logged once, until it has stayed open", async (t) => {
  const { clock, streams, logs, runtime } = await setUp(t, new Error("rejected"));
  await clock.advance(10_000);
  assert.equal(streams.length, 11);
  assert.deepEqual(logs.splice(0), ["Runtime event stream failed"]);
  runtime.failure = undefined;
  await clock.advance(2000);
  await streams.at(-1)!.end(new Error("broke"));
  assert.deepEqual(logs, ["Runtime event stream failed"]);
});

test("stops on abort, with no timer left", async (t) => {
  const { clock, stop, stream } = await setUp(t);
  stop.abort();
  await stream.done;
  assert.equal(clock.pending, 0);
});
