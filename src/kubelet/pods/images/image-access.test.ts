import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { abortError, isAbort, type KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import { ImageSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import { ImageManager } from "./image-manager.ts";
import type { TrackedCredential } from "./tracked-credential.ts";

const own: TrackedCredential = {
  username: "own",
  password: "p",
  source: { kind: "secret", uid: "u", namespace: "default", name: "s" },
};

function setUp(o: { present: boolean; mustPull?: boolean; parallel?: number }) {
  const calls: string[] = [];
  const events: string[] = [];
  const metrics = createMetrics();
  const stop = new AbortController();
  const registry = { pull: async (_user: string, _signal?: AbortSignal): Promise<void> => {} };
  let isPresent = o.present;
  const manager = new ImageManager({
    images: {
      imageStatus: async () => (isPresent ? create(ImageSchema, { id: "id-x" }) : undefined),
      pullImage: async (_image, auth, _sandbox, options) => {
        calls.push(`pull as ${auth?.username ?? "anonymous"} ${Object.keys(auth ?? {})}`);
        await registry.pull(auth?.username ?? "", options?.signal);
        isPresent = true;
        return "ref-x";
      },
    },
    clock: new FakeClock(),
    parallelPulls: o.parallel ?? 2,
    pullsPerSecond: 0,
    pullBurst: 1,
    events: {
      normal: (_pod, reason, message) => events.push(`${reason}: ${message}`),
      warning: (_pod, reason, message) => events.push(`${reason}! ${message}`),
    },
    credentials: {
      async credentials() {
        calls.push("credentials");
        return [{ username: "node", password: "p" }, own];
      },
    },
    records: {
      mustPull: async ({ image, imageRef }, credentials) => {
        calls.push(`check ${image} ${imageRef}`);
        await credentials();
        return o.mustPull ?? false;
      },
      recordPullIntent: async (image) => void calls.push(`intent ${image}`),
      recordImagePulled: async ({ image, imageRef }, credential) =>
        void calls.push(`pulled ${image} ${imageRef} as ${credential?.username}`),
      recordPullEnded: async (image, how) => void calls.push(`${how} ${image}`),
    },
    metrics,
  });
  const ensure = (policy: string) =>
    manager
      .ensure(
        aPod(),
        aContainer("a", { image: "x", imagePullPolicy: policy }),
        {},
        { signal: stop.signal, onPull: () => {} },
      )
      .then(
        (image) => image.ref,
        (error: KubeletError) => {
          if (isAbort(error)) throw error;
          return error.code;
        },
      );
  const counts = () => metricValues(metrics, "kubelet_image_manager_ensure_image_requests_total");
  return { calls, events, ensure, counts, registry, stop };
}

const pulls = ["intent x", "pull as node username,password", "pulled x id-x as node"];
const table: [
  policy: string,
  present: boolean,
  mustPull: boolean,
  outcome: string,
  calls: string[],
  labels: string,
][] = [
  ["IfNotPresent", true, false, "id-x", ["check x id-x", "credentials"], "true,pull_required=false"],
  ["IfNotPresent", true, true, "ref-x", ["check x id-x", "credentials", ...pulls], "true,pull_required=true"],
  ["IfNotPresent", false, true, "ref-x", ["credentials", ...pulls], "false,pull_required=true"],
  ["Never", true, false, "id-x", ["check x id-x", "credentials"], "true,pull_required=false"],
  ["Never", true, true, "ErrImageNeverPull", ["check x id-x", "credentials"], "true,pull_required=true"],
  ["Never", false, true, "ErrImageNeverPull", [], "false,pull_required=unknown"],
  ["Always", true, false, "ref-x", ["credentials", ...pulls], "unknown,pull_required=true"],
];
for (const [policy, present, mustPull, outcome, expected, labels] of table)
  test(`${policy}, ${present ? "present" : "absent"}, ${mustPull ? "not " : ""}for this pod: ${outcome}; credentials are looked up once`, async () => {
    const { calls, ensure, counts } = setUp({ present, mustPull });
    assert.equal(await ensure(policy), outcome);
    assert.deepEqual(calls, expected);
    assert.deepEqual(await counts(), {
      [`pull_policy=${policy.toLowerCase()},present_locally=${labels}`]: 1,
    });
  });

test("a pod that may not use an image gets the same event as if it were not present", async () => {
  const eventsIf = async (present: boolean) => {
    const { events, ensure } = setUp({ present, mustPull: true });
    await ensure("Never");
    return events;
  };
  assert.deepEqual(await eventsIf(true), [
    'ErrImageNeverPull! Container image "x" is not present with pull policy of Never',
  ]);
  assert.deepEqual(await eventsIf(true), await eventsIf(false));
});

test("the event of a pod that may use an image reports so", async () => {
  const { events, ensure } = setUp({ present: true });
  await ensure("IfNotPresent");
  assert.deepEqual(events, [
    'Pulled: Container image "x" already present on machine and can be accessed by the pod',
  ]);
});

// parity: gate KubeletEnsureSecretPulledImages=true as records
test("the credential that the registry accepted is recorded", async () => {
  const { calls, ensure, registry } = setUp({ present: false });
  registry.pull = async (user) => {
    if (user === "node") throw new Error("401");
  };
  await ensure("IfNotPresent");
  assert.equal(calls.at(-1), "pulled x id-x as own");
});

const ends: [rule: string, error: Error, how: string][] = [
  ["the registry rejects the pull", new CriError("UNKNOWN", "PullImage", "401"), "failed x"],
  ["the runtime is unavailable", new CriError("UNAVAILABLE", "PullImage", "connection reset"), "unknown x"],
  ["the runtime does not respond", new CriError("DEADLINE_EXCEEDED", "PullImage", "too late"), "unknown x"],
  ["the pod was deleted", abortError(), "unknown x"],
];
for (const [rule, error, how] of ends)
  test(`a pull that ends because ${rule} is recorded as ${how}`, async () => {
    const { calls, ensure, registry } = setUp({ present: false });
    // The error of the second credential does not hide the error of the first.
    registry.pull = async (user) => {
      throw user === "node" ? error : new CriError("UNKNOWN", "PullImage", "401");
    };
    await ensure("IfNotPresent").catch((thrown) => assert.ok(isAbort(thrown)));
    assert.equal(calls.at(-1), how);
  });

test("a pull that is still queued or in back-off has no intent recorded", async () => {
  const { calls, ensure, registry, stop } = setUp({ present: false, parallel: 1 });
  const end = Promise.withResolvers<void>();
  registry.pull = () => end.promise;
  const first = ensure("IfNotPresent");
  const second = assert.rejects(ensure("IfNotPresent"), isAbort);
  await settle();
  stop.abort();
  await second;
  end.reject(new Error("no"));
  assert.equal(await first, "ErrImagePull");
  assert.deepEqual(
    calls.filter((call) => !call.startsWith("pull as") && call !== "credentials"),
    ["intent x", "failed x"],
  );
});
