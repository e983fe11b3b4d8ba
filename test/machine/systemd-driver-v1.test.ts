import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { podManifest } from "../e2e/manifests.ts";
import { GuestNode, guestPaths } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

const programs = `${guestPaths.project}/.cache/containerd-2/usr/bin`;
const containerd2 = `[Service]
Environment=PATH=${programs}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=
ExecStart=${programs}/containerd
`;

describeOnMachine("the systemd driver on cgroup v1, with containerd 2", () => {
  let node: GuestNode;
  const uid = "v1-0000-4000-8000-00000000000a";
  const slice = `kubepods.slice/kubepods-pod${uid.replaceAll("-", "_")}.slice`;
  const listed = async (script: string) => (await node.machine.sh(script)).split("\n").filter(Boolean);
  const cgroups = () => listed("cd /sys/fs/cgroup && find . -type d -path '*kubepods*'");
  const units = () =>
    listed("systemctl list-units --all --plain --no-legend 'kubepods*' 'cri-*' | awk '{print $1}'");

  before(async () => {
    node = await GuestNode.start({
      driver: "systemd",
      cgroupVersion: 1,
      // The runtime reports its driver, which is used instead.
      config: { cgroupDriver: "cgroupfs", failCgroupV1: false, podPidsLimit: 100 },
      prepare: async (machine) => {
        await machine.write("/etc/systemd/system/containerd.service.d/version-2.conf", containerd2);
        await machine.sh("systemctl daemon-reload");
      },
    });
  });
  after(() => node?.stop());

  test("a pod has the driver of the runtime, its limits in each hierarchy and in systemd, and leaves nothing", async () => {
    const before = [...(await cgroups()), ...(await units())];
    const resources = { limits: { cpu: "333m", memory: "64Mi" } };
    const manifest = JSON.parse(podManifest("v1", { containers: [{ name: "c", resources }] }));
    manifest.metadata.uid = uid;
    await node.place("v1", JSON.stringify(manifest));
    await node.waitFor(async () => {
      const pod = await node.pod("v1");
      assert.equal(pod?.ready, "1/1", `${pod?.phase}: ${pod?.blockedOn}`);
    });
    const files = ["cpu/cpu.shares", "cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes", "pids/pids.max"];
    const paths = files.map((file) => `/sys/fs/cgroup/${file.replace("/", `/${slice}/`)}`);
    assert.deepEqual(await listed(`cat ${paths.join(" ")}`), ["340", "34000", "67108864", "100"]);
    const properties = ["CPUShares", "CPUQuotaPerSecUSec", "MemoryLimit", "TasksMax", "ActiveState"];
    assert.deepEqual(
      (
        await listed(`systemctl show ${slice.split("/")[1]} ${properties.map((p) => `-p ${p}`).join(" ")}`)
      ).toSorted(),
      [
        "ActiveState=active",
        "CPUQuotaPerSecUSec=340ms",
        "CPUShares=340",
        "MemoryLimit=67108864",
        "TasksMax=100",
      ],
    );
    const scopes = (await cgroups()).filter((dir) => dir.startsWith("./memory/") && dir.endsWith(".scope"));
    assert.deepEqual(
      scopes.map((dir) => dir.startsWith(`./memory/${slice}/cri-containerd-`)),
      [true, true],
    );
    await node.remove("v1");
    await node.waitFor(async () => {
      assert.equal(await node.pod("v1"), undefined);
      const left = [...(await cgroups()), ...(await units())].filter((one) => !before.includes(one));
      assert.deepEqual(left, []);
    });
  });
});
