import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import {
  ContainerSchema,
  ContainerStatusResponseSchema,
  ImageFsInfoResponseSchema,
  ImageSchema,
  StatusResponseSchema,
} from "../../../lib/gen/runtime/v1/api_pb.js";
import { ImageGc } from "./image-gc.ts";
import type { ImageGcPolicy } from "./image-plan.ts";

const minute = 60_000;

/** A disk of 1000 bytes; the images use 10 each, other files the rest. */
function setUp(policy: Partial<ImageGcPolicy> = {}, byRuntimeHandler = false) {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const host = {
    images: new Set(["a", "b", "c", "d"]),
    pinned: new Set<string>(),
    containers: [] as { id: string; image: string; handler?: string; mounts?: string[] }[],
    sandboxImage: "",
    prefetched: [] as string[],
    otherBytes: 0,
    capacity: 1000,
    stuck: new Set<string>(),
    runtimeDown: false,
  };
  const removed: string[] = [];
  const events: string[] = [];
  const gc = new ImageGc({
    images: {
      listImages: async () => {
        if (host.runtimeDown) throw new Error("connection refused");
        return [...host.images].map((name) => {
          const [id = "", runtimeHandler = ""] = name.split("/");
          const pinned = host.pinned.has(id);
          return create(ImageSchema, {
            id,
            size: 10n,
            repoDigests: [`r@${id}`],
            pinned,
            spec: { runtimeHandler },
          });
        });
      },
      imageStatus: async ({ image = "" }) => create(ImageSchema, { id: image.replace(":1", "") }),
      removeImage: async ({ image = "", runtimeHandler }) => {
        const name = runtimeHandler ? `${image}/${runtimeHandler}` : image;
        if (host.stuck.has(name)) throw new Error("image is stuck");
        removed.push(name);
        host.images.delete(name);
      },
      imageFsInfo: async () =>
        create(ImageFsInfoResponseSchema, { imageFilesystems: [{ fsId: { mountpoint: "/images" } }] }),
    },
    runtime: {
      listContainers: async () =>
        host.containers.map(({ id, image, handler = "" }) =>
          create(ContainerSchema, { id, imageRef: image, image: { runtimeHandler: handler } }),
        ),
      containerStatus: async (id) => {
        const mounts = host.containers.find((c) => c.id === id)?.mounts;
        if (!mounts) throw new CriError("NOT_FOUND", "ContainerStatus", "gone");
        return create(ContainerStatusResponseSchema, {
          status: { mounts: mounts.map((image) => ({ image: { image } })) },
        });
      },
      status: async () =>
        create(StatusResponseSchema, {
          info: { config: JSON.stringify({ sandboxImage: host.sandboxImage }) },
        }),
    },
    prefetched: { imagesInUse: () => host.prefetched },
    policy: { highPercent: 90, lowPercent: 80, minAgeMs: 2 * minute, maxAgeMs: 0, ...policy },
    byRuntimeHandler,
    clock,
    logger: silentLogger,
    events: { warning: (reason, message) => events.push(`${reason}: ${message}`) },
    metrics,
    spaceAt: async (path) => {
      assert.equal(path, "/images");
      const used = host.otherBytes + host.images.size * 10;
      return { capacity: host.capacity, available: Math.max(0, host.capacity - used) };
    },
  });
  const stop = new AbortController();
  return { clock, metrics, host, removed, events, gc, stop };
}

test("below the high threshold no image is removed", async () => {
  const { gc, clock, removed } = setUp();
  await gc.collect();
  await clock.advance(10 * minute);
  await gc.collect();
  assert.deepEqual(removed, []);
});

// parity: field imageGCHighThresholdPercent as highPercent
test("images are removed, least recently used first, when usage reaches the high threshold", async () => {
  const { gc, clock, host, removed, metrics } = setUp();
  host.containers = [{ id: "1", image: "a" }];
  await gc.collect();
  host.containers = [];
  await clock.advance(5 * minute);
  host.otherBytes = 850;
  await gc.collect();
  assert.deepEqual(removed, [], "89 % is not 90 %");
  host.otherBytes = 860;
  await assert.rejects(gc.collect(), /freed 40 bytes/);
  assert.deepEqual(removed, ["b", "c", "d", "a"], "the most recently used is removed last");
  assert.match(
    await metrics.registry.metrics(),
    /^kubelet_image_garbage_collected_total\{reason="space"\} 4$/m,
  );
});

// parity: field imageGCLowThresholdPercent as lowPercent
test("images are removed until the low threshold is reached", async () => {
  const { gc, clock, host, removed } = setUp({ highPercent: 80, lowPercent: 78 });
  await gc.collect();
  await clock.advance(5 * minute);
  host.otherBytes = 760;
  await gc.collect();
  assert.deepEqual(removed, ["a", "b"]);
});

const protectedTable: [rule: string, host: Partial<ReturnType<typeof setUp>["host"]>][] = [
  ["used by a container, running or not", { containers: [{ id: "1", image: "b" }] }],
  ["used by a container that names its digest", { containers: [{ id: "1", image: "r@b" }] }],
  ["mounted as a volume", { containers: [{ id: "1", image: "x", mounts: ["b"] }] }],
  ["pinned by the runtime", { pinned: new Set(["b"]) }],
  ["used for sandboxes", { sandboxImage: "b:1" }],
  ["pulled for a container that has not started yet", { prefetched: ["b"] }],
];
for (const [rule, protection] of protectedTable)
  test(`an image is kept if it is ${rule}`, async () => {
    const { gc, clock, host, removed } = setUp();
    Object.assign(host, protection);
    await gc.collect();
    await clock.advance(5 * minute);
    await gc.deleteUnused();
    assert.deepEqual(removed, ["a", "c", "d"]);
  });

// parity: gate RuntimeClassInImageCriApi=true as byRuntimeHandler, gate RuntimeClassInImageCriApi=false as byRuntimeHandler
for (const [byRuntimeHandler, expected] of [
  [true, ["a/kata", "b/runc", "c"]],
  [false, ["c"]],
] as const)
  test(`images of other runtime handlers than those of their containers are ${byRuntimeHandler ? "removed" : "kept without the gate"}`, async () => {
    const { gc, clock, host, removed } = setUp({}, byRuntimeHandler);
    host.images = new Set(["a/runc", "a/kata", "b/runc", "b/kata", "c", "d", "e/kata"]);
    host.containers = [
      { id: "1", image: "a", handler: "runc", mounts: [] },
      { id: "2", image: "b", handler: "kata", mounts: [] },
      // The runtime does not store this one by handler.
      { id: "3", image: "d", handler: "kata", mounts: [] },
      // The runtime does not report which handler it is.
      { id: "4", image: "e", mounts: [] },
    ];
    await gc.collect();
    await clock.advance(5 * minute);
    await gc.deleteUnused();
    assert.deepEqual(removed, expected);
  });

// parity: event InvalidImageID
test("an image without an ID is an event if images are removed by runtime handler, and is kept", async () => {
  const { gc, clock, host, removed, events } = setUp({}, true);
  host.images = new Set(["/kata", "a/kata"]);
  await gc.collect();
  assert.deepEqual(events, ["InvalidImageID: ImageID is not valid, skipping, image: ,kata"]);
  await clock.advance(5 * minute);
  await gc.deleteUnused();
  assert.deepEqual(removed, ["a/kata"]);
});

// parity: field imageMinimumGCAge as minAgeMs
test("deleteUnused keeps new images, and resolves with the freed bytes", async () => {
  const { gc, clock, removed, host } = setUp();
  assert.equal(await gc.deleteUnused(), 0);
  await clock.advance(2 * minute - 1);
  assert.equal(await gc.deleteUnused(), 0);
  host.images.add("new");
  await clock.advance(1);
  assert.equal(await gc.deleteUnused(), 40);
  assert.deepEqual(removed, ["a", "b", "c", "d"]);
});

// parity: event FreeDiskSpaceFailed
test("an event is recorded if removing all unused images does not free enough space", async () => {
  const { gc, clock, host, events } = setUp();
  await gc.collect();
  await clock.advance(5 * minute);
  host.otherBytes = 960;
  const message =
    "Insufficient free disk space on the node's image filesystem (100% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 40 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
  await assert.rejects(gc.collect(), { message });
  assert.deepEqual(events, [`FreeDiskSpaceFailed: ${message}`]);
});

test("an image that cannot be removed does not block the others", async () => {
  const { gc, clock, host, removed } = setUp();
  await gc.collect();
  await clock.advance(5 * minute);
  host.stuck.add("a");
  await assert.rejects(
    gc.deleteUnused(),
    /freed 30 bytes space with errors in image deletion: a: image is stuck/,
  );
  assert.deepEqual(removed, ["b", "c", "d"]);
});

// parity: event InvalidDiskCapacity
test("an event is recorded and nothing is removed if the disk has capacity 0", async () => {
  const { gc, host, events, removed } = setUp();
  host.capacity = 0;
  await assert.rejects(gc.collect(), /invalid capacity 0/);
  assert.deepEqual(events, ["InvalidDiskCapacity: invalid capacity 0 on image filesystem"]);
  assert.deepEqual(removed, []);
});

// parity: field imageMaximumGCAge as maxAgeMs, gate ImageMaximumGCAge=true as maxAgeMs
test("images that were unused for the maximum age since the agent started are removed", async () => {
  const { gc, clock, host, removed, metrics, stop } = setUp({ maxAgeMs: 30 * minute });
  host.containers = [{ id: "1", image: "a", mounts: [] }];
  await gc.start(stop.signal);
  await clock.advance(30 * minute);
  assert.deepEqual(removed, []);
  host.containers = [];
  await clock.advance(5 * minute);
  assert.deepEqual(removed, ["b", "c", "d"]);
  await clock.advance(30 * minute);
  assert.deepEqual(removed, ["b", "c", "d", "a"]);
  assert.match(
    await metrics.registry.metrics(),
    /^kubelet_image_garbage_collected_total\{reason="age"\} 4$/m,
  );
  stop.abort();
  await gc.done;
});

// parity: event ImageGCFailed
test("image GC runs at the start and every 5 minutes; only a second consecutive failure is reported by an event", async () => {
  const { gc, clock, host, events, stop } = setUp();
  host.runtimeDown = true;
  await gc.start(stop.signal);
  await clock.advance(5 * minute - 1);
  assert.deepEqual(events, []);
  await clock.advance(1);
  assert.deepEqual(events, ["ImageGCFailed: connection refused"]);
  host.runtimeDown = false;
  await clock.advance(5 * minute);
  host.runtimeDown = true;
  await clock.advance(5 * minute);
  assert.equal(events.length, 1);
  stop.abort();
  await gc.done;
  assert.equal(clock.pending, 0);
});

test("a disabled image GC (100 %, no maximum age) removes nothing, but tracks the age of images for deleteUnused", async () => {
  const { gc, clock, host, removed, stop } = setUp({ highPercent: 100, lowPercent: 80 });
  host.otherBytes = 1000;
  await gc.start(stop.signal);
  await clock.advance(6 * minute);
  assert.deepEqual(removed, []);
  assert.equal(await gc.deleteUnused(), 40);
  stop.abort();
  await gc.done;
});
