import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { type PodAdmissionOptions, podAdmission } from "./pod-admission.ts";

const fromApi = (uid: string, cpu: string, more: object = {}) =>
  aPod(
    { containers: [aContainer("a", { resources: { requests: { cpu } } })], ...more },
    { uid: uid as PodUid, annotations: { "kubernetes.io/config.source": "api" } },
  );
const active = [fromApi("a", "1500m"), fromApi("b", "400m")];
const options: PodAdmissionOptions = {
  clock: new FakeClock(),
  logger: silentLogger,
  metrics: createMetrics(),
  events: { normal() {}, warning() {} },
  evict: () => assert.fail("nothing is preempted"),
  isTerminating: () => false,
  nodeName: "n1",
  allocatable: { cpu: "2", memory: "4Gi" },
  cpus: 2,
  maxPods: 110,
  podsPerCore: 0,
  allowedUnsafeSysctls: ["net.core.somaxconn"],
  podLevelResources: true,
  declaredFeatures: () => [],
  runtime: { supplementalGroupsPolicy: () => false },
  activePods: () => active,
  runs: () => true,
};

/** Why a pod is rejected. */
function failureOf(o: PodAdmissionOptions) {
  const { admit } = podAdmission(o);
  return (pod: Pod) => {
    const admission = admit(pod);
    assert.notEqual(admission.kind, "waiting");
    return admission.kind === "rejected" ? admission.failure : undefined;
  };
}

test("a pod is checked against the others, and never against itself", () => {
  const admit = failureOf(options);
  assert.equal(admit(fromApi("b", "500m")), undefined);
  assert.deepEqual(admit(fromApi("c", "101m")), {
    phase: "Failed",
    reason: "OutOfcpu",
    message:
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 101, used: 1900, capacity: 2000",
  });
});

test("a pod is checked against the current devices, and the rejection describes them", () => {
  const gpu = "v.example/gpu";
  const withGpus = (uid: string, count: string) =>
    fromApi(uid, "0", { containers: [aContainer("a", { resources: { requests: { [gpu]: count } } })] });
  let amounts: Record<string, string> = {};
  const devices = {
    fitAmounts: () => amounts,
    describe: (name: string) => `${name}: 1 of 2 devices healthy`,
  };
  const admit = failureOf({ ...options, devices });
  assert.equal(admit(withGpus("c", "5")), undefined, "no plugin has such a resource");
  amounts = { [gpu]: "1" };
  assert.equal(admit(withGpus("d", "1")), undefined);
  assert.deepEqual(admit(withGpus("e", "2")), {
    phase: "Failed",
    reason: `OutOf${gpu}`,
    message: `Pod was rejected: Node didn't have enough resource: ${gpu}, requested: 2, used: 0, capacity: 1`,
    detail: `${gpu}: 1 of 2 devices healthy`,
  });
});

test("only admitted pods count against the next one", () => {
  const [a, b, c] = ["a", "b", "c"].map((uid) => fromApi(uid, "1500m")) as [Pod, Pod, Pod];
  let desired = [a, b];
  const admit = failureOf({ ...options, activePods: () => desired, runs: () => false });
  assert.equal(admit(a), undefined);
  assert.equal(admit(b)?.reason, "OutOfcpu");
  assert.equal(admit(a), undefined, "checked again, it remains admitted");
  desired = [c];
  assert.equal(admit(c), undefined, "a was removed");
});

// parity: field podsPerCore, field maxPods
test("the smaller of podsPerCore and maxPods limits the pods", () => {
  const reasonOf = (more: object) => failureOf({ ...options, ...more })(fromApi("c", "0"))?.reason;
  assert.equal(reasonOf({ podsPerCore: 1 }), "OutOfpods");
  assert.equal(reasonOf({ podsPerCore: 2 }), undefined);
  assert.equal(reasonOf({ maxPods: 2, podsPerCore: 50 }), "OutOfpods");
});

test("a node has the default labels and its own", () => {
  const admit = failureOf({ ...options, labelsAndTaints: () => ({ labels: { zone: "a" }, taints: [] }) });
  const nodeSelector = { "kubernetes.io/os": "linux", "kubernetes.io/hostname": "n1", zone: "a" };
  assert.equal(admit(fromApi("c", "0", { nodeSelector })), undefined);
  assert.equal(admit(fromApi("c", "0", { nodeSelector: { zone: "b" } }))?.reason, "NodeAffinity");
});

test("unsafe sysctls are admitted if the configuration allows them", () => {
  const admit = failureOf(options);
  const setting = (name: string) => aPod({ securityContext: { sysctls: [{ name, value: "1" }] } });
  assert.equal(admit(setting("net.core.somaxconn")), undefined);
  assert.equal(admit(setting("net.core.rmem_max"))?.reason, "SysctlForbidden");
  assert.throws(
    () => podAdmission({ ...options, allowedUnsafeSysctls: ["vm.*"] }),
    /not known to be namespaced/,
  );
});

test("the features of the runtime are read each time: it may start later than the node", () => {
  let supported: boolean | undefined;
  const admit = failureOf({ ...options, runtime: { supplementalGroupsPolicy: () => supported } });
  const strict = aPod({ securityContext: { supplementalGroupsPolicy: "Strict" } });
  assert.equal(admit(strict), undefined, "not known yet");
  supported = false;
  assert.equal(admit(strict)?.reason, "SupplementalGroupsPolicyNotSupported");
  supported = true;
  assert.equal(admit(strict), undefined);
});

test("pressure rejects new pods, and not those that a previous agent has started", () => {
  const pressure = { conditions: ["DiskPressure"], cause: "nodefs.available is 1Mi" };
  const { admit } = podAdmission({ ...options, pressure, runs: (uid) => uid === "a" });
  assert.deepEqual(admit(fromApi("a", "0")), { kind: "admitted" });
  assert.deepEqual(admit(fromApi("c", "0")), {
    kind: "rejected",
    failure: {
      phase: "Failed",
      reason: "Evicted",
      message: "Pod was rejected: The node had condition: [DiskPressure]. ",
      detail: "nodefs.available is 1Mi",
    },
  });
});

test("a pod that is preempted before its own admission waits for its termination", () => {
  const evicted = new Set<PodUid>();
  const pods = [
    fromApi("critical", "1500m", { priorityClassName: "system-node-critical", priority: 2_000_001_000 }),
    fromApi("victim", "600m"),
  ];
  const { admit } = podAdmission({
    ...options,
    activePods: () => pods,
    runs: (uid) => uid === "victim",
    isTerminating: (uid) => evicted.has(uid),
    evict: (uid) => void evicted.add(uid),
  });
  assert.equal(admit(pods[0]!).kind, "waiting");
  assert.deepEqual([...evicted], ["victim"]);
  assert.equal(admit(pods[1]!).kind, "waiting");
});
