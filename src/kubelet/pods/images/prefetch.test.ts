import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { abortError, isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { ImageSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { ImageManager, type ImageManagerOptions } from "./image-manager.ts";

/** A pull that the test ends. */
interface Pull {
  readonly image: string;
  readonly user: string;
  readonly end: (error?: Error) => Promise<void>;
  isAborted: boolean;
}

function setUp(options: Partial<ImageManagerOptions> = {}, present: string[] = []) {
  const clock = new FakeClock();
  const store = new Set(present);
  const lookups: string[] = [];
  const events: string[] = [];
  const running: Pull[] = [];
  /** Every pull that was started. */
  const pulls: string[] = [];
  const images = new ImageManager({
    images: {
      imageStatus: async ({ image = "" }) => {
        lookups.push(image);
        return store.has(image) ? create(ImageSchema, { id: `id of ${image}`, size: 1234n }) : undefined;
      },
      pullImage: ({ image = "" }, auth, _sandbox, o) => {
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        const user = auth?.username ?? "";
        const end = async (error?: Error) => {
          assert.ok(running.includes(pull), "the pull has ended before");
          running.splice(running.indexOf(pull), 1);
          if (error) reject(error);
          else {
            store.add(image);
            resolve(`ref of ${image}`);
          }
          await settle();
        };
        const pull: Pull = { image, user, end, isAborted: false };
        running.push(pull);
        pulls.push(user ? `${image} as ${user}` : image);
        o?.signal?.addEventListener("abort", () => {
          pull.isAborted = true;
          void end(abortError());
        });
        return promise;
      },
    },
    clock,
    parallelPulls: 5,
    pullsPerSecond: 0,
    pullBurst: 1,
    prefetch: true,
    events: {
      normal: (_pod, reason, message, container) => events.push(`${reason}(${container}): ${message}`),
      warning: (_pod, reason, message, container) => events.push(`${reason}(${container})! ${message}`),
    },
    ...options,
  });
  const stop = new AbortController();
  const prefetch = async (pod: Pod) => {
    images.prefetch(pod, async () => ({}));
    await settle();
  };
  const ensure = (pod: Pod, container: Container) =>
    images.ensure(pod, container, {}, { signal: stop.signal, onPull: () => {} });
  const isPulling = () => running.map(({ image }) => image);
  const endOf = (image: string, error?: Error) => running.find((pull) => pull.image === image)!.end(error);
  return { clock, store, lookups, events, running, pulls, images, stop, prefetch, ensure, isPulling, endOf };
}

const main = aContainer("main", { image: "main:1", imagePullPolicy: "IfNotPresent" });
const init = aContainer("init", { image: "init:1", imagePullPolicy: "IfNotPresent" });
const podWith = (spec: Partial<Pod["spec"]>, uid = "u") => aPod({ ...spec }, { uid: uid as PodUid });
const noRoute = new Error("no route to registry");
const code = (expected: string) => (error: unknown) =>
  error instanceof KubeletError && error.code === expected;

test("the images of init containers are pulled first, then those of the others together", async () => {
  const { prefetch, isPulling, endOf } = setUp();
  const other = aContainer("other", { image: "other:1" });
  await prefetch(podWith({ initContainers: [init], containers: [main, other] }));
  assert.deepEqual(isPulling(), ["init:1"]);
  await endOf("init:1");
  assert.deepEqual(isPulling(), ["main:1", "other:1"]);
});

test("a container waits for the pull that runs, and reports it", async () => {
  const { prefetch, ensure, endOf, events, pulls, clock } = setUp();
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  await clock.advance(2000);
  const ensured = ensure(pod, main);
  await clock.advance(1000);
  assert.deepEqual(events, ['Pulling(main): Pulling image "main:1"']);
  await endOf("main:1");
  assert.equal((await ensured).ref, "ref of main:1");
  assert.equal(
    events[1],
    'Pulled(main): Successfully pulled image "main:1" in 3s (3s including waiting). Image size: 1234 bytes.',
  );
  assert.deepEqual(pulls, ["main:1"]);
});

test("a container reports a pull that has ended as its own, the next container finds the image", async () => {
  const { prefetch, ensure, endOf, events, pulls, clock } = setUp();
  const again = aContainer("again", { image: "main:1" });
  const pod = podWith({ containers: [main, again] });
  await prefetch(pod);
  await clock.advance(2000);
  await endOf("main:1");
  await clock.advance(60_000);
  assert.equal((await ensure(pod, main)).ref, "ref of main:1");
  await ensure(pod, again);
  assert.deepEqual(events, [
    'Pulling(main): Pulling image "main:1"',
    'Pulled(main): Successfully pulled image "main:1" in 2s (2s including waiting). Image size: 1234 bytes.',
    'Pulled(again): Container image "main:1" already present on machine',
  ]);
  assert.deepEqual(pulls, ["main:1"]);
});

test("an image that is present is looked up once for a start without delay, and again after a delay", async () => {
  const { prefetch, ensure, lookups, events, clock } = setUp({}, ["main:1"]);
  for (const [uid, delayMs, expected] of [
    ["quick", 1000, 1],
    ["slow", 3000, 2],
  ] as const) {
    const pod = podWith({ containers: [main] }, uid);
    await prefetch(pod);
    await clock.advance(delayMs);
    await ensure(pod, main);
    assert.equal(lookups.splice(0).length, expected, uid);
    assert.deepEqual(events.splice(0), ['Pulled(main): Container image "main:1" already present on machine']);
  }
});

test("an image that was removed before its container starts is pulled again", async () => {
  const { prefetch, ensure, endOf, store, pulls } = setUp();
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  await endOf("main:1");
  store.clear();
  const ensured = ensure(pod, main);
  await settle();
  await endOf("main:1");
  await ensured;
  assert.deepEqual(pulls, ["main:1", "main:1"]);
});

test("a failed pull is not reported, the container tries again and reports its own failure", async () => {
  const { prefetch, ensure, endOf, events, pulls } = setUp();
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  await endOf("main:1", noRoute);
  assert.deepEqual(events, []);
  const ensured = ensure(pod, main);
  await settle();
  await Promise.all([assert.rejects(ensured, code("ErrImagePull")), endOf("main:1", noRoute)]);
  assert.deepEqual(events, [
    'Pulling(main): Pulling image "main:1"',
    'Failed(main)! Failed to pull image "main:1": no route to registry',
  ]);
  await assert.rejects(ensure(pod, main), code("ImagePullBackOff"));
  assert.equal(pulls.length, 2);
});

test("a container that waits for a pull reports its failure", async () => {
  const { prefetch, ensure, endOf, pulls } = setUp();
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  const ensured = ensure(pod, main);
  await settle();
  await Promise.all([assert.rejects(ensured, code("ErrImagePull")), endOf("main:1", noRoute)]);
  assert.equal(pulls.length, 1);
});

test("policy Always: a pull that runs is used, after one that has ended the registry is queried again", async () => {
  const { prefetch, ensure, endOf, pulls } = setUp();
  const always = { ...main, imagePullPolicy: "Always" as const };
  const running = podWith({ containers: [always] }, "running");
  await prefetch(running);
  const first = ensure(running, always);
  await settle();
  await endOf("main:1");
  await first;
  assert.equal(pulls.length, 1);
  const later = { ...always, image: "later:1" };
  const ended = podWith({ containers: [later] }, "ended");
  await prefetch(ended);
  await endOf("later:1");
  const second = ensure(ended, later);
  await settle();
  await endOf("later:1");
  await second;
  assert.deepEqual(pulls, ["main:1", "later:1", "later:1"]);
});

test("policy Always: the registry is queried once for an image that is present, when its container needs it", async () => {
  const { prefetch, ensure, endOf, pulls } = setUp({}, ["main:1"]);
  const always = { ...main, imagePullPolicy: "Always" as const };
  const pod = podWith({ containers: [always] });
  await prefetch(pod);
  assert.deepEqual(pulls, []);
  const ensured = ensure(pod, always);
  await settle();
  await endOf("main:1");
  await ensured;
  assert.deepEqual(pulls, ["main:1"]);
});

test("images with policy Never, without a valid name, or while the node lacks space are not pulled", async () => {
  const { prefetch, isPulling } = setUp({ pressure: { conditions: ["DiskPressure"] } });
  await prefetch(podWith({ containers: [main] }));
  assert.deepEqual(isPulling(), []);
  const other = setUp();
  const containers = [{ ...main, imagePullPolicy: "Never" as const }, aContainer("x", { image: "No Name" })];
  await other.prefetch(podWith({ containers }));
  assert.deepEqual(other.pulls, []);
});

test("an image is not pulled if a volume, or a container that names it otherwise, may only use it if it is present", async () => {
  const { prefetch, pulls } = setUp();
  const volumes = [{ name: "v", image: { reference: "main:1", pullPolicy: "Never" } }];
  const short = aContainer("short", { image: "other" });
  const full = aContainer("full", { image: "other:latest", imagePullPolicy: "Never" });
  await prefetch(podWith({ containers: [main, short, full], volumes }));
  assert.deepEqual(pulls, []);
});

test("policy Never: a pull for another container of the pod is not used, and stays its own", async () => {
  const { prefetch, ensure, endOf, events, pulls } = setUp();
  const debug = { ...main, name: "debug", imagePullPolicy: "Never" as const };
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  await assert.rejects(ensure(pod, debug), code("ErrImageNeverPull"));
  await endOf("main:1");
  await ensure(pod, debug);
  await ensure(pod, main);
  assert.deepEqual(
    events.map((line) => line.replace(/ in .*/, "")),
    [
      'ErrImageNeverPull(debug)! Container image "main:1" is not present with pull policy of Never',
      'Pulled(debug): Container image "main:1" already present on machine',
      'Pulling(main): Pulling image "main:1"',
      'Pulled(main): Successfully pulled image "main:1"',
    ],
  );
  assert.deepEqual(pulls, ["main:1"]);
});

test("containers that wait for a pull come before all prefetches", async () => {
  const { prefetch, ensure, isPulling, endOf } = setUp({ parallelPulls: 1 });
  const [a, b, c] = ["a:1", "b:1", "c:1"].map((image) => aContainer(image[0]!, { image })) as [
    Container,
    Container,
    Container,
  ];
  const ahead = podWith({ containers: [a, b] }, "ahead");
  await prefetch(ahead);
  assert.deepEqual(isPulling(), ["a:1"]);
  const ensured = ensure(podWith({ containers: [c] }, "waits"), c);
  await settle();
  await endOf("a:1");
  assert.deepEqual(isPulling(), ["c:1"]);
  await endOf("c:1");
  await ensured;
  assert.deepEqual(isPulling(), ["b:1"]);
});

test("a container whose image waits to be prefetched takes its turn as a container", async () => {
  const { prefetch, ensure, isPulling, endOf, pulls } = setUp({ parallelPulls: 1 });
  const [a, b, c] = ["a:1", "b:1", "c:1"].map((image) => aContainer(image[0]!, { image })) as [
    Container,
    Container,
    Container,
  ];
  await prefetch(podWith({ containers: [a, b] }, "ahead"));
  const pod = podWith({ containers: [c] }, "waits");
  await prefetch(pod);
  const ensured = ensure(pod, c);
  await settle();
  await endOf("a:1");
  assert.deepEqual(isPulling(), ["c:1"]);
  await endOf("c:1");
  await ensured;
  await endOf("b:1");
  assert.deepEqual(pulls, ["a:1", "c:1", "b:1"]);
});

test("the pull rate is left to containers that wait for it", async () => {
  const { prefetch, ensure, pulls, clock } = setUp({ pullsPerSecond: 1, pullBurst: 1 });
  const [a, b, c] = ["a:1", "b:1", "c:1"].map((image) => aContainer(image[0]!, { image })) as [
    Container,
    Container,
    Container,
  ];
  await prefetch(podWith({ containers: [a, b] }, "ahead"));
  assert.deepEqual(pulls, ["a:1"]);
  const ensured = ensure(podWith({ containers: [c] }, "waits"), c);
  ensured.catch(() => {});
  await clock.advance(1000);
  assert.deepEqual(pulls, ["a:1", "c:1"]);
  await clock.advance(1000);
  assert.deepEqual(pulls, ["a:1", "c:1", "b:1"]);
});

test("pods that pull an image in the same way share one pull", async () => {
  const { prefetch, ensure, endOf, pulls, events } = setUp();
  const pods = ["1", "2", "3"].map((uid) => podWith({ containers: [main] }, uid));
  for (const pod of pods) await prefetch(pod);
  const ensured = pods.map((pod) => ensure(pod, main));
  await settle();
  await endOf("main:1");
  assert.deepEqual(new Set((await Promise.all(ensured)).map(({ ref }) => ref)), new Set(["ref of main:1"]));
  assert.deepEqual(pulls, ["main:1"]);
  assert.equal(events.filter((line) => line.startsWith("Pulled(main): Successfully")).length, 3);
});

test("pods with other credentials pull one at a time", async () => {
  const { ensure, endOf, pulls, isPulling } = setUp({
    credentials: { credentials: async ({ metadata }) => [{ username: metadata.uid, password: "" }] },
  });
  const ensured = ["1", "2"].map((uid) => ensure(podWith({ containers: [main] }, uid), main));
  await settle();
  assert.deepEqual(isPulling(), ["main:1"]);
  await endOf("main:1");
  await endOf("main:1");
  await Promise.all(ensured);
  assert.deepEqual(pulls, ["main:1 as 1", "main:1 as 2"]);
});

test("an image that was pulled with credentials that have changed is checked with the new ones", async () => {
  let user = "old";
  const checked: string[] = [];
  const { prefetch, ensure, endOf, pulls } = setUp({
    credentials: { credentials: async () => [{ username: user, password: "" }] },
    records: {
      recordPullIntent: async () => {},
      recordImagePulled: async () => {},
      recordPullEnded: async () => {},
      mustPull: async (_image, credentials) => {
        checked.push((await credentials())[0]!.username ?? "");
        return true;
      },
    },
  });
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  await endOf("main:1");
  user = "new";
  const ensured = ensure(pod, main);
  await settle();
  await endOf("main:1");
  await ensured;
  assert.deepEqual(pulls, ["main:1 as old", "main:1 as new"]);
  assert.deepEqual(checked, ["new"]);
});

/** Access to every image has to be proven by a pull; `onCheck` is called with each check. */
const unproven = (onCheck: (isCounted: boolean) => Promise<void> | void) => ({
  recordPullIntent: async () => {},
  recordImagePulled: async () => {},
  recordPullEnded: async () => {},
  mustPull: async (_image: unknown, _credentials: unknown, options?: { readonly isCounted?: boolean }) => {
    await onCheck(options?.isCounted ?? true);
    return true;
  },
});

test("a check of access is counted when a container needs the image, not before", async () => {
  const checks: boolean[] = [];
  const { prefetch, ensure, endOf, pulls } = setUp(
    { records: unproven((isCounted) => void checks.push(isCounted)), parallelPulls: 1 },
    ["main:1"],
  );
  const pod = podWith({ containers: [main] });
  await prefetch(podWith({ containers: [aContainer("a", { image: "a:1" })] }, "ahead"));
  await prefetch(pod);
  assert.deepEqual(checks, [false]);
  const ensured = ensure(pod, main);
  await settle();
  await endOf("a:1");
  await endOf("main:1");
  await ensured;
  assert.deepEqual(checks, [false, true]);
  assert.deepEqual(pulls, ["a:1", "main:1"]);
});

test("a pod that terminates during the check of access requests no sandbox", async () => {
  const { promise: checked, resolve: endCheck } = Promise.withResolvers<void>();
  const { images, pulls } = setUp({ records: unproven(() => checked) }, ["main:1"]);
  const pod = podWith({ containers: [main] });
  let requests = 0;
  images.prefetch(pod, async () => {
    requests++;
    return {};
  });
  await settle();
  images.forget(pod.metadata.uid);
  endCheck();
  await settle();
  assert.deepEqual([requests, pulls], [0, []]);
});

test("the pull of an image that the pod no longer names is aborted, and the image not kept", async () => {
  const { prefetch, ensure, endOf, images, isPulling } = setUp({}, ["init:1"]);
  const pod = podWith({ initContainers: [init], containers: [main] });
  await prefetch(pod);
  const other = { ...main, image: "main:2" };
  const changed = podWith({ initContainers: [init], containers: [other] });
  const ensured = ensure(changed, other);
  await settle();
  assert.deepEqual(isPulling(), ["main:2"]);
  await endOf("main:2");
  await ensured;
  assert.deepEqual(images.imagesInUse(), new Set(["id of init:1"]));
});

test("no image is pulled early after the agent has stopped", async () => {
  const { prefetch, images, running, pulls } = setUp({ parallelPulls: 1 });
  const stop = new AbortController();
  await images.start(stop.signal);
  const [a, b] = ["a", "b"].map((name) => podWith({ containers: [{ ...main, image: `${name}:1` }] }, name));
  await prefetch(a!);
  await prefetch(b!);
  const [pull] = running;
  stop.abort();
  await images.done;
  assert.equal(pull!.isAborted, true);
  assert.deepEqual([running, pulls], [[], ["a:1"]]);
});

test("a pull that runs with credentials that have changed is not used", async () => {
  let user = "old";
  const { prefetch, ensure, endOf, pulls } = setUp({
    credentials: { credentials: async () => [{ username: user, password: "" }] },
  });
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  user = "new";
  const ensured = ensure(pod, main);
  await settle();
  await endOf("main:1");
  assert.deepEqual(pulls, ["main:1 as old", "main:1 as new"]);
  await endOf("main:1");
  await ensured;
});

const base = { namespace: "a", annotations: { k: "v" } };
for (const [what, other] of [
  ["namespaces", { ...base, namespace: "b" }],
  ["annotations", { ...base, annotations: { k: "w" } }],
  ["runtime handlers", { ...base, name: "other-handler" }],
] as const)
  test(`pods with different ${what} share no pull`, async () => {
    const { ensure, endOf, pulls, isPulling } = setUp({ handlers: { of: ({ metadata }) => metadata.name } });
    const ensured = [base, other].map((metadata, i) =>
      ensure(aPod({ containers: [main] }, { uid: String(i) as PodUid, ...metadata }), main),
    );
    await settle();
    assert.deepEqual(isPulling(), ["main:1"]);
    await endOf("main:1");
    await endOf("main:1");
    await Promise.all(ensured);
    assert.equal(pulls.length, 2);
  });

test("an image that is being pulled for a container is not prefetched, and holds no other slot", async () => {
  const { prefetch, ensure, isPulling, endOf } = setUp({ parallelPulls: 2 });
  const first = ensure(podWith({ containers: [main] }, "first"), main);
  await settle();
  await prefetch(podWith({ containers: [main] }, "second"));
  const other = aContainer("other", { image: "other:1" });
  const second = ensure(podWith({ containers: [other] }, "third"), other);
  await settle();
  assert.deepEqual(isPulling(), ["main:1", "other:1"]);
  await Promise.all([endOf("main:1"), endOf("other:1")]);
  await Promise.all([first, second]);
});

test("an image whose pull has failed, but which another pod has pulled, is present", async () => {
  const { prefetch, ensure, endOf, events, store } = setUp();
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  await endOf("main:1", noRoute);
  store.add("main:1");
  await ensure(pod, main);
  assert.deepEqual(events, ['Pulled(main): Container image "main:1" already present on machine']);
});

test("the pull of a pod that terminates is aborted, unless others share it", async () => {
  const { prefetch, ensure, images, running, endOf, isPulling } = setUp();
  const [gone, stays] = ["gone", "stays"].map((uid) => podWith({ containers: [main] }, uid)) as [Pod, Pod];
  await prefetch(gone);
  const ensured = ensure(stays, main);
  await settle();
  images.cancelPrefetch(gone.metadata.uid);
  await settle();
  assert.deepEqual(isPulling(), ["main:1"]);
  await endOf("main:1");
  await ensured;
  const alone = podWith({ containers: [aContainer("a", { image: "a:1" })] }, "alone");
  await prefetch(alone);
  const [pull] = running;
  images.cancelPrefetch(alone.metadata.uid);
  await settle();
  assert.equal(pull!.isAborted, true);
  await prefetch(alone);
  assert.deepEqual(isPulling(), []);
});

test("a pull holds its slot until it ends, even if it goes on for another pod only", async () => {
  const { prefetch, ensure, images, isPulling, endOf } = setUp({ parallelPulls: 1 });
  const [gone, stays] = ["gone", "stays"].map((uid) => podWith({ containers: [main] }, uid)) as [Pod, Pod];
  await prefetch(gone);
  const ensured = ensure(stays, main);
  await settle();
  images.cancelPrefetch(gone.metadata.uid);
  await prefetch(podWith({ containers: [aContainer("a", { image: "a:1" })] }, "next"));
  assert.deepEqual(isPulling(), ["main:1"]);
  await endOf("main:1");
  await ensured;
  assert.deepEqual(isPulling(), ["a:1"]);
});

test("an aborted attempt of a container leaves the pull to the next one", async () => {
  const { prefetch, ensure, endOf, pulls, stop, images, events } = setUp();
  const pod = podWith({ containers: [main] });
  await prefetch(pod);
  const aborted = ensure(pod, main);
  await settle();
  stop.abort();
  await assert.rejects(aborted, isAbort);
  const signal = new AbortController().signal;
  await endOf("main:1");
  await images.ensure(pod, main, {}, { signal, onPull: () => {} });
  assert.deepEqual(pulls, ["main:1"]);
  assert.match(events.at(-1)!, /Successfully pulled/);
});

test("images are in use from their pull until a container has them", async () => {
  const { prefetch, ensure, endOf, images } = setUp({}, ["init:1"]);
  const pod = podWith({ initContainers: [init], containers: [main] });
  await prefetch(pod);
  await endOf("main:1");
  assert.deepEqual(images.imagesInUse(), new Set(["id of init:1", "id of main:1"]));
  await ensure(pod, init);
  assert.deepEqual(images.imagesInUse(), new Set(["id of main:1"]));
  images.cancelPrefetch(pod.metadata.uid);
  assert.deepEqual(images.imagesInUse(), new Set());
});
