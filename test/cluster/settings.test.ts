import assert from "node:assert/strict";
import { cpus } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import { send } from "../../src/kubelet/server/fixtures.ts";
import type { KubeletConfiguration } from "../../src/lib/config/kubelet-configuration.ts";
import {
  type ContainerConfig,
  type PodSandboxConfig,
  SecurityProfile_ProfileType,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import { amountsOf, wholeOf } from "../../src/lib/model/resources.ts";
import type { Summary } from "../../src/lib/model/stats-summary.ts";
import { freePort } from "../e2e/free-port.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import type { ApiObject } from "./fake-api.ts";

const attachDetach = "volumes.kubernetes.io/controller-managed-attach-detach";

type LeaseSpec = { leaseDurationSeconds?: number };
type Read = (of: { node: NodeObject; lease: LeaseSpec }) => unknown;

/** In MiB, without the huge pages of the machine, which are not allocatable as memory. */
const unallocatable: Read = ({ node: { status } }) => {
  const [capacity, allocatable] = [amountsOf(status.capacity), amountsOf(status.allocatable)];
  const hugePages = [...capacity.keys()].filter((name) => name.startsWith("hugepages-"));
  const bytes = hugePages.reduce(
    (rest, name) => rest - wholeOf(capacity, name),
    wholeOf(capacity, "memory") - wholeOf(allocatable, "memory"),
  );
  return Number(bytes >> 20n);
};

/** Each setting with a value that differs from the default, and what of the Node object or its Lease depends on it. */
const rows: [
  settings: Partial<KubeletConfiguration>,
  what: string,
  read: Read,
  byDefault: unknown,
  want: unknown,
][] = [
  [{ maxPods: 7 }, "capacity", ({ node }) => node.status.capacity?.pods, "110", "7"],
  [
    { podsPerCore: 1 },
    "capacity by core",
    ({ node }) => node.status.capacity?.pods,
    "110",
    String(cpus().length),
  ],
  [{ evictionHard: { "memory.available": "300Mi" } }, "allocatable memory", unallocatable, 128, 328],
  [{ kubeReserved: { memory: "1Gi" } }, "kube-reserved memory", unallocatable, 128, 1124],
  [{ systemReserved: { memory: "50Mi" } }, "system-reserved memory", unallocatable, 128, 178],
  [{ nodeStatusMaxImages: 1 }, "images", ({ node }) => node.status.images?.length, 2, 1],
  [
    { enableControllerAttachDetach: false },
    "annotation",
    ({ node }) => node.metadata.annotations?.[attachDetach],
    "true",
    undefined,
  ],
  [
    { localStorageCapacityIsolation: false },
    "ephemeral storage",
    ({ node }) => "ephemeral-storage" in (node.status.capacity ?? {}),
    true,
    false,
  ],
  [{ nodeLeaseDurationSeconds: 20 }, "lease", ({ lease }) => lease.leaseDurationSeconds, 40, 20],
];

// parity: field podsPerCore, field evictionHard, field kubeReserved, field systemReserved
// parity: field maxPods, field nodeStatusMaxImages, field enableControllerAttachDetach, field localStorageCapacityIsolation, field nodeLeaseDurationSeconds
for (const [settings, what, read, byDefault, want] of rows)
  test(`${Object.keys(settings)} sets the ${what} of the node`, async (t) => {
    for (const [config, expected] of [
      [{}, byDefault],
      [settings, want],
    ] as const) {
      const cluster = await TestCluster.start(t);
      await cluster.startAgent({ config: { ...cluster.config(), ...config } });
      await waitFor(() => {
        const node = cluster.api.get<ApiObject & NodeObject>("nodes", "", nodeName);
        const lease = cluster.api.get("leases", "kube-node-lease", nodeName);
        assert.ok(node?.status.conditions && lease);
        assert.deepEqual(read({ node, lease: lease.spec as LeaseSpec }), expected);
      });
    }
  });

// parity: field eventRecordQPS, field eventBurst
test("events are sent at the configured rate after a burst", async (t) => {
  const sentWith = async (settings: Partial<KubeletConfiguration>) => {
    const cluster = await TestCluster.start(t);
    const at: number[] = [];
    const { request } = cluster.api;
    cluster.api.request = (call) => {
      if (call.method === "POST" && call.path.endsWith("/events")) at.push(performance.now());
      return request.call(cluster.api, call) as never;
    };
    await cluster.startAgent({ config: { ...cluster.config(), ...settings } });
    // Starting, and conditions of the node.
    return waitFor(() => {
      assert.ok(at.length >= 4);
      return at.map((time) => time - at[0]!);
    }, 30_000);
  };
  const [, second = 0, third = 0, fourth = 0] = await sentWith({ eventRecordQPS: 1, eventBurst: 2 });
  assert.ok(third >= 900 && fourth - second >= 1900, `${second}, ${third}, ${fourth}`);
});

// parity: field volumeStatsAggPeriod
for (const [volumeStatsAggPeriod, measured] of [
  [1000, true],
  [0, false],
  [-1, false],
] as const)
  test(`with volumeStatsAggPeriod ${volumeStatsAggPeriod} volumes are ${measured ? "" : "not "}measured`, async (t) => {
    const cluster = await TestCluster.start(t);
    const readOnlyPort = await freePort();
    await cluster.startAgent({
      config: { ...cluster.config(), address: "127.0.0.1", readOnlyPort, volumeStatsAggPeriod },
      server: { version: "v1.36.4" },
    });
    const volumeMounts = [{ name: "scratch", mountPath: "/scratch" }];
    const volumes = [{ name: "scratch", emptyDir: {} }];
    cluster.addPod("web", { volumes, containers: [container({ volumeMounts })] });
    await cluster.runs("web");
    const summary = async () =>
      (await (await fetch(`http://127.0.0.1:${readOnlyPort}/stats/summary`)).json()) as Summary;
    const measuredVolumes = async () => {
      const { pods } = await summary();
      return pods.flatMap(({ volume = [] }) => volume.map(({ name }) => name));
    };
    if (measured) await waitFor(async () => assert.deepEqual(await measuredVolumes(), ["scratch"]));
    else for (let i = 0; i < 5; i++) assert.deepEqual(await measuredVolumes(), []);
  });

const anonymous = {
  x509: { clientCAFile: "" },
  webhook: { enabled: false, cacheTTL: 1 },
  anonymous: { enabled: true },
};
const noneAuthorized = {
  mode: "AlwaysAllow",
  webhook: { cacheAuthorizedTTL: 1, cacheUnauthorizedTTL: 1 },
} as const;
const pages = ["/runningpods/", "/logs/", "/debug/pprof/", "/debug/flags/v"] as const;
/** The last page sets the verbosity. Without debugging handlers the Go kubelet does not serve it, and reports that others are disabled. */
const access: [what: string, settings: Partial<KubeletConfiguration>, want: number[]][] = [
  ["anonymous clients that may do everything", {}, [200, 200, 200, 200]],
  ["enableDebuggingHandlers", { enableDebuggingHandlers: false }, [405, 405, 405, 404]],
  ["enableSystemLogHandler", { enableSystemLogHandler: false }, [200, 405, 200, 200]],
  ["enableProfilingHandler", { enableProfilingHandler: false }, [200, 200, 405, 200]],
  ["enableDebugFlagsHandler", { enableDebugFlagsHandler: false }, [200, 200, 200, 405]],
  [
    "authentication",
    { authentication: { ...anonymous, anonymous: { enabled: false } } },
    [401, 401, 401, 401],
  ],
];
// parity: field enableDebuggingHandlers, field enableSystemLogHandler, field enableProfilingHandler, field enableDebugFlagsHandler, field authentication.anonymous.enabled, field port, field address
for (const [what, settings, want] of access)
  test(`the kubelet API as configured: ${what}`, async (t) => {
    const cluster = await TestCluster.start(t);
    const port = await freePort();
    const own = { address: "127.0.0.1", port, authentication: anonymous, authorization: noneAuthorized };
    await cluster.startAgent({
      config: { ...cluster.config(), ...own, ...settings },
      certDir: join(cluster.dir, "pki"),
      server: { version: "v1.36.4" },
    });
    const statuses = await Promise.all(
      pages.map(async (page) => {
        const request = page === "/debug/flags/v" ? { method: "PUT", body: "2" } : {};
        return (await send(port, page, request)).status;
      }),
    );
    assert.deepEqual(statuses, want);
  });

type Requests = { sandbox: PodSandboxConfig; container: ContainerConfig };

/** Each setting with a value that differs from the default, and what of the requests to the runtime depends on it. */
const requests: [
  settings: Partial<KubeletConfiguration>,
  read: (of: Requests) => unknown,
  byDefault: unknown,
  want: unknown,
][] = [
  [
    { seccompDefault: true },
    ({ container: { linux } }) => linux?.securityContext?.seccomp?.profileType,
    SecurityProfile_ProfileType.Unconfined,
    SecurityProfile_ProfileType.RuntimeDefault,
  ],
  [
    { clusterDNS: ["10.96.0.10"] },
    ({ sandbox }) => sandbox.dnsConfig?.servers,
    ["127.0.0.1"],
    ["10.96.0.10"],
  ],
  [{ cpuCFSQuota: false }, ({ container: { linux } }) => linux?.resources?.cpuQuota, 50_000n, 0n],
  [{ cpuCFSQuotaPeriod: 10 }, ({ container: { linux } }) => linux?.resources?.cpuPeriod, 100_000n, 10_000n],
];
// parity: field seccompDefault, field clusterDNS, field cpuCFSQuota, field cpuCFSQuotaPeriod
for (const [settings, read, byDefault, want] of requests)
  test(`${Object.keys(settings)} is part of the requests to the runtime`, async (t) => {
    for (const [config, expected] of [
      [{}, byDefault],
      [settings, want],
    ] as const) {
      const cluster = await TestCluster.start(t);
      await cluster.startAgent({ config: { ...cluster.config(), ...config } });
      const resources = { limits: { cpu: "500m" } };
      const { metadata } = cluster.addPod("web", { containers: [container({ resources })] });
      await cluster.runs("web");
      const [running] = cluster.runningOf(metadata.uid);
      const { sandbox, config: of } = running!;
      assert.deepEqual(read({ sandbox: sandbox.config, container: of }), expected);
    }
  });
