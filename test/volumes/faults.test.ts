import assert from "node:assert/strict";
import { execFile as execFileBack } from "node:child_process";
import { existsSync, statfsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { readMounts } from "../../src/lib/host/mount-table.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { removeDir } from "../node/remove-dir.ts";
import { FakeMount } from "./fake-mount.ts";
import { VolumeNode, type VolumePod } from "./volume-node.ts";

const execFile = promisify(execFileBack);
const objects = "/api/v1/namespaces/default";
const kilobyte = 1024;
/** Content that is larger than the free space, and no larger than a ConfigMap may be. */
const bulk = "x".repeat(800 * kilobyte);

const withVolume = (volume: object): VolumePod => ({
  spec: {
    automountServiceAccountToken: false,
    volumes: [{ name: "data", ...volume } as never],
    containers: [{ volumeMounts: [{ name: "data", mountPath: "/data" }] }],
  },
});
const nfs = withVolume({ nfs: { server: "192.0.2.1", path: "/export" } });

/** One node, whose root directory is a small filesystem of its own, and whose mount program is a fake. */
describeOnContainerd("volumes that cannot be mounted", (version) => {
  let n: VolumeNode;
  let bin: string;
  let program: FakeMount;
  let secrets = 0;

  before(async () => {
    bin = await mkdtemp(join(tmpdir(), "fake-mount-"));
    program = new FakeMount(bin);
    await program.install("refused");
    n = await VolumeNode.start(version, {
      env: { ...process.env, PATH: program.path },
      // The disk becomes full; no pod may be evicted for that.
      config: { evictionHard: { "memory.available": "1Mi" } },
      prepare: async ({ rootDir }) => {
        await execFile("mkdir", ["-p", rootDir]);
        await execFile("mount", ["-t", "tmpfs", "-o", "size=32m", "small-root", rootDir]);
      },
    });
    await n.secret("shown", { k: "0" });
    await n.configMap("shown", { k: "0" });
    await n.addPod("control", withVolume({ secret: { secretName: "shown" } }));
    await n.addPod("on-disk", withVolume({ configMap: { name: "shown" } }));
    await n.runs("control");
    await n.runs("on-disk");
  });

  after(async () => {
    await n?.apiNode.agent.end("SIGKILL");
    if (n) await removeMounts(n.apiNode.node.rootDir);
    await n?.destroy();
    for (const pid of program?.hanging() ?? []) process.kill(pid, "SIGKILL");
    await program?.release();
    await removeDir(bin);
  });

  /** Other pods are not affected: they keep running, and their volumes are still updated. */
  const otherPodsWork = async () => {
    const value = String(++secrets);
    await n.patch(`${objects}/secrets/shown`, { data: { k: Buffer.from(value).toString("base64") } });
    await waitFor(async () => assert.equal(await n.inside("control", "cat /data/k"), value));
    const { status } = await n.apiNode.pod("control");
    assert.deepEqual([status?.phase, status?.containerStatuses?.[0]?.restartCount], ["Running", 0]);
  };
  const dirOf = (pod: Pod, plugin: string) => n.volumeDir(pod, plugin, "data");
  const nothingMounted = (dir: string) =>
    assert.deepEqual([readMounts().some(({ path }) => path === dir), existsSync(dir)], [false, false], dir);
  const end = async (pod: Pod) => {
    await n.deletePod(pod.metadata.name);
    await n.isGone(pod);
  };

  // parity: event FailedMount
  test("a failed mount command is reported by an event with its output and leaves no mount, and the pod runs once it succeeds", async () => {
    const pod = await n.addPod("refused", nfs);
    const dir = dirOf(pod, "nfs");
    const args = `-t nfs 192.0.2.1:/export ${dir}`;
    await n.hasEvent(
      "refused",
      "FailedMount",
      `MountVolume.SetUp failed for volume "data" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: ${args}\nOutput: mount.nfs: Connection refused\n\n`,
    );
    nothingMounted(dir);
    await otherPodsWork();
    await program.set("good");
    await n.runs("refused");
    await n.inside("refused", "echo written >/data/x");
    assert.equal(readMounts().filter(({ path }) => path === dir).length, 1);
    await end(pod);
  });

  test("a pod whose NFS server is an option of mount gets an event, nothing is started, and the path of another is only a path", async () => {
    await program.set("good");
    const before = program.calls().length;
    const server = "--options=bind,x-source";
    const pod = await n.addPod("hostile", withVolume({ nfs: { server, path: "/etc" } }));
    await n.hasEvent(
      "hostile",
      "FailedMount",
      `MountVolume.SetUp failed for volume "data" : nfs: invalid server "${server}": must be a host name or an IP address`,
    );
    nothingMounted(dirOf(pod, "nfs"));
    assert.equal(program.calls().length, before, program.calls().join("\n"));
    const plain = await n.addPod("plain", withVolume({ nfs: { server: "s", path: "/-o bind,--all" } }));
    await n.runs("plain");
    assert.deepEqual(program.calls().slice(before), [`-t nfs -- s:/-o bind,--all ${dirOf(plain, "nfs")}`]);
    await end(plain);
    await end(pod);
  });

  test("a mount command that hangs blocks its own pod only, and is killed when the pod is no longer desired", async () => {
    await program.set("hangs");
    const stuck = await n.addPod("stuck", nfs);
    await waitFor(() => assert.equal(program.hanging().length, 1));
    await n.addPod("other", withVolume({ configMap: { name: "shown" } }));
    await n.runs("other");
    await otherPodsWork();
    assert.equal((await n.apiNode.pod("stuck")).status?.phase, "Pending");
    assert.equal(program.hanging().length, 1, "the mount was attempted twice");
    await end(stuck);
    assert.deepEqual(program.hanging(), []);
  });

  test("an agent stops even while a mount command hangs, and the next agent mounts the volume", async () => {
    const stuck = await n.addPod("stuck-again", nfs);
    await waitFor(() => assert.equal(program.hanging().length, 1));
    assert.equal(await n.apiNode.agent.end("SIGTERM"), 0);
    assert.deepEqual(program.hanging(), []);
    nothingMounted(dirOf(stuck, "nfs"));
    await program.set("good");
    n.apiNode.startAgent();
    await n.runs("stuck-again");
    await end(stuck);
  });

  test("if a mount command outlives its agent and mounts a second time, both mounts are removed with the pod", async () => {
    await program.set("waits");
    const late = await n.addPod("late", nfs);
    await waitFor(() => assert.ok(program.isWaiting()));
    await n.apiNode.agent.end("SIGKILL");
    await program.set("good");
    n.apiNode.startAgent();
    await n.runs("late");
    await program.release();
    const dir = dirOf(late, "nfs");
    await waitFor(() => assert.equal(readMounts().filter(({ path }) => path === dir).length, 2));
    await end(late);
  });

  test("a full disk is reported by an event, no partial content is visible, and the volume is written once there is space", async () => {
    const { rootDir } = n.apiNode.node;
    await n.configMap("bulk", { bulk });
    const filler = join(rootDir, "filler");
    const { bsize, bavail } = statfsSync(rootDir);
    await writeFile(filler, Buffer.alloc(bsize * bavail - 64 * kilobyte));
    const pod = await n.addPod("bulky", withVolume({ configMap: { name: "bulk" } }));
    const full =
      /^MountVolume\.SetUp failed for volume "data" : .*no space left on device, write '\/.*\/pods\/.*'$/;
    await n.hasEvent("bulky", "FailedMount", full);
    nothingMounted(dirOf(pod, "configmap"));
    await n.patch(`${objects}/configmaps/shown`, { data: { k: "1", bulk } });
    await n.hasEvent("on-disk", "FailedMount", full);
    assert.match(await n.inside("on-disk", "ls -A /data"), /^\.\.\d\S+\n\.\.data\nk$/);
    assert.equal(await n.inside("on-disk", "cat /data/k"), "0");
    await otherPodsWork();
    await rm(filler);
    await n.runs("bulky");
    assert.equal(await n.inside("bulky", "wc -c </data/bulk"), String(bulk.length));
    await waitFor(async () => assert.equal(await n.inside("on-disk", "cat /data/k"), "1"));
    await end(pod);
  });

  test("a read-only root directory is reported by an event, and pods continue once it is writable again", async () => {
    const { rootDir } = n.apiNode.node;
    const deletedPod = await n.addPod("deleted", withVolume({ emptyDir: {} }));
    await n.runs("deleted");
    const readOnlyPods: [name: string, plugin: string, volume: object][] = [
      ["read-only", "empty-dir", { emptyDir: {} }],
      ["read-only-config", "configmap", { configMap: { name: "shown" } }],
    ];
    const pods: Pod[] = [];
    await execFile("/bin/mount", ["-o", "remount,ro", rootDir]);
    try {
      for (const [name, , volume] of readOnlyPods) pods.push(await n.addPod(name, withVolume(volume)));
      pods.push(await n.addPod("bare", { spec: { automountServiceAccountToken: false } }));
      const readOnly = /^MountVolume\.SetUp failed for volume "data" : .*read-only file system/;
      for (const [index, [name, plugin]] of readOnlyPods.entries()) {
        await n.hasEvent(name, "FailedMount", readOnly);
        nothingMounted(dirOf(pods[index]!, plugin));
      }
      await n.hasEvent("bare", "Failed", /^error making pod data directories: .*read-only file system/);
      await n.deletePod("deleted");
      await otherPodsWork();
    } finally {
      await execFile("/bin/mount", ["-o", "remount,rw", rootDir]);
    }
    for (const { metadata } of pods) await n.runs(metadata.name);
    await n.isGone(deletedPod);
    for (const pod of pods) await end(pod);
  });

  test("no mount or directory remains", async () => {
    for (const name of ["control", "on-disk", "other"]) await end(await n.apiNode.pod(name));
    assert.deepEqual([...n.mountIds().keys()], []);
  });
});

/** Unmounts everything in the directory, and the directory itself. */
async function removeMounts(dir: string): Promise<void> {
  const isMounted = () => readMounts().some(({ path }) => path === dir || path.startsWith(`${dir}/`));
  while (isMounted()) await execFile("/bin/umount", ["--recursive", "--lazy", dir]);
}
