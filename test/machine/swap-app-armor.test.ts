import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Explanations } from "../../src/kubelet/explain/pod-explanations.ts";
import { type PodSpecInit, sleeper } from "../e2e/manifests.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

const swapMb = 192;
const profile = `
profile deny-data flags=(attach_disconnected,mediate_deleted) {
  file,
  capability,
  network,
  signal,
  umount,
  deny /data/** w,
}
`;

const prepare = `
dd if=/dev/zero of=/swapfile bs=1M count=${swapMb} 2>/dev/null
chmod 600 /swapfile
mkswap -q /swapfile
swapon /swapfile
`;

describeOnMachine("swap and AppArmor of a real kernel", () => {
  let node: GuestNode;

  before(async () => {
    node = await GuestNode.start({
      driver: "systemd",
      memoryMb: 1024,
      withApi: true,
      appArmor: true,
      config: { failSwapOn: false, memorySwap: { swapBehavior: "LimitedSwap" } },
      prepare: async (machine) => void (await machine.sh(prepare, { timeoutMs: 300_000 })),
    });
  });
  after(() => node?.stop());

  /** Pods from the API server: static pods are critical, and critical pods never swap. */
  const add = (name: string, container: object, spec: Partial<PodSpecInit> = {}) =>
    node.api.addPod(name, {
      terminationGracePeriodSeconds: 1,
      ...spec,
      containers: [{ name: "c", command: [...sleeper], ...container }],
    });
  const runs = (name: string) =>
    node.waitFor(async () => {
      const status = (await node.api.pod(name))?.status;
      assert.equal(status?.phase, "Running", JSON.stringify(status));
      assert.equal(status?.containerStatuses?.[0]?.ready, true);
      return status;
    }, 180_000);
  const remove = async (...names: string[]) => {
    for (const name of names) await node.api.deletePod(name);
    await node.waitFor(async () => {
      for (const name of names) assert.equal(await node.api.pod(name), undefined);
    }, 180_000);
  };
  const containerOf = async (name: string) => {
    const status = await runs(name);
    return status?.containerStatuses?.[0]?.containerID?.replace(/^\w+:\/\//, "") ?? "";
  };
  /** A file of the container's cgroup, from the guest's kernel. */
  const cgroupFile = async (name: string, file: string) => {
    const id = await containerOf(name);
    return (
      await node.machine.sh(`cat "$(find /sys/fs/cgroup -type d -name '*${id}*' | head -1)/${file}"`)
    ).trim();
  };
  const kilobytes = async (field: string) =>
    Number((await node.machine.sh(`awk '/^${field}:/ {print $2}' /proc/meminfo`)).trim()) * 1024;
  const causeOf = async (name: string) => {
    const { pods } = JSON.parse(await node.get(`/explain?pod=${name}`)) as Explanations;
    return JSON.stringify(pods);
  };

  test("containers of Burstable pods may swap in proportion to their memory requests, others not at all", async () => {
    const request = 64 * 1024 ** 2;
    await add("burstable", { resources: { requests: { memory: "64Mi" }, limits: { memory: "128Mi" } } });
    await add("guaranteed", { resources: { limits: { cpu: "50m", memory: "64Mi" } } });
    await add("best-effort", {});
    const [memory, swap] = [await kilobytes("MemTotal"), await kilobytes("SwapTotal")];
    const expected = Math.floor((request / memory) * swap);
    const found = Number(await cgroupFile("burstable", "memory.swap.max"));
    // The kernel rounds to pages.
    assert.ok(Math.abs(found - expected) <= 4096, `${found} instead of ${expected}`);
    assert.equal(await cgroupFile("guaranteed", "memory.swap.max"), "0");
    assert.equal(await cgroupFile("best-effort", "memory.swap.max"), "0");
    await remove("guaranteed", "best-effort");
  });

  test("a container that fills its memory and its swap is OOMKilled, and its neighbor keeps running", async () => {
    const before = await containerOf("burstable");
    const resources = { requests: { memory: "32Mi" }, limits: { memory: "40Mi" } };
    await add("greedy", { command: ["tail", "/dev/zero"], resources }, { restartPolicy: "Never" });
    await node.waitFor(async () => {
      const end = (await node.api.pod("greedy"))?.status?.containerStatuses?.[0]?.state?.terminated;
      assert.deepEqual([end?.exitCode, end?.reason], [137, "OOMKilled"]);
    }, 180_000);
    assert.equal(await containerOf("burstable"), before);
    await remove("greedy");
  });

  test("swap that is turned off while pods run affects no pod", async () => {
    const before = await containerOf("burstable");
    await node.machine.sh("swapoff /swapfile", { timeoutMs: 300_000 });
    try {
      await add("later", { resources: { requests: { memory: "32Mi" } } });
      await runs("later");
      assert.equal(await containerOf("burstable"), before);
    } finally {
      await node.machine.sh("swapon /swapfile");
    }
    await remove("later", "burstable");
  });

  test("an agent that must not run with swap does not start, and logs why", async () => {
    await node.stopAgent();
    await node.configure({ failSwapOn: true });
    const { code } = await node.machine.run("systemctl start kubelet");
    assert.notEqual(code, 0);
    assert.match(await node.machine.journal("kubelet", 60), /running with swap on is not supported/);
    await node.machine.sh("systemctl stop kubelet; systemctl reset-failed kubelet");
    await node.configure({ failSwapOn: false, memorySwap: { swapBehavior: "LimitedSwap" } });
    await node.startAgent();
  });

  const confined = (localhostProfile: string) => ({
    command: [
      "sh",
      "-c",
      "touch /data/file || touch /tmp/denied; trap 'exit 0' TERM; while true; do sleep 1000 & wait; done",
    ],
    securityContext: { appArmorProfile: { type: "Localhost", localhostProfile } },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  });
  const volumes = [{ name: "data", emptyDir: {} }];

  test("a container waits for a profile that is not loaded, and runs confined by it once it is", async () => {
    assert.match(await node.machine.sh("cat /sys/module/apparmor/parameters/enabled"), /^Y/);
    await add("confined", confined("deny-data"), { volumes });
    await node.waitFor(async () =>
      assert.match(await causeOf("confined"), /apparmor profile (?:not found )?deny-data/i),
    );
    await node.machine.write("/etc/apparmor.d/deny-data", profile);
    await node.machine.sh("apparmor_parser -r /etc/apparmor.d/deny-data");
    const id = await containerOf("confined");
    assert.match(
      await node.ctr(`task exec --exec-id a ${id} cat /proc/1/attr/current`),
      /^deny-data \(enforce\)/,
    );
    await node.waitFor(async () => void (await node.ctr(`task exec --exec-id b ${id} ls /tmp/denied`)));
    await remove("confined");
  });

  test("a container with the runtime's default profile is confined, an unconfined one is not", async () => {
    for (const [name, type] of [
      ["default-profile", "RuntimeDefault"],
      ["unconfined", "Unconfined"],
    ] as const)
      await add(name, { securityContext: { appArmorProfile: { type } } });
    const current = async (name: string) =>
      node.ctr(`task exec --exec-id p ${await containerOf(name)} cat /proc/1/attr/current`);
    assert.match(await current("default-profile"), /^cri-containerd\.apparmor\.d \(enforce\)/);
    assert.match(await current("unconfined"), /^unconfined/);
    await remove("default-profile", "unconfined");
  });
});
