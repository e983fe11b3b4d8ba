import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import { FeatureGates } from "../../../../lib/config/feature-gates.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { VolumePlugin } from "../volume-plugin.ts";
import { claimSpec, FakeVolumeHost, podWithVolumes } from "./fake-volumes.ts";
import { mountLabelsOptions } from "./mount-labels.ts";

const never = new AbortController().signal;
/** As on a host with the package container-selinux. */
const containerLabels = {
  process: "system_u:system_r:container_t:s0",
  file: "system_u:object_r:container_file_t:s0",
};
const labelOf = (level: string) => `system_u:object_r:container_file_t:${level}`;
const one = "s0:c1,c2";
const two = "s0:c3,c4";

interface Setup {
  readonly accessModes?: readonly string[];
  readonly selinux?: boolean;
  readonly gate?: boolean;
  /** The CSIDriver of the volume has seLinuxMount. */
  readonly supported?: boolean;
  readonly containerLabels?: typeof containerLabels;
}

/** A manager on a node with SELinux, and what it passes to the plugin. */
async function started(setup: Setup = {}, clock = new FakeClock(), host = new FakeVolumeHost(clock)) {
  const { accessModes = ["ReadWriteOncePod"], selinux = true, gate = false, supported = true } = setup;
  const metrics = createMetrics();
  const shared = host.plugin("shared");
  const labels = new Map<string, string | undefined>();
  const plugin: VolumePlugin = {
    ...shared,
    mountsWithLabel: async () => supported,
    setUp: (request) => {
      labels.set(request.podUid, request.label);
      host.labels.set(request.dir, request.label ?? "");
      return shared.setUp(request);
    },
    reconstruct: async (target) => {
      const spec = await shared.reconstruct!(target);
      return spec && { ...spec, label: host.labels.get(target.dir) ?? "" };
    },
    device: {
      ...shared.device!,
      mountDevice: (pod, spec, dir, group, signal, label) => {
        labels.set("device", label);
        host.labels.set(dir, label ?? "");
        return shared.device!.mountDevice(pod, spec, dir, group, signal);
      },
    },
  };
  const gates = new FeatureGates({ SELinuxMount: gate });
  const defaults = setup.containerLabels ?? containerLabels;
  const manager = host.manager({
    plugins: [host.plugin("own"), plugin],
    metrics,
    mountLabels: mountLabelsOptions({ selinux, defaults, gates }),
    resolveClaim: async (_pod, volume) => {
      const spec = claimSpec(volume);
      return { spec: { ...spec, persistent: { ...spec.persistent!, spec: { accessModes } } } };
    },
    initialSync: { isComplete: () => true },
    nodePods: { phaseOf: () => "syncing" },
  });
  await manager.start(never);
  const values = async () => {
    const families = await metrics.registry.getMetricsAsJSON();
    return families
      .filter(({ name }) => name.startsWith("volume_manager_selinux_"))
      .flatMap(({ name, values: list }) =>
        list.map(({ labels: l, value }) => `${name} ${Object.values(l).join()} ${value}`),
      );
  };
  const mounted = async (pod: Pod) => {
    const wait = manager.waitFor(pod, never);
    await clock.advance(100);
    await wait;
  };
  return { clock, host, manager, labels, values, mounted };
}

function podWith(uid: string, security: object, ...containers: object[]): Pod {
  const pod = podWithVolumes(uid, [], ["c"]);
  const { volumeMounts } = pod.spec.containers[0]!;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      securityContext: security,
      containers: (containers.length > 0 ? containers : [{}]).map((securityContext, index) => ({
        name: `c${index}`,
        volumeMounts,
        securityContext,
      })),
    },
  };
}

const level = (name: string) => ({ seLinuxOptions: { level: name } });

describe("on a node with SELinux a volume is mounted", () => {
  const many = { accessModes: ["ReadWriteMany"] };
  const rows: [what: string, setup: Setup, pod: Pod, label: string, metrics: string[]][] = [
    [
      "with the label of the pod if its access mode is ReadWriteOncePod",
      {},
      podWith("a", level(one)),
      labelOf(one),
      ["volume_manager_selinux_volumes_admitted_total fake/shared,RWOP 1"],
    ],
    [
      "without a label if its driver does not support it",
      { supported: false },
      podWith("a", level(one)),
      "",
      [],
    ],
    [
      "without a label if it also has another access mode",
      { accessModes: ["ReadWriteOncePod", "ReadWriteOnce"] },
      podWith("a", level(one)),
      "",
      ["volume_manager_selinux_volumes_admitted_total fake/shared,RWO 1"],
    ],
    [
      "without a label if its access mode is ReadWriteMany",
      many,
      podWith("a", level(one)),
      "",
      ["volume_manager_selinux_volumes_admitted_total fake/shared,RWX 1"],
    ],
    [
      "with the label of the pod if the gate SELinuxMount is on",
      { ...many, gate: true },
      podWith("a", level(one)),
      labelOf(one),
      ["volume_manager_selinux_volumes_admitted_total fake/shared,RWX 1"],
    ],
    [
      "without a label if the pod has the policy Recursive",
      {},
      podWith("a", { ...level(one), seLinuxChangePolicy: "Recursive" }),
      "",
      [],
    ],
    [
      "with the label of the pod if it has the policy MountOption",
      {},
      podWith("a", { ...level(one), seLinuxChangePolicy: "MountOption" }),
      labelOf(one),
      ["volume_manager_selinux_volumes_admitted_total fake/shared,RWOP 1"],
    ],
    ["without a label if the pod has no SELinux options", {}, podWith("a", {}), "", []],
    [
      "without a label if the runtime chooses the level",
      {},
      podWith("a", { seLinuxOptions: { type: "container_t" } }),
      "",
      [],
    ],
    [
      "with the label of its containers, which overrides that of the pod",
      {},
      podWith("a", level(one), level(two), level(two)),
      labelOf(two),
      ["volume_manager_selinux_volumes_admitted_total fake/shared,RWOP 1"],
    ],
    [
      "without a label if containers of different labels use it, and all pods may",
      many,
      podWith("a", {}, level(one), level(two)),
      "",
      ["volume_manager_selinux_pod_context_mismatch_warnings_total RWX 1"],
    ],
    [
      "without a label on a host without a policy for containers",
      { containerLabels: { process: "", file: "" } },
      podWith("a", level(one)),
      "",
      [],
    ],
    ["without a label on a node without SELinux", { selinux: false }, podWith("a", level(one)), "", []],
  ];
  // parity: gate SELinuxMount=true, gate SELinuxMount=false, gate SELinuxMountReadWriteOncePod=true as ReadWriteOncePod, gate SELinuxChangePolicy=true as seLinuxChangePolicy, metric /metrics volume_manager_selinux_volumes_admitted_total, metric /metrics volume_manager_selinux_pod_context_mismatch_warnings_total
  for (const [what, setup, pod, label, expected] of rows)
    it(what, async () => {
      const { mounted, labels, values, manager } = await started(setup);
      await mounted(pod);
      assert.deepEqual(
        [...labels],
        [
          ["device", label],
          ["a", label],
        ],
      );
      assert.equal(manager.mounted("a" as PodUid, "claim-c")?.label, label);
      assert.deepEqual(await values(), expected);
    });
});

describe("a pod cannot use a volume", () => {
  const failure = async (test: Awaited<ReturnType<typeof started>>, pod: Pod) => {
    const wait = assert.rejects(test.manager.waitFor(pod, never));
    await test.clock.advance(100);
    await wait;
    return test.host.events.at(-1)?.replace(/^.*\]: /, "");
  };

  // parity: metric /metrics volume_manager_selinux_pod_context_mismatch_errors_total
  it("that its containers use with different labels", async () => {
    const test = await started();
    assert.equal(
      await failure(test, podWith("a", {}, level(one), level(two))),
      `multiple SELinux labels found: ${labelOf(one)},${labelOf(two)}`,
    );
    assert.deepEqual(await test.values(), [
      "volume_manager_selinux_pod_context_mismatch_errors_total RWOP 1",
    ]);
  });

  // parity: metric /metrics volume_manager_selinux_volume_context_mismatch_errors_total
  it("that another pod uses with another label", async () => {
    const test = await started();
    await test.mounted(podWith("a", level(one)));
    assert.equal(
      await failure(test, podWith("b", level(two))),
      `conflicting SELinux labels of volume pv-c: "${labelOf(one)}" and "${labelOf(two)}"`,
    );
    assert.ok(
      (await test.values()).includes(
        "volume_manager_selinux_volume_context_mismatch_errors_total fake/shared,RWOP 1",
      ),
    );
  });

  // parity: metric /metrics volume_manager_selinux_container_errors_total
  it("if its label cannot be determined", async () => {
    for (const [setup, options, cause] of [
      [{ containerLabels: { ...containerLabels, file: "file" } }, { level: one }, '"file" is not a label'],
      [
        {},
        { level: 's0",suid,x="' },
        /invalid character in label "system_u:object_r:container_file_t:s0\\",suid/,
      ],
    ] as const) {
      const test = await started(setup);
      const text = await failure(test, podWith("a", { seLinuxOptions: options }));
      assert.match(text ?? "", /^failed to construct SELinux label: /);
      assert.ok(typeof cause === "string" ? text?.endsWith(cause) : cause.test(text ?? ""), text);
      assert.deepEqual(await test.values(), ["volume_manager_selinux_container_errors_total RWOP 1"]);
    }
  });

  // parity: metric /metrics volume_manager_selinux_volume_context_mismatch_warnings_total, metric /metrics volume_manager_selinux_container_warnings_total
  it("only if it is mounted with a label: otherwise it is counted as a warning", async () => {
    const test = await started({ accessModes: ["ReadWriteMany"] });
    for (const [uid, name] of [
      ["a", one],
      ["b", two],
      ["c", 's0"'],
    ] as const)
      await test.mounted(podWith(uid, level(name)));
    assert.deepEqual(await test.values(), [
      "volume_manager_selinux_container_warnings_total RWX 1",
      "volume_manager_selinux_volume_context_mismatch_warnings_total fake/shared,RWX 2",
      "volume_manager_selinux_volumes_admitted_total fake/shared,RWX 1",
    ]);
    assert.deepEqual([...test.labels.values()], ["", "", "", ""]);
  });
});

describe("a volume that is mounted with another label", () => {
  it("is unmounted, also from its device, before another pod gets it with its own", async () => {
    const { clock, host, manager, labels, mounted } = await started();
    await mounted(podWith("a", level(one)));
    host.behavior.set("fake/shared/pv-c", { hangs: true });
    const released = manager.release("a" as PodUid, never);
    const waiting = assert.rejects(manager.waitFor(podWith("b", level(two)), never), {
      message:
        'unmounted volumes=[claim-c]: waiting for unmount of volume "fake/shared/pv-c", because it is already mounted to a different pod with a different SELinux label',
    });
    await clock.advance(1);
    await waiting;
    assert.match(
      host.events.at(-1) ?? "",
      /^FailedMount: Unable to attach or mount volumes: unmounted .*waiting for unmount/,
    );
    host.behavior.delete("fake/shared/pv-c");
    await clock.advance(1_000);
    await released;
    await manager.waitFor(podWith("b", level(two)), never);
    const calls = ["mountDevice", "setUp", "tearDown", "unmountDevice", "mountDevice", "setUp"];
    assert.deepEqual(
      host.calls,
      calls.map((call) => `${call} fake/shared/pv-c`),
    );
    assert.deepEqual([labels.get("device"), labels.get("b")], [labelOf(two), labelOf(two)]);
    assert.deepEqual(host.violations, []);
  });

  it("is not mounted for another pod while it cannot be unmounted", async () => {
    const { clock, host, manager, mounted } = await started({ accessModes: ["ReadWriteMany"], gate: true });
    await mounted(podWith("a", level(one)));
    host.calls.length = 0;
    host.behavior.set("fake/shared/pv-c", { failures: 4 });
    const released = manager.release("a" as PodUid, never);
    await assert.rejects(manager.waitFor(podWith("b", level(two)), never));
    await clock.advance(10_000);
    await released;
    await manager.waitFor(podWith("b", level(two)), never);
    const calls = host.calls.map((call) => call.split(" ")[0]);
    assert.deepEqual(calls, [...Array(5).fill("tearDown"), "unmountDevice", "mountDevice", "setUp"]);
  });

  it("keeps its device if the next pod has the same label", async () => {
    const { clock, host, manager, mounted } = await started();
    await mounted(podWith("a", level(one)));
    const released = manager.release("a" as PodUid, never);
    const wait = manager.waitFor(podWith("b", level(one)), never);
    await clock.advance(1_000);
    await Promise.all([released, wait]);
    assert.deepEqual(
      host.calls.map((call) => call.split(" ")[0]),
      ["mountDevice", "setUp", "tearDown", "setUp"],
    );
  });

  it("is unmounted before it is mounted again if the label of its pod changed while the agent was stopped", async () => {
    const clock = new FakeClock();
    const host = new FakeVolumeHost(clock);
    const first = await started({ supported: false }, clock, host);
    await first.mounted(podWith("a", level(one)));
    host.kill();
    host.calls.length = 0;
    const second = await started({}, clock, host);
    await second.manager.waitFor(podWith("a", level(one)), never).catch(() => {});
    await clock.advance(1_000);
    await second.manager.waitFor(podWith("a", level(one)), never);
    const calls = ["tearDown", "unmountDevice", "mountDevice", "setUp"];
    assert.deepEqual(
      host.calls.map((call) => call.split(" ")[0]),
      calls,
    );
    assert.equal(second.labels.get("a"), labelOf(one));
    assert.deepEqual(host.violations, []);
  });

  it("is left alone after a restart if the label is the same", async () => {
    const clock = new FakeClock();
    const host = new FakeVolumeHost(clock);
    await (await started({}, clock, host)).mounted(podWith("a", level(one)));
    host.kill();
    host.calls.length = 0;
    await (await started({}, clock, host)).mounted(podWith("a", level(one)));
    assert.equal(
      host.calls.some((call) => /^(tearDown|unmountDevice) /.test(call)),
      false,
    );
  });
});
