import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { create, type Message } from "@bufbuild/protobuf";
import { type Client, Metadata } from "@grpc/grpc-js";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { callUnary, openChannel } from "../../../lib/clients/cri/grpc-call.ts";
import { methodDefinition } from "../../../lib/clients/cri/service-definition.ts";
import { Pods } from "../../../lib/gen/pods/v1alpha1/api_pb.js";
import { PodFeed } from "./pod-feed.ts";
import type { WatchStream } from "./pod-watch.ts";
import { PodsApiServer } from "./pods-api-server.ts";

const limits = { clock: systemClock, timeoutMs: 5000, signal: undefined };

/** The number of watches. */
class CountedFeed extends PodFeed {
  open = 0;
  #changed: (() => void) | undefined;

  override watch(stream: WatchStream): () => void {
    const end = super.watch(stream);
    let isOpen = true;
    this.#count(1);
    return () => {
      end();
      if (isOpen) this.#count(-1);
      isOpen = false;
    };
  }

  async until(open: number): Promise<void> {
    while (this.open !== open)
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
  }

  #count(by: number): void {
    this.open += by;
    this.#changed?.();
  }
}

describe("the server of the Pods API", () => {
  let dir = "";
  let channel: Client;
  const clock = new FakeClock();
  const stop = new AbortController();
  const feed = new CountedFeed({ pods: () => [], pod: () => undefined, onDropped() {} });

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "pods-api-"));
    const socketPath = join(dir, "pods-api/pods-api.sock");
    await new PodsApiServer({ socketPath, feed, clock, logger: silentLogger }).start(stop.signal);
    channel = openChannel(socketPath);
  });
  after(async () => {
    channel.close();
    stop.abort();
    await rm(dir, { recursive: true });
  });

  const watch = () => {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(Pods.method.watchPods);
    const request = create(Pods.method.watchPods.input) as Message;
    const call = channel.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new Metadata(),
    );
    call.on("error", () => {});
    call.resume();
    return call;
  };

  it("a watch ends with its client", async () => {
    const first = watch();
    const second = watch();
    await feed.until(2);
    first.cancel();
    await feed.until(1);
    second.cancel();
    await feed.until(0);
  });

  it("lists and gets are limited together, watches are not", async () => {
    await clock.advance(60_000);
    const { listPods, getPod } = Pods.method;
    const responses = await Promise.allSettled([
      ...Array.from({ length: 8 }, () => callUnary(channel, listPods, {}, limits)),
      ...Array.from({ length: 8 }, () => callUnary(channel, getPod, { podUID: "u" }, limits)),
    ]);
    const rejected = responses.filter(
      (a) => a.status === "rejected" && hasGrpcCode(a.reason, "RESOURCE_EXHAUSTED"),
    );
    assert.equal(rejected.length, 6);
    const calls = Array.from({ length: 20 }, watch);
    await feed.until(20);
    for (const call of calls) call.cancel();
    await feed.until(0);
  });
});
