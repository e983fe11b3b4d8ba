import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { podManifest } from "../e2e/manifests.ts";
import { type CgroupValues, cgroupDirs, podCgroup, readCgroups } from "./guest-cgroups.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

const mebi = 1 << 20;
const reserved = { cpu: "100m", memory: "1Gi" };
/** With "-", which separates the parts of a slice's name. */
const uidOf = (name: string) => `${name}-0000-4000-8000-00000000000a`;

const pods = {
  guaranteed: { requests: { cpu: "333m", memory: "64Mi" }, limits: { cpu: "333m", memory: "64Mi" } },
  burstable: { requests: { cpu: "250m", memory: "32Mi" } },
  besteffort: {},
};
const qosOf = { guaranteed: "Guaranteed", burstable: "Burstable", besteffort: "BestEffort" } as const;
const names = Object.keys(pods) as (keyof typeof pods)[];

describeOnMachine("the systemd driver: kubelet and containerd with SystemdCgroup as services", () => {
  let node: GuestNode;
  let dirsBefore: string[];
  let unitsBefore: string[];

  /** Slices and scopes that systemd has loaded, and the files of transient ones, except for the QoS cgroups. */
  const units = async () => {
    const listed = await node.machine.sh(
      `systemctl list-units --all --plain --no-legend --type=slice,scope | awk '{print $1}'
       ls /run/systemd/transient /run/systemd/system.control 2>/dev/null || true`,
    );
    const qosCgroups = /^kubepods(-burstable|-besteffort)?\.slice/;
    return [...new Set(listed.split("\n"))].filter((unit) => unit !== "" && !qosCgroups.test(unit));
  };
  const place = (name: string, resources: object, more: object = {}) => {
    const manifest = JSON.parse(podManifest(name, { containers: [{ name: "c", resources, ...more }] }));
    manifest.metadata.uid = uidOf(name);
    return node.place(name, JSON.stringify(manifest));
  };
  const running = (name: string): Promise<PodRow> =>
    node.waitFor(async () => {
      const pod = await node.pod(name);
      assert.equal(pod?.phase, "Running", `${pod?.phase}: ${pod?.blockedOn}`);
      assert.equal(pod.ready, "1/1");
      return pod;
    });
  const gone = (name: string) => node.waitFor(async () => assert.equal(await node.pod(name), undefined));
  const cgroupOf = (name: keyof typeof pods) => podCgroup("systemd", qosOf[name], uidOf(name));
  const scopeOf = ({ status }: PodRow) =>
    `cri-containerd-${status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "")}.scope`;
  /** All processes of pods: process ID, cgroup and command. */
  const processes = async () => {
    const listed = await node.machine.sh(
      `for file in $(find /sys/fs/cgroup/kubepods.slice -name cgroup.procs); do
         for pid in $(cat $file); do echo "$pid $file $(cat /proc/$pid/comm)"; done
       done`,
    );
    return listed.split("\n").filter(Boolean).sort();
  };
  const propertiesOf = async (unit: string, ...properties: string[]) =>
    (await node.machine.sh(`systemctl show ${unit} --value ${properties.map((p) => `-p ${p}`).join(" ")}`))
      .trim()
      .split("\n")
      .sort();

  before(async () => {
    node = await GuestNode.start({
      driver: "systemd",
      config: {
        podPidsLimit: 100,
        enforceNodeAllocatable: ["pods", "system-reserved", "kube-reserved"],
        systemReserved: reserved,
        systemReservedCgroup: "/system.slice",
        kubeReserved: { cpu: "200m", memory: "256Mi", pid: "1000" },
        kubeReservedCgroup: "/kube.slice",
      },
      prepare: async (machine) => {
        // As an administrator would: a slice for the daemons of Kubernetes, and accounting for all units.
        await machine.write(
          "/etc/systemd/system/kube.slice",
          "[Slice]\nCPUAccounting=yes\nMemoryAccounting=yes\n",
        );
        await machine.sh("systemctl daemon-reload && systemctl start kube.slice");
      },
    });
    dirsBefore = await cgroupDirs(node.machine, "");
    unitsBefore = await units();
  });
  after(() => node?.stop());

  test("reservations are limits of their slices, and of all pods", async () => {
    const all = await readCgroups(node.machine, "");
    const total = Number((await node.machine.sh("awk '/MemTotal/ {print $2}' /proc/meminfo")).trim()) * 1024;
    const expected: Record<string, CgroupValues> = {
      "/system.slice": { "memory.max": String(1024 * mebi), "cpu.weight": "4" },
      "/kube.slice": { "memory.max": String(256 * mebi), "cpu.weight": "8", "pids.max": "1000" },
      "/kubepods.slice": { "memory.max": String(total - 1280 * mebi), "cpu.weight": "28" },
      "/kubepods.slice/kubepods-burstable.slice": { "memory.max": "max" },
      "/kubepods.slice/kubepods-besteffort.slice": { "memory.max": "max", "cpu.weight": "1" },
    };
    for (const [path, values] of Object.entries(expected))
      assert.partialDeepStrictEqual(all.get(path), values, path);
  });

  const limits = { "cpu.max": "34000 100000", "memory.max": String(64 * mebi) };
  const expected: Record<keyof typeof pods, CgroupValues> = {
    // systemd counts CPU in whole percent, as the reference kubelet does with this driver.
    guaranteed: { ...limits, "cpu.weight": "13", "pids.max": "100" },
    burstable: { "cpu.max": "max 100000", "cpu.weight": "10", "memory.max": "max", "pids.max": "100" },
    besteffort: { "cpu.max": "max 100000", "cpu.weight": "1", "memory.max": "max", "pids.max": "100" },
  };

  test("pods are slices with their limits, in the kernel and in systemd, and remain so when systemd reloads", async () => {
    for (const name of names) await place(name, pods[name]);
    const rows = new Map<string, PodRow>();
    for (const name of names) rows.set(name, await running(name));
    const check = async () => {
      const cgroups = await readCgroups(node.machine, "/kubepods.slice");
      for (const name of names)
        assert.partialDeepStrictEqual(cgroups.get(cgroupOf(name)), expected[name], name);
      const container = `${cgroupOf("guaranteed")}/${scopeOf(rows.get("guaranteed")!)}`;
      // runc before 1.2 writes the exact quota of a container.
      assert.match(cgroups.get(container)?.["cpu.max"] ?? "", /^(33300|34000) 100000$/);
      assert.equal(cgroups.get(container)?.["memory.max"], limits["memory.max"]);
    };
    await check();
    const slice = cgroupOf("guaranteed").split("/").at(-1)!;
    assert.equal(slice, `kubepods-pod${uidOf("guaranteed").replaceAll("-", "_")}.slice`);
    assert.deepEqual(
      await propertiesOf(slice, "ActiveState", "CPUQuotaPerSecUSec", "MemoryMax", "TasksMax", "Transient"),
      ["100", "340ms", "67108864", "active", "yes"],
    );
    // Values that systemd does not support would be lost here.
    await node.machine.sh("systemctl daemon-reload");
    await check();
  });

  test("a restart of kubelet, of containerd, of the bus and of systemd itself touches no pod", async () => {
    const containers = async () => {
      const rows = await Promise.all(names.map(running));
      const ids = rows.map((row) =>
        row.status?.containerStatuses?.map((c) => [c.containerID, c.restartCount]),
      );
      return { ids, processes: await processes() };
    };
    const first = await containers();
    assert.equal(first.processes.length, 3 * names.length, first.processes.join("\n"));
    for (const restart of [
      "systemctl restart kubelet",
      "systemctl restart containerd",
      "systemctl daemon-reexec",
      "systemctl kill --signal=SIGKILL dbus",
    ]) {
      await node.machine.sh(restart, { timeoutMs: 240_000 });
      // The listing is not atomic; a process that ended would never be back.
      await node.waitFor(async () => assert.deepEqual(await containers(), first, restart));
    }
  });

  test("a container that exceeds its memory limit is killed, and restarted in its slice", async () => {
    // It is also the first pod after the connection to systemd was lost twice.
    const command = ["sh", "-c", "head -c 48m /dev/zero | tail"];
    await place("hog", { limits: { memory: "24Mi" } }, { command });
    await node.waitFor(async () => {
      const status = (await node.pod("hog"))?.status?.containerStatuses?.[0];
      const ended = status?.lastState?.terminated ?? status?.state?.terminated;
      assert.ok(ended, JSON.stringify(status));
      assert.notEqual(ended.exitCode, 0);
      const events = await node.machine.sh(
        `cat /sys/fs/cgroup${podCgroup("systemd", "Burstable", uidOf("hog"))}/memory.events`,
      );
      assert.match(events, /oom_kill [1-9]/);
    });
    await node.remove("hog");
    await gone("hog");
  });

  test("no slice, scope or directory is left when the pods are gone", async () => {
    for (const name of names) await node.remove(name);
    for (const name of names) await gone(name);
    await node.waitFor(async () => {
      const dirs = (await cgroupDirs(node.machine, "")).filter((dir) => !dirsBefore.includes(dir));
      assert.deepEqual(dirs, []);
      assert.deepEqual(
        (await units()).filter((unit) => !unitsBefore.includes(unit)),
        [],
      );
    });
    const left = await node.machine.sh("ls -A /var/lib/kubelet/pods; ctr -n k8s.io containers ls -q");
    assert.equal(left.trim(), "");
  });
});
