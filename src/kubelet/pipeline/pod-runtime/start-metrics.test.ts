import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from "../../../../test/builders/pods.ts";
import { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import { abortError, KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { PodSpec } from "../../../lib/model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { ProbeResults } from "../../state/probe-results.ts";
import { ReplacedContainers } from "../../state/replaced-containers.ts";
import { StartingContainers } from "../../state/starting-containers.ts";
import { PodRuntime, type PodRuntimeOptions } from "./pod-runtime.ts";
import { createStartMetrics } from "./start-metrics.ts";

type Step = "sandbox" | "pull" | "config" | "create" | "start" | "hook";

/** A node on which each step of a start can fail. Init containers succeed immediately. */
function node(failing: Partial<Record<Step, Error>> = {}, mounts: { image?: object }[] = []) {
  const imageVolumes: [number, boolean][] = [];
  const metrics = createMetrics();
  let now: ObservedPod = anObservedPod([], []);
  const step = async (name: Step) => {
    if (failing[name]) throw failing[name];
  };
  const runtime = new PodRuntime({
    runtime: {
      runPodSandbox: async () => {
        await step("sandbox");
        now = anObservedPod([], [aSandbox()]);
      },
      createContainer: async (_sandbox: string, config: { metadata: { name: string } }) => {
        await step("create");
        return config.metadata.name;
      },
      startContainer: async (name: string) => {
        await step("start");
        const state = name === "init" ? "exited" : "running";
        now = anObservedPod([anObservedContainer(name, { state }), ...now.containers]);
      },
      stopContainer: async () => {},
    } as unknown as PodRuntimeOptions["runtime"],
    images: {
      ensure: async () => {
        await step("pull");
        return { ref: "sha256:1", user: {} };
      },
      forget: () => {},
    },
    requests: {
      sandbox: async () => ({}),
      container: async (_pod, { name }) => {
        await step("config");
        return { metadata: { name }, mounts };
      },
      hashOf: () => "h",
      runtimeHandler: () => "",
    },
    cgroups: { ensure: async () => {}, remove: async () => {} },
    files: {
      createPodDirs: async () => {},
      createContainerDirs: async () => {},
      restartsByLogs: async () => 0,
      linkLog: async () => {},
    } as unknown as PodRuntimeOptions["files"],
    observed: { get: () => now },
    pleg: { refresh: async () => {}, isAbsent: () => false, started: async () => {} },
    limiter: new ConcurrencyLimiter(1),
    clock: new FakeClock(),
    logger: silentLogger,
    events: { normal: () => {}, warning: () => {} },
    hooks: { run: () => step("hook") },
    maxRestartDelayMs: 1000,
    replaced: new ReplacedContainers(),
    starting: new StartingContainers(),
    probes: new ProbeResults(),
    metrics: {
      ...createStartMetrics(metrics),
      imageVolumes: (count, failed) => void imageVolumes.push([count, failed]),
    },
  });
  return {
    imageVolumes,
    failing,
    values: (name: string) => metricValues(metrics, `kubelet_${name}`),
    sync: (spec: Partial<PodSpec> = {}) =>
      runtime
        .sync(aPod(spec), { blockedOn: () => {}, waiting: () => {} }, new AbortController().signal)
        .catch(() => {}),
  };
}

describe("image volumes", () => {
  const mountFailed = new Error("rpc error: code = Unknown desc = ImageVolumeMountFailed: no such image");
  for (const [rule, failing, mounts, counted] of [
    ["are counted when their container was created", {}, [{ image: {} }, {}, { image: {} }], [[2, false]]],
    [
      "count as failed if the creation failed because of them",
      { create: mountFailed },
      [{ image: {} }],
      [[1, true]],
    ],
    [
      "do not count as failed if the creation failed for another reason",
      { create: new Error("no") },
      [{ image: {} }],
      [[1, false]],
    ],
    ["are not counted for containers without", {}, [{}], []],
  ] as const)
    it(rule, async () => {
      const { sync, imageVolumes } = node({ ...failing }, [...mounts]);
      await sync();
      assert.deepEqual(imageVolumes, counted);
    });
});

describe("started containers", () => {
  // parity: metric /metrics kubelet_started_containers_total
  it("are counted by their type; sidecars are init containers", async () => {
    const { sync, values } = node();
    await sync({
      initContainers: [aContainer("init"), aContainer("sidecar", { restartPolicy: "Always" })],
      containers: [aContainer("a"), aContainer("b")],
      ephemeralContainers: [aContainer("debug") as never],
    });
    assert.deepEqual(await values("started_containers_total"), {
      "container_type=init_container": 2,
      "container_type=container": 2,
      "container_type=ephemeral_container": 1,
    });
    assert.deepEqual(await values("started_containers_errors_total"), {});
  });

  const fault = new Error("broken");
  const rows: [step: Step, error: Error, code: string][] = [
    ["pull", new KubeletError("ImagePullBackOff", "wait"), "ImagePullBackOff"],
    ["config", fault, "CreateContainerConfigError"],
    ["create", fault, "CreateContainerError"],
    ["start", fault, "RunContainerError"],
    ["hook", fault, "PostStartHookError"],
  ];
  for (const [step, error, code] of rows)
    it(`count as attempts and as ${code} if they fail at: ${step}`, async () => {
      const { sync, values } = node({ [step]: error });
      await sync({
        containers: [aContainer("a", { lifecycle: { postStart: { exec: { command: ["x"] } } } })],
      });
      assert.deepEqual(await values("started_containers_total"), { "container_type=container": 1 });
      assert.deepEqual(await values("started_containers_errors_total"), {
        [`container_type=container,code=${code}`]: 1,
      });
    });

  it("are not errors if the pod is terminated in the meantime", async () => {
    const { sync, values } = node({ pull: abortError() });
    await sync();
    assert.deepEqual(await values("started_containers_total"), { "container_type=container": 1 });
    assert.deepEqual(await values("started_containers_errors_total"), {});
  });
});

describe("started pods", () => {
  const userNamespaced = { hostUsers: false };

  // parity: metric /metrics kubelet_started_pods_total, metric /metrics kubelet_started_user_namespaced_pods_total
  it("are counted separately if they have a user namespace", async () => {
    const { sync, values } = node();
    await sync(userNamespaced);
    assert.deepEqual(await values("started_pods_total"), { "": 1 });
    assert.deepEqual(await values("started_user_namespaced_pods_total"), { "": 1 });
    assert.deepEqual(await values("started_user_namespaced_pods_errors_total"), {});
    const other = node();
    await other.sync();
    assert.deepEqual(await other.values("started_user_namespaced_pods_total"), {});
  });

  // parity: metric /metrics kubelet_started_pods_errors_total
  // parity: metric /metrics kubelet_started_user_namespaced_pods_errors_total
  it("have failed if the sandbox cannot be created", async () => {
    const { sync, values } = node({ sandbox: new Error("no network") });
    await sync(userNamespaced);
    assert.deepEqual(await values("started_pods_total"), { "": 1 });
    assert.deepEqual(await values("started_pods_errors_total"), { "": 1 });
    assert.deepEqual(await values("started_user_namespaced_pods_errors_total"), { "": 1 });
  });

  it("count as failed if they have a user namespace and a container does not start in the same sync as the sandbox", async () => {
    const { sync, values, failing } = node({ start: new Error("cannot map ids") });
    await sync(userNamespaced);
    assert.deepEqual(await values("started_pods_errors_total"), {});
    assert.deepEqual(await values("started_user_namespaced_pods_errors_total"), { "": 1 });
    failing.start = new Error("still not");
    await sync(userNamespaced);
    assert.deepEqual(await values("started_containers_total"), { "container_type=container": 2 });
    assert.deepEqual(await values("started_user_namespaced_pods_errors_total"), { "": 1 });
  });

  it("are not counted as failed with a user namespace if they have none", async () => {
    const { sync, values } = node({ start: new Error("broken") });
    await sync();
    assert.deepEqual(await values("started_user_namespaced_pods_errors_total"), {});
  });
});
