import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import { abortError, isAbort, KubeletError } from "../../base/errors.ts";
import { FakeClock, settle } from "../../base/fake-clock.ts";
import { ImageSchema } from "../../gen/runtime/v1/api_pb.js";
import type { Pod, PodUid } from "../../model/pod.ts";
import { ImageManager, type ImageManagerOptions } from "./image-manager.ts";

function setUp(options: Partial<ImageManagerOptions> = {}, present: string[] = []) {
  const clock = new FakeClock();
  const store = new Set(present);
  const calls: string[] = [];
  const said: string[] = [];
  const registry = { pull: async (_image: string, _signal?: AbortSignal): Promise<void> => {} };
  const images = new ImageManager({
    images: {
      imageStatus: async ({ image = "" }) =>
        store.has(image) ? create(ImageSchema, { id: `id of ${image}`, uid: { value: 7n } }) : undefined,
      pullImage: async ({ image = "" }, _auth, _sandbox, o) => {
        calls.push(image);
        await registry.pull(image, o?.signal);
        store.add(image);
        return `ref of ${image}`;
      },
    },
    clock,
    parallelPulls: 2,
    pullsPerSecond: 0,
    pullBurst: 1,
    events: {
      normal: (_pod, reason, message) => said.push(`${reason}: ${message}`),
      warning: (_pod, reason, message) => said.push(`${reason}! ${message}`),
    },
    ...options,
  });
  const stop = new AbortController();
  const ensure = (image: string, policy = "IfNotPresent", pod: Pod = aPod()) =>
    images.ensure(
      pod,
      aContainer("a", { image, imagePullPolicy: policy }),
      {},
      { signal: stop.signal, onPull: () => {} },
    );
  return { clock, images, store, calls, said, registry, ensure, stop };
}

const code = (expected: string) => (error: unknown) =>
  error instanceof KubeletError && error.code === expected;
const fails = async () => {
  throw new Error("no route to registry");
};

const policyTable: [policy: string, present: boolean, outcome: string, pulls: number][] = [
  ["IfNotPresent", true, "id of x:1", 0],
  ["IfNotPresent", false, "ref of x:1", 1],
  ["Always", true, "ref of x:1", 1],
  ["Always", false, "ref of x:1", 1],
  ["Never", true, "id of x:1", 0],
  ["Never", false, "ErrImageNeverPull", 0],
];
for (const [policy, present, outcome, pulls] of policyTable)
  test(`${policy}, image ${present ? "present" : "absent"}: ${outcome}`, async () => {
    const { ensure, calls } = setUp({}, present ? ["x:1"] : []);
    const result = await ensure("x:1", policy).then(
      (image) => image.ref,
      (error: KubeletError) => error.code,
    );
    assert.equal(result, outcome);
    assert.equal(calls.length, pulls);
  });

test("the user that the image names comes along, also after a pull", async () => {
  const { ensure } = setUp();
  assert.equal((await ensure("x:1")).user.uid, 7n);
  assert.equal((await ensure("x:1")).user.uid, 7n);
});

test("an image without a tag means latest", async () => {
  const { ensure, calls } = setUp();
  await ensure("x");
  assert.deepEqual(calls, ["x:latest"]);
});

test("events tell what happened", async () => {
  const { ensure, said, registry, clock } = setUp();
  registry.pull = async () => void (await clock.advance(1500));
  await ensure("x:1");
  await ensure("x:1");
  assert.deepEqual(said.splice(0), [
    'Pulling: Pulling image "x:1"',
    'Pulled: Successfully pulled image "x:1" in 1.500s',
    'Pulled: Container image "x:1" already present on machine',
  ]);
  registry.pull = fails;
  await assert.rejects(ensure("y:1"), code("ErrImagePull"));
  await assert.rejects(ensure("y:1"), code("ImagePullBackOff"));
  assert.deepEqual(said, [
    'Pulling: Pulling image "y:1"',
    'Failed! Failed to pull image "y:1": no route to registry',
    'BackOff: Back-off pulling image "y:1"',
  ]);
});

test("no name: InvalidImageName, and the runtime is not asked", async () => {
  const { ensure, said } = setUp();
  await assert.rejects(ensure("No Name"), code("InvalidImageName"));
  assert.equal(
    said[0],
    'InspectFailed! Failed to apply default image tag "No Name": couldn\'t parse image name "No Name": invalid reference format',
  );
});

test("a runtime that cannot be asked: ImageInspectError", async () => {
  const { ensure } = setUp({
    images: { imageStatus: fails, pullImage: async () => "" },
  });
  await assert.rejects(ensure("x:1"), code("ImageInspectError"));
});

test("after a failed pull the next waits, 10 s doubling to 5 min; the last error is told again", async () => {
  const { ensure, registry, clock, calls } = setUp();
  registry.pull = fails;
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    await assert.rejects(ensure("x:1"), code("ErrImagePull"));
    const retryAt = clock.now() + seconds * 1000;
    await clock.advance(seconds * 1000 - 1);
    await assert.rejects(ensure("x:1"), (e: KubeletError) => {
      assert.equal(e.message, 'Back-off pulling image "x:1": ErrImagePull: no route to registry');
      return e.code === "ImagePullBackOff" && e.retryAt === retryAt;
    });
    await clock.advance(1);
  }
  assert.equal(calls.length, 7);
  registry.pull = async () => {};
  await ensure("x:1");
});

test("each pod waits for itself; one that is gone has no past", async () => {
  const { ensure, registry, images } = setUp();
  const other = aPod({}, { uid: "other" as PodUid });
  registry.pull = fails;
  await assert.rejects(ensure("x:1"), code("ErrImagePull"));
  await assert.rejects(ensure("x:1", "IfNotPresent", other), code("ErrImagePull"));
  images.forget(aPod().metadata.uid);
  await assert.rejects(ensure("x:1"), code("ErrImagePull"));
  await assert.rejects(ensure("x:1", "IfNotPresent", other), code("ImagePullBackOff"));
});

test("a pull that is aborted is no failure of the image", async () => {
  const { ensure, registry, stop } = setUp();
  registry.pull = (_image, signal) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(abortError())));
  const pulled = ensure("x:1");
  await settle();
  stop.abort();
  await assert.rejects(pulled, isAbort);
  registry.pull = async () => {};
});

test("no more pulls at once than allowed, the next when one ends", async () => {
  const { ensure, registry, calls } = setUp();
  const ends: (() => void)[] = [];
  registry.pull = () => new Promise((resolve) => ends.push(resolve));
  const all = ["a:1", "b:1", "c:1"].map((image) => ensure(image));
  await settle();
  assert.deepEqual(calls, ["a:1", "b:1"]);
  ends[1]!();
  await settle();
  assert.deepEqual(calls, ["a:1", "b:1", "c:1"]);
  for (const end of ends) end();
  await Promise.all(all);
});

test("no more pulls a second than allowed", async () => {
  const { ensure, calls, clock } = setUp({ pullsPerSecond: 1, pullBurst: 1, parallelPulls: 5 });
  const all = ["a:1", "b:1", "c:1"].map((image) => ensure(image));
  await settle();
  assert.equal(calls.length, 1);
  await clock.advance(1000);
  assert.equal(calls.length, 2);
  await clock.advance(1000);
  await Promise.all(all);
});
