import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { beforeEach, describe, it } from "node:test";
import { EventType, type WatchPodsEvent } from "../../../lib/gen/pods/v1alpha1/api_pb.js";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { PodFeed } from "./pod-feed.ts";
import { maxPending } from "./pod-watch.ts";

/** A client that reads as many events as the test allows. */
class FakeStream extends EventEmitter {
  readonly types: string[] = [];
  readonly errors: unknown[] = [];
  capacity = Number.POSITIVE_INFINITY;

  constructor() {
    super();
    this.on("error", (error) => this.errors.push(error));
  }

  write({ type }: WatchPodsEvent): boolean {
    this.types.push(EventType[type]);
    return --this.capacity > 0;
  }

  reads(events: number): void {
    this.capacity = events;
    this.emit("drain");
  }
}

const uid = (text: string) => text as PodUid;

describe("the feed of pods", () => {
  const pods = new Map<PodUid, Pod>();
  let dropped = 0;
  let feed: PodFeed;
  let stream: FakeStream;

  const set = (name: string, phase = "Running") => {
    pods.set(uid(name), fakePod({ metadata: { name, uid: uid(name) }, status: { phase } }));
    feed.changed(uid(name));
  };
  beforeEach(() => {
    pods.clear();
    dropped = 0;
    stream = new FakeStream();
    feed = new PodFeed({
      pods: () => [...pods.values()],
      pod: (id) => pods.get(id),
      onDropped: () => {
        dropped++;
      },
    });
  });

  it("an existing pod is not added again; a terminated one is deleted once", () => {
    set("a");
    feed.watch(stream);
    set("a");
    set("b");
    feed.finished(uid("b"));
    set("b", "Succeeded");
    feed.forget(uid("b"));
    assert.deepEqual(stream.types, ["ADDED", "INITIAL_SYNC_COMPLETE", "MODIFIED", "ADDED", "DELETED"]);
  });

  it("a pod with the UID of a removed one is added", () => {
    feed.watch(stream);
    set("a");
    feed.finished(uid("a"));
    feed.forget(uid("a"));
    set("a");
    assert.deepEqual(stream.types, ["INITIAL_SYNC_COMPLETE", "ADDED", "DELETED", "ADDED"]);
  });

  it("a pod without a status is not reported", () => {
    feed.watch(stream);
    feed.changed(uid("unknown"));
    feed.forget(uid("unknown"));
    assert.deepEqual(stream.types, ["INITIAL_SYNC_COMPLETE"]);
  });

  it("initial pods do not count as pending, however many they are", () => {
    for (let i = 0; i < 3 * maxPending; i++) set(`p${i}`);
    stream.capacity = 1;
    feed.watch(stream);
    for (let i = 0; i < maxPending; i++) set("p0");
    assert.equal(dropped, 0);
    stream.reads(Number.POSITIVE_INFINITY);
    assert.equal(stream.types.length, 4 * maxPending + 1);
    assert.equal(stream.types.indexOf("INITIAL_SYNC_COMPLETE"), 3 * maxPending);
  });

  it("a client beyond the limit of pending events is dropped, and receives nothing more", () => {
    stream.capacity = 1;
    feed.watch(stream);
    for (let i = 0; i < maxPending; i++) set("a");
    assert.deepEqual([dropped, stream.errors], [0, []]);
    set("a");
    set("a");
    assert.equal(dropped, 1);
    assert.deepEqual(stream.errors, [{ code: 8, details: "watch client channel closed" }]);
    stream.reads(1000);
    assert.deepEqual(stream.types, ["INITIAL_SYNC_COMPLETE"]);
  });

  it("a watch that has ended receives nothing more", () => {
    const end = feed.watch(stream);
    end();
    set("a");
    assert.deepEqual(stream.types, ["INITIAL_SYNC_COMPLETE"]);
  });
});
