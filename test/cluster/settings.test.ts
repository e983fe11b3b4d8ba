import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import type { KubeletConfiguration } from "../../src/lib/config/kubelet-configuration.ts";
import type { Summary } from "../../src/lib/model/stats-summary.ts";
import { freePort } from "../e2e/free-port.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import type { ApiObject } from "./fake-api.ts";

const attachDetach = "volumes.kubernetes.io/controller-managed-attach-detach";

type LeaseSpec = { leaseDurationSeconds?: number };
type Read = (of: { node: NodeObject; lease: LeaseSpec }) => unknown;

/** Each setting with a value that differs from the default, and what of the Node object or its Lease depends on it. */
const rows: [
  settings: Partial<KubeletConfiguration>,
  what: string,
  read: Read,
  byDefault: unknown,
  want: unknown,
][] = [
  [{ maxPods: 7 }, "capacity", ({ node }) => node.status.capacity?.pods, "110", "7"],
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
