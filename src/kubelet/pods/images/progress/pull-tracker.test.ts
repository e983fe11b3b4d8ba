import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../../../test/builders/pods.ts";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import type { Blob, ContentStore } from "../../../../lib/clients/containerd/content-store.ts";
import { CriError } from "../../../../lib/clients/cri/cri-error.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { pullText } from "../../../../lib/model/pull-progress.ts";
import { PullTracker, type PullTrackerOptions } from "./pull-tracker.ts";

const MB = 1e6;
const image = "registry.example/app:1";
const layer = `sha256:${"a".repeat(64)}`;
const config = `sha256:${"c".repeat(64)}`;
const text = JSON.stringify({
  config: { digest: config, size: 0 },
  layers: [{ digest: layer, size: 300 * MB }],
});
const webPod = aPod({ containers: [aContainer("a", { image })] }, { uid: "u1" as PodUid, name: "web" });

/** A runtime with one image, whose layer has arrived as far as a test specifies. */
function setUp(options: Partial<PullTrackerOptions> = {}) {
  const clock = new FakeClock();
  const store = {
    /** Undefined: the registry has not sent the manifest. */
    received: undefined as number | undefined,
    error: undefined as Error | undefined,
    calls: 0,
    lists: 0,
    open: 0,
  };
  const blob = (digest: string): Blob => ({
    digest,
    bytes: text.length,
    createdAt: clock.wall(),
    labels: { "containerd.io/gc.ref.content.config": config },
  });
  const content: ContentStore = {
    async ingests() {
      store.calls++;
      if (store.error) throw store.error;
      const { received } = store;
      return received === undefined || received === 300 * MB ? [] : [{ digest: layer, bytes: received }];
    },
    async ofRepository() {
      store.lists++;
      return store.received === undefined ? [] : [blob(`sha256:${"b".repeat(64)}`)];
    },
    find: async (digest) => (digest === config || store.received === 300 * MB ? blob(digest) : undefined),
    read: async () => Buffer.from(text),
    close: () => store.open--,
  };
  const changed: string[] = [];
  const events: string[] = [];
  const metrics = createMetrics();
  const tracker = new PullTracker({
    clock,
    logger: silentLogger,
    metrics,
    openContent: () => {
      store.open++;
      return content;
    },
    receivedBytes: async () => undefined,
    onProgress: (uid) => changed.push(uid),
    events: { normal: (_pod, reason, message) => events.push(`${reason}: ${message}`), warning: () => {} },
    ...options,
  });
  const shown = (uid = "u1") => tracker.ofPod(uid as PodUid).map(pullText);
  const pass = async (seconds: number, perSecond = 0) => {
    for (let i = 0; i < seconds; i++) {
      if (store.received !== undefined) store.received = Math.min(300 * MB, store.received + perSecond);
      await clock.advance(1000);
      await settle();
    }
  };
  return { clock, store, tracker, changed, events, metrics, shown, pass };
}

test("a pull is shown while it runs: the wait for the registry, bytes, unpacking; then it is gone", async () => {
  const { tracker, store, shown, pass } = setUp();
  const pod = tracker.wanted(webPod, image);
  assert.deepEqual(shown(), [`pulling image ${image}: waiting for other pulls`]);
  pod.waits("rate");
  assert.deepEqual(shown(), [`pulling image ${image}: waiting for the pull rate (registryPullQPS)`]);
  pod.waits("pull");
  const running = tracker.pulling(image);
  await pass(2);
  assert.deepEqual(shown(), [`pulling ${image}, waiting for registry.example for 2 s`]);
  store.received = 0;
  await pass(10, 10 * MB);
  assert.deepEqual(shown(), [`pulling ${image}, 33 % of 300 MB, 20 s left`]);
  await pass(20, 10 * MB);
  assert.deepEqual(shown(), [`pulling ${image}, unpacking 300 MB`]);
  running[Symbol.dispose]();
  pod[Symbol.dispose]();
  assert.deepEqual(shown(), []);
});

test("a pull that gets no byte is named within 32 s", async () => {
  const { tracker, store, shown, pass } = setUp();
  using _pod = tracker.wanted(webPod, image);
  using _running = tracker.pulling(image);
  store.received = 0;
  await pass(100, 1 * MB);
  await pass(32);
  assert.match(
    shown()[0]!,
    /^pulling registry.example\/app:1, stalled: no byte from registry.example for 3\d s, 33 % of 300 MB done$/,
  );
});

test("a content store that does not respond does not make a pull stalled", async () => {
  const { tracker, store, shown, pass } = setUp();
  using _pod = tracker.wanted(webPod, image);
  using _running = tracker.pulling(image);
  store.received = 0;
  await pass(10, 10 * MB);
  store.error = new CriError("DEADLINE_EXCEEDED", "ListStatuses", "no response within 5 s");
  await pass(60);
  assert.deepEqual(shown(), [`pulling ${image}, 33 % of 300 MB, 20 s left`]);
});

test("two pods that need one image see the same pull, and no other pod does", async () => {
  const { tracker, store, shown, pass, changed } = setUp();
  const second = aPod({ containers: [aContainer("a", { image })] }, { uid: "u2" as PodUid, name: "second" });
  using _pods = tracker.wanted(webPod, image);
  using _more = tracker.wanted(second, image);
  using _running = tracker.pulling(image);
  store.received = 0;
  await pass(3, 10 * MB);
  assert.equal(shown("u1")[0], shown("u2")[0]);
  assert.deepEqual(shown("u3"), []);
  assert.deepEqual(new Set(changed), new Set(["u1", "u2"]));
});

test("while nothing is pulled there is no timer, no call and no connection", async () => {
  const { tracker, store, clock, pass } = setUp();
  using _pod = tracker.wanted(webPod, image);
  await pass(60);
  assert.deepEqual([clock.pending, store.calls, store.open], [0, 0, 0]);
  for (let i = 0; i < 3; i++) {
    const running = [tracker.pulling(image), tracker.pulling(image)];
    await pass(2);
    for (const one of running) one[Symbol.dispose]();
    await settle();
  }
  const { calls } = store;
  assert.ok(calls > 0);
  await pass(60);
  assert.deepEqual([clock.pending, store.calls, store.open], [0, calls, 0]);
});

test("a pull that takes less than half a second costs nothing", async () => {
  const { tracker, store, clock } = setUp();
  const running = tracker.pulling(image);
  await clock.advance(499);
  running[Symbol.dispose]();
  await settle();
  assert.deepEqual([clock.pending, store.calls, store.open], [0, 0, 0]);
});

test("all pulls share one call a second, and one in two seconds when they are long", async () => {
  const { tracker, store, pass } = setUp();
  const running = Array.from({ length: 20 }, (_, i) => tracker.pulling(`registry.example/app:${i}`));
  store.received = 0;
  await pass(60, 1 * MB);
  assert.equal(store.calls, 60);
  await pass(60, 1 * MB);
  assert.ok(store.calls <= 91, String(store.calls));
  for (const one of running) one[Symbol.dispose]();
});

test("a registry that does not respond has the manifest looked for less and less often", async () => {
  const { tracker, store, pass } = setUp();
  using _running = tracker.pulling(image);
  await pass(600);
  assert.ok(store.lists < 40, String(store.lists));
});

test("a runtime without a content store shows the time and what the node receives", async () => {
  let bytes = 0;
  const { tracker, shown, pass } = setUp({
    openContent: () => undefined,
    receivedBytes: async () => (bytes += 2 * MB),
  });
  using _pod = tracker.wanted(webPod, image);
  using _running = tracker.pulling(image);
  assert.deepEqual(shown(), [`pulling ${image} for 0 s`]);
  await pass(4);
  assert.deepEqual(shown(), [`pulling ${image} for 4 s, the node receives 2.0 MB/s`]);
});

test("a runtime that does not implement the content store is not called again", async () => {
  const { tracker, store, shown, pass } = setUp();
  using _pod = tracker.wanted(webPod, image);
  using _running = tracker.pulling(image);
  store.error = new CriError("UNIMPLEMENTED", "ListStatuses", "unknown service");
  await pass(10);
  assert.equal(store.calls, 1);
  assert.deepEqual(shown(), [`pulling ${image} for 10 s`]);
});

test("a long pull is reported by an event a minute, unless events are off", async () => {
  for (const isOn of [true, false]) {
    const { tracker, store, events, pass } = setUp(isOn ? {} : { events: undefined });
    using _pod = tracker.wanted(webPod, image);
    using _running = tracker.pulling(image);
    store.received = 0;
    await pass(59, 1 * MB);
    assert.deepEqual(events, []);
    await pass(91, 1 * MB);
    assert.equal(events.length, isOn ? 2 : 0);
    if (isOn)
      assert.match(
        events[0]!,
        /^PullProgress: pulling registry.example\/app:1, 2\d % of 300 MB, 3m5\ds left; 6\d MB and 0 of 1 layers/,
      );
  }
});

test("metrics have the pulls by state, and bytes of images that are being pulled", async () => {
  const { tracker, store, metrics, pass } = setUp();
  const values = async () =>
    (await metrics.registry.metrics()).split("\n").filter((line) => line.startsWith("kubelet_ts_image_pull"));
  assert.deepEqual(await values(), []);
  const pods = [tracker.wanted(webPod, image), tracker.wanted(webPod, "registry.example/other:1")];
  const running = tracker.pulling(image);
  store.received = 0;
  await pass(3, 10 * MB);
  assert.deepEqual(await values(), [
    'kubelet_ts_image_pulls{state="pulling"} 1',
    'kubelet_ts_image_pulls{state="queued"} 1',
    `kubelet_ts_image_pull_done_bytes{image="${image}"} 30000000`,
    `kubelet_ts_image_pull_total_bytes{image="${image}"} 300000000`,
  ]);
  for (const one of [...pods, running]) one[Symbol.dispose]();
  assert.deepEqual(await values(), []);
});
