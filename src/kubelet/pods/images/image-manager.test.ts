import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { msFromNow } from "../../../lib/base/clock.ts";
import { abortError, isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { ImageSpecInit } from "../../../lib/clients/cri/cri.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import { ImageSchema, ImageSpecSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { ImageManager, type ImageManagerOptions } from "./image-manager.ts";

function setUp(options: Partial<ImageManagerOptions> = {}, present: string[] = []) {
  const clock = new FakeClock();
  const store = new Set(present);
  const calls: string[] = [];
  const specs: ImageSpecInit[] = [];
  const auths: string[] = [];
  const waits = new Map<string, string>();
  const events: string[] = [];
  const registry = { pull: async (_image: string, _signal?: AbortSignal): Promise<void> => {} };
  const images = new ImageManager({
    images: {
      imageStatus: async ({ image = "" }) =>
        store.has(image)
          ? create(ImageSchema, { id: `id of ${image}`, uid: { value: 7n }, size: 1234n })
          : undefined,
      pullImage: async (spec, auth, _sandbox, o) => {
        const { image = "" } = spec;
        calls.push(image);
        specs.push(spec);
        auths.push(auth?.username ?? "");
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
      normal: (_pod, reason, message, container) => events.push(`${reason}(${container}): ${message}`),
      warning: (_pod, reason, message, container) => events.push(`${reason}(${container})! ${message}`),
    },
    ...options,
  });
  const stop = new AbortController();
  const ensure = (image: string, policy = "IfNotPresent", pod: Pod = aPod()) =>
    images.ensure(
      pod,
      aContainer("a", { image, imagePullPolicy: policy }),
      {},
      { signal: stop.signal, onPull: (wait) => waits.set(image, wait) },
    );
  return { clock, images, store, calls, specs, auths, waits, events, registry, ensure, stop };
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

test("the user of the image is returned, even after a pull", async () => {
  const { ensure } = setUp();
  assert.equal((await ensure("x:1")).user.uid, 7n);
  assert.equal((await ensure("x:1")).user.uid, 7n);
});

test("an image without a tag means latest", async () => {
  const { ensure, calls } = setUp();
  await ensure("x");
  assert.deepEqual(calls, ["x:latest"]);
});

// parity: event Pulling, event Pulled, event Failed, event BackOff, event ErrImageNeverPull
test("events state what happened, and name the container", async () => {
  const { ensure, events, registry, clock } = setUp();
  registry.pull = async () => void (await clock.advance(1500));
  await ensure("x:1");
  await ensure("x:1");
  assert.deepEqual(events.splice(0), [
    'Pulling(a): Pulling image "x:1"',
    'Pulled(a): Successfully pulled image "x:1" in 1.5s (1.5s including waiting). Image size: 1234 bytes.',
    'Pulled(a): Container image "x:1" already present on machine',
  ]);
  registry.pull = fails;
  await assert.rejects(ensure("y:1"), code("ErrImagePull"));
  await assert.rejects(ensure("y:1"), code("ImagePullBackOff"));
  await assert.rejects(ensure("z:1", "Never"), code("ErrImageNeverPull"));
  assert.deepEqual(events, [
    'Pulling(a): Pulling image "y:1"',
    'Failed(a)! Failed to pull image "y:1": no route to registry',
    'BackOff(a): Back-off pulling image "y:1"',
    'ErrImageNeverPull(a)! Container image "z:1" is not present with pull policy of Never',
  ]);
});

test("events name the image as in the pod, the runtime gets it with the default tag", async () => {
  const { ensure, events, calls } = setUp();
  await ensure("x");
  assert.deepEqual(calls, ["x:latest"]);
  assert.equal(events[0], 'Pulling(a): Pulling image "x"');
});

test("the duration of a pull is reported without and with waiting", async () => {
  const { ensure, events, registry, clock } = setUp({ parallelPulls: 1 });
  registry.pull = async () => void (await clock.advance(700));
  await Promise.all([ensure("a:1"), ensure("b:1")]);
  assert.deepEqual(
    events.filter((line) => line.startsWith("Pulled")).map((line) => /in (.*)\. Image/.exec(line)?.[1]),
    ["700ms (700ms including waiting)", "700ms (1.4s including waiting)"],
  );
});

const failureTable: [error: unknown, reason: string, message: string][] = [
  [new Error("boom"), "ErrImagePull", "boom"],
  [
    new CriError("UNKNOWN", "PullImage", "RegistryUnavailable: 503 from the proxy"),
    "RegistryUnavailable",
    "image pull failed for x:1 because the registry is unavailable: 503 from the proxy",
  ],
  [
    new CriError("UNKNOWN", "PullImage", "SignatureValidationFailed"),
    "SignatureValidationFailed",
    "image pull failed for x:1 because the signature validation failed",
  ],
  [
    new CriError("NOT_FOUND", "PullImage", "no such tag"),
    "ErrImagePull",
    "rpc error: code = NotFound desc = no such tag",
  ],
];
for (const [error, reason, message] of failureTable)
  test(`a pull that fails with "${(error as Error).message}": ${reason}, even during the back-off`, async () => {
    const { ensure, registry } = setUp();
    registry.pull = async () => {
      throw error;
    };
    await assert.rejects(
      ensure("x:1"),
      (e: KubeletError) => code(reason)(e) && e.message === message && e.retryAt === undefined,
    );
    await assert.rejects(ensure("x:1"), (e: KubeletError) => {
      assert.equal(e.message, `Back-off pulling image "x:1": ${reason}: ${message}`);
      return e.code === "ImagePullBackOff";
    });
  });

// parity: gate RuntimeClassInImageCriApi=true as handlers, gate RuntimeClassInImageCriApi=false as handlers
test("the runtime gets the pod's annotations, and the handler if it stores images by handler", async () => {
  for (const [handlers, expected] of [
    [undefined, undefined],
    [{ of: () => "kata" }, "kata"],
  ] as const) {
    const { ensure, specs } = setUp({ handlers });
    await ensure("x:1", "Always", aPod({}, { annotations: { a: "b" } }));
    assert.deepEqual(specs[0], { image: "x:1", annotations: { a: "b" }, runtimeHandler: expected });
  }
});

test("PullImage names the image as the recorded requests do", async () => {
  const fixture = new URL("../../../../test/fixtures/recorded/cri-requests.jsonl", import.meta.url);
  const recorded = readFileSync(fixture, "utf8")
    .trim()
    .split("\n")
    .map(
      (line) =>
        JSON.parse(line) as { method: string; request: { image: { image: string; annotations: object } } },
    )
    .filter(({ method }) => method === "PullImage");
  assert.equal(recorded.length, 3);
  for (const { request } of recorded) {
    const { ensure, specs } = setUp();
    await ensure(request.image.image, "Always", aPod({}, { annotations: { ...request.image.annotations } }));
    const sent = specs.map((spec) =>
      toJson(ImageSpecSchema, create(ImageSpecSchema, spec), { useProtoFieldName: true }),
    );
    assert.deepEqual(sent, [request.image]);
  }
});

const credentialTable: [
  rule: string,
  credentials: string[],
  right: string,
  outcome: string,
  tried: string[],
][] = [
  ["an image is pulled anonymously without any", [], "", "ref of x:1", [""]],
  ["no other is tried if the first is accepted", ["a", "b"], "a", "ref of x:1", ["a"]],
  ["the next is tried when one is rejected", ["a", "b"], "b", "ref of x:1", ["a", "b"]],
  [
    "the error for each is reported if none is accepted",
    ["a", "b"],
    "c",
    "[a rejected, b rejected]",
    ["a", "b"],
  ],
];
for (const [rule, users, right, outcome, tried] of credentialTable)
  test(`credentials: ${rule}`, async () => {
    const lookups: string[] = [];
    const { ensure, registry, auths } = setUp({
      credentials: {
        async credentials(pod, image) {
          lookups.push(`${pod.metadata.name} ${image}`);
          return users.map((username) => ({ username, password: "" }));
        },
      },
    });
    registry.pull = async () => {
      const user = auths.at(-1) ?? "";
      if (user !== right) throw new Error(`${user} rejected`);
    };
    const result = await ensure("x:1").then(
      (image) => image.ref,
      (error: KubeletError) => error.message,
    );
    assert.equal(result, outcome);
    assert.deepEqual(auths, tried);
    assert.deepEqual(lookups, ["p x:1"]);
  });

// parity: gate KubeletEnsureSecretPulledImages=false as records
test("credentials are not looked up for an image that is present, nor during the back-off", async () => {
  let lookups = 0;
  const credentials = async () => {
    lookups++;
    return [];
  };
  const { ensure, registry } = setUp({ credentials: { credentials }, records: undefined }, ["x:1"]);
  await ensure("x:1");
  assert.equal(lookups, 0);
  registry.pull = fails;
  await assert.rejects(ensure("y:1"), code("ErrImagePull"));
  await assert.rejects(ensure("y:1"), code("ImagePullBackOff"));
  assert.equal(lookups, 1);
});

test("two pods that need the same image concurrently pull it twice, each with its own credentials", async () => {
  const { ensure, calls } = setUp();
  await Promise.all([ensure("x:1"), ensure("x:1", "IfNotPresent", aPod({}, { uid: "other" as PodUid }))]);
  assert.deepEqual(calls, ["x:1", "x:1"]);
});

// parity: metric /metrics kubelet_image_manager_ensure_image_requests_total
test("requests for images are counted by outcome, pulls by size", async () => {
  const metrics = createMetrics();
  const { ensure } = setUp({ metrics });
  await ensure("x:1");
  await ensure("x:1");
  await ensure("x:1", "Always");
  await assert.rejects(ensure("y:1", "Never"));
  await assert.rejects(ensure("No Name"));
  const text = await metrics.registry.metrics();
  const count = (labels: string) =>
    new RegExp(`^kubelet_image_manager_ensure_image_requests_total\\{${labels}\\} (\\d+)$`, "m").exec(
      text,
    )?.[1];
  assert.equal(count('pull_policy="ifnotpresent",present_locally="false",pull_required="true"'), "1");
  assert.equal(count('pull_policy="ifnotpresent",present_locally="true",pull_required="false"'), "1");
  assert.equal(count('pull_policy="always",present_locally="unknown",pull_required="true"'), "1");
  assert.equal(count('pull_policy="never",present_locally="false",pull_required="unknown"'), "1");
  assert.equal(count('pull_policy="ifnotpresent",present_locally="unknown",pull_required="unknown"'), "1");
  assert.match(text, /^kubelet_image_pull_duration_seconds_count\{image_size_in_bytes="0-10MB"\} 2$/m);
});

test("a pull reports what it waits for: others, the rate, the registry", async () => {
  const { ensure, registry, clock, waits } = setUp({ parallelPulls: 1, pullsPerSecond: 1, pullBurst: 1 });
  const end = Promise.withResolvers<void>();
  registry.pull = () => end.promise;
  const all = [ensure("a:1"), ensure("b:1")];
  await settle();
  assert.equal(waits.get("a:1"), "pulling image a:1");
  assert.equal(waits.get("b:1"), "pulling image b:1: waiting for other pulls");
  end.resolve();
  await settle();
  assert.equal(waits.get("b:1"), "pulling image b:1: waiting for the pull rate (registryPullQPS)");
  await clock.advance(1000);
  assert.equal(waits.get("b:1"), "pulling image b:1");
  await Promise.all(all);
});

test("events for the image of a volume name no container", async () => {
  const { images, events, stop } = setUp();
  const options = { signal: stop.signal, onPull() {} };
  await images.ensure(aPod(), { image: "i:1", imagePullPolicy: "Always" }, {}, options);
  assert.ok(events.length > 0 && events.every((line) => line.includes("(undefined)")), events.join("\n"));
});

// parity: event InspectFailed
test("an invalid name is reported as InvalidImageName, without a call to the runtime", async () => {
  const { ensure, events } = setUp();
  await assert.rejects(ensure("No Name"), code("InvalidImageName"));
  assert.equal(
    events[0],
    'InspectFailed(a)! Failed to apply default image tag "No Name": couldn\'t parse image name "No Name": invalid reference format: repository name (library/No Name) must be lowercase',
  );
});

test("a failed ImageStatus is reported as ImageInspectError", async () => {
  const { ensure } = setUp({
    images: { imageStatus: fails, pullImage: async () => "" },
  });
  await assert.rejects(ensure("x:1"), code("ImageInspectError"));
});

test("after a failed pull the next waits, 10 s doubling to 5 min; the last error is reported again", async () => {
  const { ensure, registry, clock, calls } = setUp();
  registry.pull = fails;
  for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
    await assert.rejects(ensure("x:1"), code("ErrImagePull"));
    const retryAt = msFromNow(clock, seconds * 1000);
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

test("each pod has its own back-off, which is dropped with the pod", async () => {
  const { ensure, registry, images } = setUp();
  const other = aPod({}, { uid: "other" as PodUid });
  registry.pull = fails;
  await assert.rejects(ensure("x:1"), code("ErrImagePull"));
  await assert.rejects(ensure("x:1", "IfNotPresent", other), code("ErrImagePull"));
  images.forget(aPod().metadata.uid);
  await assert.rejects(ensure("x:1"), code("ErrImagePull"));
  await assert.rejects(ensure("x:1", "IfNotPresent", other), code("ImagePullBackOff"));
});

test("an aborted pull does not count as failed", async () => {
  const { ensure, registry, stop } = setUp();
  registry.pull = (_image, signal) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(abortError())));
  const pulled = ensure("x:1");
  await settle();
  stop.abort();
  await assert.rejects(pulled, isAbort);
  registry.pull = async () => {};
});

// parity: field serializeImagePulls as parallelPulls, field maxParallelImagePulls as parallelPulls
test("no more pulls in parallel than allowed, the next when one finishes", async () => {
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

// parity: field registryPullQPS as pullsPerSecond, field registryBurst as pullBurst
test("no more pulls per second than allowed", async () => {
  const { ensure, calls, clock } = setUp({ pullsPerSecond: 1, pullBurst: 1, parallelPulls: 5 });
  const all = ["a:1", "b:1", "c:1"].map((image) => ensure(image));
  await settle();
  assert.equal(calls.length, 1);
  await clock.advance(1000);
  assert.equal(calls.length, 2);
  await clock.advance(1000);
  await Promise.all(all);
});
