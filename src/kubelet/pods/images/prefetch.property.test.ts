import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { msUntil, sleep } from "../../../lib/base/clock.ts";
import { isAbort, retryAtOf } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { ImageSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { ImageManager } from "./image-manager.ts";

const names = ["a:1", "b:1", "c:1"];
const users = ["", "x", "y"];

const container = fc.record({
  image: fc.constantFrom(...names),
  policy: fc.constantFrom(
    "IfNotPresent" as const,
    "IfNotPresent" as const,
    "Always" as const,
    "Never" as const,
  ),
});
const podHistory = fc.record({
  user: fc.constantFrom(...users),
  init: fc.array(container, { maxLength: 2 }),
  main: fc.array(container, { minLength: 1, maxLength: 3 }),
  startMs: fc.nat(5000),
  volumesMs: fc.nat(4000),
  initMs: fc.nat(3000),
  deletedMs: fc.option(fc.integer({ min: 100, max: 12_000 })),
});
type PodHistory = typeof podHistory extends fc.Arbitrary<infer T> ? T : never;
const registry = fc.record({
  pullMs: fc.tuple(fc.nat(5000), fc.nat(5000), fc.nat(5000)),
  /** Pulls with other credentials are rejected. */
  accepted: fc.array(fc.constantFrom(...names.flatMap((name) => users.map((user) => `${name} ${user}`)))),
  present: fc.subarray(names),
  /** By image, when it is removed from the node. */
  removedMs: fc.option(fc.tuple(fc.constantFrom(...names), fc.nat(10_000))),
});
const limits = fc.record({
  parallelPulls: fc.integer({ min: 1, max: 3 }),
  pullsPerSecond: fc.constantFrom(0, 1, 5),
  pullBurst: fc.integer({ min: 1, max: 3 }),
});
const scenario = { registry, limits };
type Scenario = {
  [key in keyof typeof scenario]: (typeof scenario)[key] extends fc.Arbitrary<infer T> ? T : never;
};

/** Runs the pods to their end, and checks what must hold at every moment. */
async function run(
  { registry: { pullMs, accepted, present, removedMs }, limits }: Scenario,
  histories: readonly PodHistory[],
  prefetch: boolean,
) {
  const clock = new FakeClock();
  const store = new Set(present);
  /** Which user has proven access to which image. */
  const proven = new Set<string>();
  const pulling = new Set<string>();
  const events = histories.map((): string[] => []);
  const alive = new Set<Pod>();
  const metrics = createMetrics();
  const userOf = (pod: Pod) => pod.metadata.name;
  const images = new ImageManager({
    images: {
      imageStatus: async ({ image = "" }) =>
        store.has(image) ? create(ImageSchema, { id: image, size: 1n }) : undefined,
      pullImage: async ({ image = "" }, auth, _sandbox, o) => {
        const user = auth?.username ?? "";
        assert.ok(!pulling.has(image), `${image} is being pulled twice`);
        const needsIt = ({ spec: { initContainers = [], containers } }: Pod) =>
          [...initContainers, ...containers].some((one) => one.image === image);
        assert.ok(
          [...alive].some((pod) => userOf(pod) === user && needsIt(pod)),
          `no pod needs ${image} as ${user}`,
        );
        pulling.add(image);
        assert.ok(pulling.size <= limits.parallelPulls, "too many pulls");
        try {
          await sleep(clock, pullMs[names.indexOf(image)]!, o?.signal);
        } finally {
          pulling.delete(image);
        }
        if (!accepted.includes(`${image} ${user}`)) throw new Error("denied");
        store.add(image);
        return image;
      },
    },
    clock,
    ...limits,
    prefetch,
    metrics,
    credentials: {
      credentials: async (pod) => (userOf(pod) ? [{ username: userOf(pod), password: "" }] : []),
    },
    records: {
      recordPullIntent: async () => {},
      recordPullEnded: async () => {},
      recordImagePulled: async ({ image }, credential) =>
        void proven.add(`${image} ${credential?.username ?? ""}`),
      mustPull: async ({ image }, credentials) => {
        const [first] = await credentials();
        return !proven.has(`${image} ${first?.username ?? ""}`);
      },
    },
    events: {
      normal: (pod, reason, message, name) => record(pod, `${reason}(${name}): ${message}`),
      warning: (pod, reason, message, name) => record(pod, `${reason}(${name})! ${message}`),
    },
  });
  const record = (pod: Pod, line: string) => {
    const index = Number(pod.metadata.uid);
    events[index]!.push(line.replace(/ in .* including waiting\)/, ""));
  };
  if (removedMs) clock.after(removedMs[1], () => store.delete(removedMs[0]));

  const start = async (pod: Pod, one: Container, signal: AbortSignal) => {
    for (let attempt = 0; attempt < 4; attempt++) {
      try {
        const { ref } = await images.ensure(pod, one, {}, { signal, onPull: () => {} });
        assert.ok(alive.has(pod), "a pod that is gone gets an image");
        assert.ok(proven.has(`${ref} ${userOf(pod)}`), `${userOf(pod)} must not use ${ref}`);
        return true;
      } catch (error) {
        if (isAbort(error) || signal.aborted) throw error;
        const retryAt = retryAtOf(error);
        await sleep(clock, retryAt === undefined ? 1000 : msUntil(clock, retryAt), signal);
      }
    }
    return false;
  };
  const live = async (history: PodHistory, index: number) => {
    const stop = new AbortController();
    const { signal } = stop;
    const containersOf = (list: PodHistory["main"], kind: string) =>
      list.map(({ image, policy }, i) => aContainer(`${kind}${i}`, { image, imagePullPolicy: policy }));
    const pod = aPod(
      { initContainers: containersOf(history.init, "init"), containers: containersOf(history.main, "main") },
      { uid: String(index) as PodUid, name: history.user },
    );
    const end = () => {
      alive.delete(pod);
      stop.abort();
      images.cancelPrefetch(pod.metadata.uid);
    };
    await sleep(clock, history.startMs);
    alive.add(pod);
    if (history.deletedMs !== null) clock.after(history.deletedMs, end);
    try {
      images.prefetch(pod, async () => ({}));
      await sleep(clock, history.volumesMs, signal);
      for (const one of pod.spec.initContainers ?? []) {
        if (!(await start(pod, one, signal))) return;
        await sleep(clock, history.initMs, signal);
      }
      for (const one of pod.spec.containers) await start(pod, one, signal);
    } catch (error) {
      if (!isAbort(error)) throw error;
    } finally {
      end();
      images.forget(pod.metadata.uid);
    }
  };
  let isOver = false;
  const all = Promise.all(histories.map(live)).finally(() => {
    isOver = true;
  });
  all.catch(() => {});
  for (let hour = 0; hour < 2 && !isOver; hour++) await clock.advance(3_600_000);
  assert.ok(isOver, "a pod waits forever");
  await all;
  await clock.advance(0);
  assert.deepEqual([...pulling], [], "a pull outlives its pods");
  assert.deepEqual(images.imagesInUse(), new Set());
  const counts = (await metrics.registry.metrics())
    .split("\n")
    .filter((line) => line.startsWith("kubelet_image_manager_ensure_image_requests_total"))
    .sort();
  return { events, counts };
}

test("no image is pulled twice at once, for a pod that is gone, or used without the check of credentials", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record(scenario),
      fc.array(podHistory, { minLength: 1, maxLength: 5 }),
      async (given, histories) => void (await run(given, histories, true)),
    ),
    { numRuns: 200 },
  );
});

test("the events of a pod, and the counted requests, are those of pulls at the time of need", async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(scenario), podHistory, async ({ registry, limits }, history) => {
      // The end of a pod, and the loss of an image, meet a different moment of its start.
      const given = { registry: { ...registry, removedMs: null }, limits };
      const histories = [{ ...history, deletedMs: null }];
      assert.deepEqual(await run(given, histories, true), await run(given, histories, false));
    }),
    { numRuns: 200 },
  );
});
