import assert from "node:assert/strict";
import { test } from "node:test";
import { anObservedContainer, aSandbox } from "../../../../test/builders/pods.ts";
import { comparable, recorded } from "../../../../test/builders/recorded-status.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../../state/observed-pods.ts";
import type { ApiPodStatus } from "./api-types.ts";
import { at, probed, statusOf } from "./fake-input.ts";
import type { StatusInput } from "./status-input.ts";

const image = {
  image: "docker.io/library/busybox:1.35",
  imageRef: "sha256:1862240eb6cba965714d49a042aca6f15430f5df5af13dceb631c626ea5764d7",
};
const root = { uid: 0, gid: 0, supplementalGroups: [0] };
const user = { uid: 1000, gid: 0, supplementalGroups: [0, 2000, 3000] };

function inRuntime(
  pod: Pod,
  containers: ObservedContainer[],
  sandbox: Partial<ObservedSandbox> = {},
): ObservedPod {
  const { uid, name, namespace } = pod.metadata;
  return { uid, name, namespace, sandboxes: [aSandbox(sandbox)], containers };
}
function running(name: string, more: Partial<ObservedContainer>): ObservedContainer {
  return anObservedContainer(name, { ...image, startedAt: wallTime(at), ...more });
}
function exited(name: string, more: Partial<ObservedContainer>): ObservedContainer {
  return running(name, { state: "exited", reason: "Completed", finishedAt: wallTime(at + 1000), ...more });
}

function assertAsRecorded(found: ApiPodStatus, expected: PodStatus): void {
  assert.deepEqual(comparable(found), comparable(expected));
}

test("status as recorded: a completed init container and a running container with probes", () => {
  const { pod, status } = recorded("running");
  const observedPod = inRuntime(pod, [
    running("c", {
      user: root,
      resources: { milliCpuLimit: 100, milliCpuRequest: 10, memoryLimit: 32 << 20 },
    }),
    exited("i", { user: root, resources: { milliCpuRequest: 2 } }),
  ]);
  assertAsRecorded(statusOf(pod, observedPod, more({ "readiness c-0": "success" })), status);
});

test("status as recorded: a sidecar, volumes, users, and the limits of the pod's cgroup once the API reports it as running", () => {
  const { pod, status } = recorded("full");
  const observedPod = inRuntime(pod, [
    running("app", {
      user,
      resources: { milliCpuLimit: 200, milliCpuRequest: 50, memoryLimit: 64 << 20 },
    }),
    running("side", { user, resources: { milliCpuRequest: 2 } }),
    exited("init", { user }),
  ]);
  const passed = more({ "startup side-0": "success", "readiness app-0": "success" });
  const previous = statusOf(pod, observedPod, passed);
  const known: Pod = { ...pod, status: previous };
  // No quota: the init containers have no limit. In cgroup v1 "no limit" is a number of bytes.
  const podCgroup = () => ({
    cpuShares: 51n,
    cpuQuotaUs: -1n,
    cpuPeriodUs: 100_000n,
    memoryLimit: 9_223_372_036_854_771_712n,
  });
  assertAsRecorded(statusOf(known, observedPod, { ...passed, previous, podCgroup }), status);
});

test("status as recorded: a crashing container, and one whose image cannot be pulled", () => {
  const { pod, status } = recorded("crash");
  const bad = status.containerStatuses?.find((c) => c.name === "bad")?.state?.waiting;
  const crashed = (attempt: number) =>
    exited("c", { attempt, exitCode: 1, reason: "Error", user: root, id: `c-${attempt}` as ContainerId });
  const waiting = new Map([["bad", { reason: "ImagePullBackOff", message: bad?.message ?? "" }]]);
  assertAsRecorded(statusOf(pod, inRuntime(pod, [crashed(2), crashed(1)]), { ...more(), waiting }), status);
});

test("status as recorded: a failed pod on the host network", () => {
  const { pod, status } = recorded("hostnet");
  const observedPod = inRuntime(pod, [exited("c", { exitCode: 3, reason: "Error", user: root })], {
    state: "notready",
    ips: [],
    hostNetwork: true,
  });
  assertAsRecorded(statusOf(pod, observedPod, more()), status);
});

function more(results: Parameters<typeof probed>[0] = {}): Partial<StatusInput> {
  return { hostIPs: ["192.0.2.10"], ...probed(results) };
}
