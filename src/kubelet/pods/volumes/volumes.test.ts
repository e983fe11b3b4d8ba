import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import {
  access,
  chmod,
  mkdir,
  open,
  readFile,
  readlink,
  rename,
  stat,
  statfs,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { StorageApi } from "../../../../test/csi/storage-api.ts";
import { systemClock } from "../../../lib/base/clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { attachLoopDevice, detachLoopDevice, loopDeviceOf } from "../../../lib/host/loop-devices.ts";
import { hostMounts } from "../../../lib/host/mounts.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Container, Pod, PodUid, Volume, VolumeMount } from "../../../lib/model/pod.ts";
import { contentPlugins } from "./content/content-plugins.ts";
import { podsReferencing } from "./content/content-references.ts";
import { FakeObjects, FakeTokens } from "./content/fake-content.ts";
import { mayMount, startVolumes, type TestVolumes, testRoot } from "./fake-parts.ts";
import { kubeVolumeApi } from "./persistent/volume-api.ts";
import { VolumeExpander } from "./persistent/volume-expander.ts";

const signal = () => AbortSignal.timeout(20_000);
const mountRequest = () => ({ signal: signal(), sandbox: async () => ({}) });
const uid = "0a1b" as PodUid;
const hasHugePages = existsSync("/sys/kernel/mm/hugepages/hugepages-2048kB");
const hasLoopDevices = ["/dev/loop-control", "/usr/sbin/mkfs.ext4"].every((path) => existsSync(path));

/** CAP_SYS_RESOURCE, which growing a mounted ext4 needs. */
function maySetLimits(): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return ((BigInt(`0x${effective ?? "0"}`) >> 24n) & 1n) === 1n;
}

function podWith(volumes: Volume[], more: Partial<Pod["spec"]> = {}, mounts: VolumeMount[] = []): Pod {
  const volumeMounts =
    mounts.length > 0 ? mounts : volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return fakePod({
    metadata: { uid, name: "p" },
    spec: { ...more, volumes, containers: [{ volumeMounts }] },
  });
}

describe("volumes on this host", { skip: !mayMount && "needs root" }, () => {
  let rootDir = "";
  let remove = async () => {};
  let volumes: TestVolumes;
  const dirOf = (plugin: string, name: string) => join(rootDir, "pods", uid, "volumes", plugin, name);
  const exists = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    );

  beforeEach(async () => {
    ({ rootDir, remove } = await testRoot());
    volumes = await startVolumes(rootDir);
  });
  afterEach(async () => {
    await volumes.stop();
    await remove();
  });

  // parity: volume gitRepo, gate GitRepoVolumeDriver=false
  test("a gitRepo volume fails, because GitRepoVolumeDriver is locked to off, and an old clone is removed", async () => {
    const dir = dirOf("kubernetes.io~git-repo", "code");
    await volumes.stop();
    await mkdir(join(dir, "repository"), { recursive: true });
    volumes = await startVolumes(rootDir);
    const source = { name: "code", gitRepo: { repository: "https://git.example.com/x" } } as Volume;
    volumes.manager.register(podWith([source]));
    while (volumes.events.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const why =
      "git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`";
    assert.equal(volumes.events[0], `FailedMount: MountVolume.SetUp failed for volume "code" : ${why}`);
    await volumes.manager.release(uid, signal());
    assert.equal(await exists(dir), false);
  });

  describe("emptyDir", () => {
    test("is a directory with mode 0777 and a ready file on disk; both are removed with the pod", async () => {
      const pod = podWith([{ name: "data", emptyDir: {} }]);
      await volumes.manager.waitFor(pod, signal());
      const dir = dirOf("kubernetes.io~empty-dir", "data");
      assert.equal((await stat(dir)).mode & 0o7777, 0o777);
      const ready = join(rootDir, "pods", uid, "plugins/kubernetes.io~empty-dir/data/ready");
      assert.equal(await exists(ready), true);
      await writeFile(join(dir, "file"), "x");
      const [data] = await volumes.stats(uid);
      assert.ok(data!.usedBytes! >= 4096 && data!.inodesUsed === 2, JSON.stringify(data));
      await volumes.manager.release(uid, signal());
      for (const path of [dir, ready, join(rootDir, "pods", uid, "volumes/kubernetes.io~empty-dir")])
        assert.equal(await exists(path), false, path);
    });

    // parity: gate LocalStorageCapacityIsolationFSQuotaMonitoring=true as diskQuotas
    // parity: gate LocalStorageCapacityIsolationFSQuotaMonitoring=false as diskQuotas
    test("is measured by its quota if it has one, otherwise by its files", async () => {
      const pod = podWith([{ name: "data", emptyDir: {} }]);
      const dir = dirOf("kubernetes.io~empty-dir", "data");
      const calls: string[] = [];
      const diskQuotas = {
        assign: async (path: string) => void calls.push(`assign ${path}`),
        usage: async () => ({ bytes: 12_345, inodes: 67 }),
        release: async (path: string) => void calls.push(`release ${path}`),
      };
      const measured = async (more: object) => {
        await volumes.stop();
        volumes = await startVolumes(rootDir, more);
        await volumes.manager.waitFor(pod, signal());
        const [data] = await volumes.stats(uid);
        await volumes.manager.release(uid, signal());
        return [data?.usedBytes, data?.inodesUsed];
      };
      assert.deepEqual(await measured({ diskQuotas }), [12_345, 67]);
      assert.deepEqual(calls, [`assign ${dir}`, `release ${dir}`]);
      assert.equal((await measured({ diskQuotas: undefined }))[1], 1);
    });

    test("has the group of the fsGroup and the setgid bit", async () => {
      await volumes.manager.waitFor(
        podWith([{ name: "data", emptyDir: {} }], { securityContext: { fsGroup: 4321 } }),
        signal(),
      );
      const found = await stat(dirOf("kubernetes.io~empty-dir", "data"));
      assert.deepEqual([found.gid, found.mode & 0o7777], [4321, 0o2777]);
    });

    const sizes: [string, string | undefined, string | undefined, number][] = [
      ["the memory of all pods", undefined, undefined, 64 << 20],
      ["its sizeLimit", "8Mi", undefined, 8 << 20],
      ["the pod's memory limit, if it is smaller", "32Mi", "16Mi", 16 << 20],
      ["its sizeLimit, if it is smaller than the pod's limit", "4Mi", "16Mi", 4 << 20],
      ["at most the memory of all pods", "1Gi", undefined, 64 << 20],
    ];
    for (const [what, sizeLimit, limit, size] of sizes)
      test(`has the size ${what} in memory`, async () => {
        const pod = podWith([
          { name: "data", emptyDir: { medium: "Memory", ...(sizeLimit && { sizeLimit }) } },
        ]);
        if (limit)
          pod.spec.containers[0]!.resources = { limits: { memory: limit }, requests: { memory: limit } };
        await volumes.manager.waitFor(pod, signal());
        const dir = dirOf("kubernetes.io~empty-dir", "data");
        const { blocks, bsize } = await statfs(dir);
        assert.equal(blocks * bsize, size);
        await volumes.manager.release(uid, signal());
        assert.equal(await exists(dir), false);
      });

    test("uses the page size that a container requests", { skip: !hasHugePages }, async () => {
      const pod = podWith([{ name: "data", emptyDir: { medium: "HugePages" } }]);
      pod.spec.containers[0]!.resources = { requests: { "hugepages-2Mi": "4Mi" } };
      await volumes.manager.waitFor(pod, signal());
      const dir = dirOf("kubernetes.io~empty-dir", "data");
      const mounted = await hostMounts.at(dir);
      assert.equal(mounted?.fsType, "hugetlbfs");
      assert.ok(mounted?.options.includes("pagesize=2M"), mounted?.options.join());
      await volumes.manager.release(uid, signal());
      assert.equal(await exists(dir), false);
    });

    test("is reported by an event and not mounted if no container requests its huge pages", async () => {
      const pod = podWith([{ name: "data", emptyDir: { medium: "HugePages-2Mi" } }]);
      await assert.rejects(volumes.manager.waitFor(pod, AbortSignal.timeout(300)), { name: "AbortError" });
      assert.equal(
        volumes.events[0],
        'FailedMount: MountVolume.SetUp failed for volume "data" : medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages',
      );
      await volumes.manager.release(uid, signal());
    });
  });

  describe("hostPath", () => {
    async function setUp(path: string, type: string | undefined): Promise<string> {
      volumes.events.length = 0;
      const pod = podWith([{ name: "h", hostPath: { path, ...(type !== undefined && { type }) } }]);
      const wait = volumes.manager.waitFor(pod, signal());
      const failed = new Promise<string>((resolve) => {
        const off = volumes.manager.onChange(() => {
          off();
          resolve(volumes.events[0]?.split(" : ")[1] ?? "");
        });
      });
      const result = await Promise.race([wait.then(() => ""), failed]);
      wait.catch(() => {});
      await volumes.manager.release(uid, signal());
      return result;
    }

    test("is checked for its type, and created if the type requires it", async () => {
      const dir = join(rootDir, "dir");
      const file = join(rootDir, "file");
      const socket = join(rootDir, "socket");
      await mkdir(dir);
      await writeFile(file, "");
      const server = createServer().listen(socket);
      const check = (path: string, what: string) => `hostPath type check failed: ${path} is not ${what}`;
      const table: [path: string, type: string | undefined, message: string][] = [
        [join(rootDir, "nothing"), undefined, ""],
        [join(rootDir, "nothing"), "", ""],
        [dir, "Directory", ""],
        [file, "Directory", check(file, "a directory")],
        [join(rootDir, "nothing"), "Directory", check(join(rootDir, "nothing"), "a directory")],
        [file, "File", ""],
        [dir, "File", check(dir, "a file")],
        [socket, "Socket", ""],
        [file, "Socket", check(file, "a socket file")],
        ["/dev/null", "CharDevice", ""],
        [file, "CharDevice", check(file, "a character device")],
        [file, "BlockDevice", check(file, "a block device")],
        [join(rootDir, "new/dir"), "DirectoryOrCreate", ""],
        [file, "DirectoryOrCreate", check(file, "a directory")],
        [join(rootDir, "new/file"), "FileOrCreate", ""],
        [dir, "FileOrCreate", check(dir, "a file")],
        [dir, "SocketOrCreate", "SocketOrCreate is an invalid volume type"],
        [`${rootDir}/../x`, "Directory", `invalid HostPath \`${rootDir}/../x\`: must not contain '..'`],
      ];
      for (const [path, type, message] of table)
        assert.equal(await setUp(path, type), message, `${type} ${path}`);
      assert.equal((await stat(join(rootDir, "new/dir"))).mode & 0o777, 0o755);
      assert.equal((await stat(join(rootDir, "new/file"))).isFile(), true);
      server.close();
    });

    test("is passed to containers as it is, and outlives the pod", async () => {
      const dir = join(rootDir, "dir");
      await mkdir(dir);
      const pod = podWith([{ name: "h", hostPath: { path: dir } }]);
      await volumes.manager.waitFor(pod, signal());
      const [mount] = await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map(), mountRequest());
      assert.equal(mount?.hostPath, dir);
      await volumes.manager.release(uid, signal());
      assert.equal(await exists(dir), true);
    });
  });

  describe("mounts of containers", () => {
    test("are in the order of volumeMounts, with readOnly, propagation and subPaths", async () => {
      const mounts: VolumeMount[] = [
        { name: "data", mountPath: "/a", subPath: "sub/dir" },
        { name: "data", mountPath: "b", readOnly: true, mountPropagation: "HostToContainer" },
        {
          name: "data",
          mountPath: "/c",
          subPathExpr: "$(POD)/x",
          readOnly: true,
          recursiveReadOnly: "Enabled",
        },
      ];
      const pod = podWith([{ name: "data", emptyDir: {} }], { securityContext: { fsGroup: 4321 } }, mounts);
      await volumes.manager.waitFor(pod, signal());
      const got = await volumes.mountsFor(
        pod,
        pod.spec.containers[0]!,
        new Map([["POD", "p1"]]),
        mountRequest(),
      );
      const subPath = (index: number) => join(rootDir, "pods", uid, "volume-subpaths/data/c0", String(index));
      const dir = dirOf("kubernetes.io~empty-dir", "data");
      assert.deepEqual(
        got.map((m) => [m.hostPath, m.containerPath, m.readonly, m.recursiveReadOnly, m.propagation]),
        [
          [subPath(0), "/a", false, false, 0],
          [dir, "/b", true, false, 1],
          [subPath(2), "/c", true, true, 0],
        ],
      );
      const created = await stat(join(dir, "sub/dir"));
      assert.deepEqual([created.gid, created.mode & 0o7777], [4321, 0o2777]);
      await writeFile(join(subPath(0), "file"), "seen");
      assert.equal(await readFile(join(dir, "sub/dir/file"), "utf8"), "seen");
      const before = await hostMounts.at(subPath(0));
      await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map([["POD", "p1"]]), mountRequest());
      assert.equal((await hostMounts.at(subPath(0)))?.id, before?.id);
      await volumes.manager.release(uid, signal());
      assert.equal(await exists(join(rootDir, "pods", uid, "volume-subpaths")), false);
    });

    test("a subPath may be a file, and a replaced one is mounted again", async () => {
      const mounts = [{ name: "data", mountPath: "/f", subPath: "file" }];
      const pod = podWith([{ name: "data", emptyDir: {} }], {}, mounts);
      await volumes.manager.waitFor(pod, signal());
      const dir = dirOf("kubernetes.io~empty-dir", "data");
      const read = async () => {
        const [mount] = await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map(), mountRequest());
        return readFile(mount!.hostPath!, "utf8");
      };
      await writeFile(join(dir, "file"), "one");
      assert.equal(await read(), "one");
      await writeFile(join(dir, "next"), "two");
      await rename(join(dir, "next"), join(dir, "file"));
      assert.equal(await read(), "two");
      await volumes.manager.release(uid, signal());
    });

    const rejections: [Partial<VolumeMount>, RegExp][] = [
      [{ subPath: "/etc" }, /error SubPath `\/etc` must not be an absolute path/],
      [{ subPath: "a/../../b" }, /unable to provision SubPath `a\/..\/..\/b`: must not contain '..'/],
      [{ subPath: "out/x" }, /failed to prepare subPath for volumeMount "data" of container "c0"$/],
      [{ subPath: "up" }, /failed to prepare subPath for volumeMount "data" of container "c0"$/],
      [{ subPathExpr: "$(B)$(A)$(EMPTY)" }, /missing value for A, B, EMPTY/],
      [
        { subPathExpr: "$(LONG)$(LONG)" },
        /subPathExpr of volumeMount "data" of container "c0" expands to more than 4096 bytes$/,
      ],
      [{ mountPropagation: "Sideways" }, /invalid MountPropagation mode: "Sideways"/],
      [{ recursiveReadOnly: "Enabled" }, /requested recursive read-only mode, but it is not read-only/],
      [
        { recursiveReadOnly: "Enabled", readOnly: true, mountPropagation: "HostToContainer" },
        /not compatible with propagation "HostToContainer"/,
      ],
      [{ name: "other" }, /cannot find volume "other" to mount into container "c0"/],
    ];
    for (const [part, message] of rejections)
      test(`rejected: ${JSON.stringify(part)}`, async () => {
        const pod = podWith([{ name: "data", emptyDir: {} }]);
        await volumes.manager.waitFor(pod, signal());
        const dir = dirOf("kubernetes.io~empty-dir", "data");
        await symlink("/etc", join(dir, "out"));
        await symlink("../../..", join(dir, "up"));
        const container: Container = {
          name: "c0",
          volumeMounts: [{ name: "data", mountPath: "/d", ...part }],
        };
        const env = new Map(Object.entries({ EMPTY: "", LONG: "x".repeat(3000) }));
        await assert.rejects(volumes.mountsFor(pod, container, env, mountRequest()), message);
        assert.deepEqual(
          hostMounts.list().filter((m) => m.path.includes("volume-subpaths") && m.path.startsWith(rootDir)),
          [],
        );
      });

    // parity: gate ImageVolume=true as imageSource
    test("an image volume is mounted by the runtime, from the pulled image", async () => {
      await volumes.stop();
      volumes = await startVolumes(rootDir, {
        imageSource: async (_pod, { reference }) => ({ image: "sha256:1", userSpecifiedImage: reference }),
      });
      const volume = { name: "img", image: { reference: "example/data:1" } } as Volume;
      const pod = podWith([volume], {}, [{ name: "img", mountPath: "/i", subPath: "part" }]);
      await volumes.manager.waitFor(pod, signal());
      const [mount] = await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map(), mountRequest());
      assert.deepEqual(
        [mount?.hostPath, mount?.image, mount?.imageSubPath, mount?.readonly],
        [undefined, { image: "sha256:1", userSpecifiedImage: "example/data:1" }, "part", true],
      );
      assert.deepEqual(await volumes.stats(uid), []);
    });
  });

  describe("local volumes", () => {
    const resolve =
      (path: string, more: object = {}, readOnly = false, mode: "Filesystem" | "Block" = "Filesystem") =>
      async (_pod: Pod, volume: Volume) => ({
        spec: {
          name: "pv1",
          volume,
          readOnly,
          persistent: {
            volumeName: "pv1",
            spec: { local: { path }, ...more },
            claim: { namespace: "default", name: "c", uid: "u" },
            mode,
          },
        },
      });
    const claim: Volume = { name: "data", persistentVolumeClaim: { claimName: "c" } };

    test("a directory of the node is bind-mounted, gets the fsGroup, and outlives the pod", async () => {
      const path = join(rootDir, "disk");
      await mkdir(path);
      await writeFile(join(path, "file"), "x", { mode: 0o600 });
      await volumes.stop();
      volumes = await startVolumes(rootDir, { resolveClaim: resolve(path) });
      await volumes.manager.waitFor(podWith([claim], { securityContext: { fsGroup: 4321 } }), signal());
      const dir = dirOf("kubernetes.io~local-volume", "pv1");
      assert.equal(await readFile(join(dir, "file"), "utf8"), "x");
      const file = await stat(join(path, "file"));
      assert.deepEqual([file.gid, file.mode & 0o777], [4321, 0o660]);
      assert.deepEqual(volumes.manager.inUse(), []);
      await volumes.manager.release(uid, signal());
      assert.equal(await exists(dir), false);
      assert.equal(await readFile(join(path, "file"), "utf8"), "x");
    });

    // parity: event AlreadyMountedVolume
    test("a directory that another pod uses keeps its group; another fsGroup is an event", async () => {
      const path = join(rootDir, "disk");
      await mkdir(path);
      await volumes.stop();
      volumes = await startVolumes(rootDir, { resolveClaim: resolve(path) });
      const group = (fsGroup: number) => ({ securityContext: { fsGroup } });
      await volumes.manager.waitFor(podWith([claim], group(4321)), signal());
      assert.deepEqual(volumes.events, []);
      const other = podWith([claim], group(5432));
      const otherUid = "22222222-2222-2222-2222-222222222222" as PodUid;
      other.metadata = { ...other.metadata, uid: otherUid };
      await volumes.manager.waitFor(other, signal());
      assert.deepEqual(volumes.events, [
        "AlreadyMountedVolume: The requested fsGroup is 5432, but the volume pv1 has GID 4321. The volume may not be shareable.",
      ]);
      assert.equal((await stat(path)).gid, 4321);
      await volumes.manager.release(otherUid, signal());
      await volumes.manager.release(uid, signal());
    });

    // parity: event FailedMapVolume
    test("a block volume whose device does not exist is reported by an event", async () => {
      const path = join(rootDir, "no-device");
      await volumes.stop();
      volumes = await startVolumes(rootDir, { resolveClaim: resolve(path, {}, false, "Block") });
      const pod = podWith([claim]);
      pod.spec.containers = [{ name: "c0", volumeDevices: [{ name: "data", devicePath: "/dev/data" }] }];
      const stop = new AbortController();
      const wait = volumes.manager.waitFor(pod, stop.signal).catch(() => {});
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.match(volumes.events[0] ?? "", /^FailedMapVolume: .* for volume "pv1" /);
      stop.abort();
      await wait;
    });

    test("a read-only PVC is mounted read-only", async () => {
      const path = join(rootDir, "disk");
      await mkdir(path);
      await volumes.stop();
      volumes = await startVolumes(rootDir, { resolveClaim: resolve(path, {}, true) });
      await volumes.manager.waitFor(podWith([claim]), signal());
      await assert.rejects(writeFile(join(dirOf("kubernetes.io~local-volume", "pv1"), "f"), ""), {
        code: "EROFS",
      });
    });

    test("a path that does not exist is reported by an event, and the volume is mounted once it exists", async () => {
      const path = join(rootDir, "later");
      await volumes.stop();
      volumes = await startVolumes(rootDir, { resolveClaim: resolve(path) });
      const wait = volumes.manager.waitFor(podWith([claim]), signal());
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.match(
        volumes.events[0]!,
        /MountVolume.MountDevice failed for volume "pv1" : path ".*later" does not exist/,
      );
      await mkdir(path);
      await wait;
    });
  });

  describe("local disks", { skip: !hasLoopDevices && "needs loop devices and mkfs.ext4" }, () => {
    const claim: Volume = { name: "data", persistentVolumeClaim: { claimName: "c" } };
    let file = "";
    let device = "";
    beforeEach(async () => {
      file = join(rootDir, "disk.img");
      const handle = await open(file, "w");
      await handle.truncate(16 << 20);
      await handle.close();
      device = await attachLoopDevice(file);
      await volumes.stop();
    });
    afterEach(() => detachLoopDevice(file));
    const spec = (volume: Volume, mode: "Filesystem" | "Block") => ({
      name: "pv1",
      volume,
      readOnly: false,
      persistent: {
        volumeName: "pv1",
        // Provisioners and end-to-end tests set an empty type, which means that no type is set.
        spec: { local: { path: device, fsType: "" } },
        claim: { namespace: "default", name: "c", uid: "u" },
        mode,
      },
    });

    test("an empty disk is formatted, mounted once for the node and bind-mounted for the pod; its data is kept", async () => {
      const resolveClaim = async (_pod: Pod, volume: Volume) => ({ spec: spec(volume, "Filesystem") });
      volumes = await startVolumes(rootDir, {
        resolveClaim,
        initialSync: { isComplete: () => true },
        nodePods: { phaseOf: () => "syncing" },
      });
      const dir = dirOf("kubernetes.io~local-volume", "pv1");
      const global = join(rootDir, "plugins/kubernetes.io/local-volume/mounts/pv1");
      for (const round of [1, 2]) {
        await volumes.manager.waitFor(podWith([claim]), signal());
        assert.equal((await hostMounts.at(global))?.fsType, "ext4");
        if (round === 1) await writeFile(join(dir, "file"), "kept");
        assert.equal(await readFile(join(dir, "file"), "utf8"), "kept");
        await volumes.manager.release(uid, signal());
        while (await hostMounts.isMountPoint(global)) await new Promise((resolve) => setImmediate(resolve));
      }
    });

    /** A claim whose volume is larger than the filesystem on it. */
    async function toExpand(mode: "Filesystem" | "Block") {
      const api = new StorageApi();
      const claimPath = "/api/v1/namespaces/default/persistentvolumeclaims/c";
      api.put(claimPath, {
        metadata: { name: "c", namespace: "default", uid: "u" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "16Mi" } } },
        status: {
          capacity: { storage: "8Mi" },
          allocatedResources: { storage: "16Mi" },
          allocatedResourceStatuses: { storage: "NodeResizePending" },
        },
      } as never);
      const events: string[] = [];
      const record = (_pod: Pod, reason: string) => void events.push(reason);
      const expander = new VolumeExpander({
        api: kubeVolumeApi(api),
        events: { normal: record, warning: record },
        claimEvents: { normal() {}, warning() {} },
        clock: systemClock,
        logger: silentLogger,
      });
      const resolveClaim = async (_pod: Pod, volume: Volume) => {
        const found = spec(volume, mode);
        const pv = { ...found.persistent.spec, capacity: { storage: "16Mi" } };
        return { spec: { ...found, persistent: { ...found.persistent, spec: pv, claimCapacity: "8Mi" } } };
      };
      volumes = await startVolumes(rootDir, { resolveClaim, expander });
      const status = () => (api.get(claimPath) as { status?: object } | undefined)?.status;
      return { events, status };
    }
    const expanded = {
      capacity: { storage: "16Mi" },
      allocatedResources: { storage: "16Mi" },
      allocatedResourceStatuses: {},
    };

    test("a filesystem that is smaller than its disk is grown, and its claim reports the size", {
      skip: !maySetLimits() && "needs CAP_SYS_RESOURCE",
    }, async () => {
      execFileSync("mkfs.ext4", ["-q", device, "8M"]);
      const { events, status } = await toExpand("Filesystem");
      await volumes.manager.waitFor(podWith([claim]), signal());
      const { blocks, bsize } = await statfs(dirOf("kubernetes.io~local-volume", "pv1"));
      assert.ok(blocks * bsize > 8 << 20, `${blocks * bsize} bytes`);
      assert.deepEqual([status(), events], [expanded, ["FileSystemResizeSuccessful"]]);
    });

    test("a filesystem that cannot be grown keeps the pod waiting, with the output of the program", {
      skip: maySetLimits() && "the kernel permits it here",
    }, async () => {
      execFileSync("mkfs.ext4", ["-q", device, "8M"]);
      await toExpand("Filesystem");
      void volumes.manager.waitFor(podWith([claim]), signal()).catch(() => {});
      while (volumes.events.length === 0) await new Promise<void>((done) => setImmediate(done));
      assert.match(
        volumes.events[0]!,
        /^FailedMount: MountVolume.Setup failed while expanding volume for volume "pv1" : resize of device \/dev\/loop\d+ failed: exit status 1. resize2fs output: /,
      );
    });

    // parity: event FileSystemResizeSuccessful
    test("a claim of a block volume no longer waits for the node", async () => {
      const { events, status } = await toExpand("Block");
      const pod = podWith([claim]);
      pod.spec.containers = [{ name: "c0", volumeDevices: [{ name: "data", devicePath: "/dev/data" }] }];
      await volumes.manager.waitFor(pod, signal());
      assert.deepEqual([status(), events], [expanded, ["FileSystemResizeSuccessful"]]);
      await volumes.manager.release(uid, signal());
    });

    // parity: event SuccessfulMountVolume
    test("a block volume is a symlink for the pod, a bind mount and a lock; all are removed with the pod", async () => {
      const resolveClaim = async (_pod: Pod, volume: Volume) => ({ spec: spec(volume, "Block") });
      volumes = await startVolumes(rootDir, { resolveClaim });
      const pod = podWith([claim]);
      const container: Container = { name: "c0", volumeDevices: [{ name: "data", devicePath: "/dev/data" }] };
      pod.spec.containers = [container];
      await volumes.manager.waitFor(pod, signal());
      const link = join(rootDir, "pods", uid, "volumeDevices/kubernetes.io~local-volume/pv1");
      const global = join(rootDir, "plugins/kubernetes.io/kubernetes.io/local-volume/volumeDevices/pv1", uid);
      assert.equal(await readlink(link), device);
      assert.equal((await stat(global)).isBlockDevice(), true);
      assert.notEqual(loopDeviceOf(global), undefined);
      assert.deepEqual(await volumes.devicesFor(pod, container), [
        { hostPath: link, containerPath: "/dev/data", permissions: "mrw" },
      ]);
      assert.equal(volumes.events.length, 2);
      assert.match(
        volumes.events[0]!,
        /^SuccessfulMountVolume: MapVolume.MapPodDevice succeeded for volume "pv1" globalMapPath "/,
      );
      await volumes.manager.release(uid, signal());
      for (const path of [link, global]) assert.equal(await exists(path), false, path);
    });
  });

  test("each time that the group of files is set is in the metrics, by the type of the volume", async () => {
    const metrics = createMetrics();
    const objects = new FakeObjects();
    objects.secret("s", { password: "one" });
    await volumes.stop();
    volumes = await startVolumes(rootDir, {
      metrics,
      plugins: ({ mounts, groupSet }) =>
        contentPlugins({
          mounts,
          groupSet,
          clock: systemClock,
          logger: silentLogger,
          allocatable: () => ({}),
          objects: objects.source,
          tokens: new FakeTokens(),
        }),
    });
    const counted = async () => {
      const text = await metrics.registry.metrics();
      const lines = text.matchAll(/^storage_operation_duration_seconds_count\{(.*)\} (\d+)$/gm);
      return [...lines]
        .filter(([, labels]) => labels!.includes('operation_name="volume_apply_access_control"'))
        .map(([, labels, count]) => `${/volume_plugin="(.*?)"/.exec(labels!)?.[1]} ${count}`)
        .toSorted();
    };
    const list: Volume[] = [
      { name: "data", emptyDir: {} },
      { name: "secret", secret: { secretName: "s" } },
    ];
    await volumes.manager.waitFor(podWith(list), signal());
    assert.deepEqual(await counted(), [], "no group");
    await volumes.manager.release(uid, signal());
    await volumes.manager.waitFor(podWith(list, { securityContext: { fsGroup: 4321 } }), signal());
    assert.deepEqual(await counted(), ["kubernetes.io/empty-dir 1", "kubernetes.io/secret 1"]);
  });

  describe("content volumes", () => {
    test("a missing secret is reported, and mounted as soon as it exists; a change is written in place", async () => {
      const objects = new FakeObjects();
      await volumes.stop();
      volumes = await startVolumes(rootDir, {
        plugins: ({ mounts }) =>
          contentPlugins({
            mounts,
            clock: systemClock,
            logger: silentLogger,
            allocatable: () => ({}),
            objects: objects.source,
            tokens: new FakeTokens(),
          }),
      });
      const pod = podWith([{ name: "data", secret: { secretName: "s" } }]);
      const wait = volumes.manager.waitFor(pod, signal());
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.deepEqual(volumes.manager.waiting(uid), ['waiting for volume data: secret "s" not found']);
      assert.equal(
        volumes.events[0],
        'FailedMount: MountVolume.SetUp failed for volume "data" : secret "s" not found',
      );
      objects.secret("s", { password: "one" });
      volumes.manager.changed(podsReferencing([pod], { kind: "Secret", namespace: "default", name: "s" }));
      await wait;
      const dir = dirOf("kubernetes.io~secret", "data");
      const mounted = await hostMounts.at(dir);
      assert.equal(mounted?.fsType, "tmpfs");
      assert.equal(await readFile(join(dir, "password"), "utf8"), "one");
      const [mount] = await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map(), mountRequest());
      assert.deepEqual([mount?.hostPath, mount?.readonly], [dir, true]);

      objects.secret("s", { password: "two" });
      const updated = new Promise<void>((done) => volumes.manager.onChange(() => done()));
      volumes.manager.changed([uid]);
      await updated;
      assert.equal(await readFile(join(dir, "password"), "utf8"), "two");
      assert.equal((await hostMounts.at(dir))?.id, mounted?.id);
      await volumes.manager.release(uid, signal());
      assert.equal(await hostMounts.isMountPoint(dir), false);
      assert.equal(await exists(dir), false);
    });
  });

  describe("after a kill of the agent", () => {
    test("all mounts are kept, and unmounted with their pod", async () => {
      const pod = podWith(
        [
          { name: "mem", emptyDir: { medium: "Memory" } },
          { name: "disk", emptyDir: {} },
        ],
        {},
        [
          { name: "mem", mountPath: "/m" },
          { name: "disk", mountPath: "/d", subPath: "part" },
        ],
      );
      const mounts = () => hostMounts.list().filter((m) => m.path.startsWith(rootDir));
      await volumes.manager.waitFor(pod, signal());
      await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map(), mountRequest());
      await writeFile(join(dirOf("kubernetes.io~empty-dir", "disk"), "file"), "kept");
      const before = mounts();
      assert.equal(before.length, 2);
      await volumes.stop();
      volumes = await startVolumes(rootDir);
      await volumes.manager.waitFor(pod, signal());
      await volumes.mountsFor(pod, pod.spec.containers[0]!, new Map(), mountRequest());
      assert.deepEqual(mounts(), before);
      assert.equal(await readFile(join(dirOf("kubernetes.io~empty-dir", "disk"), "file"), "utf8"), "kept");
      await volumes.manager.release(uid, signal());
      assert.deepEqual(mounts(), []);
      assert.equal(await exists(join(rootDir, "pods", uid, "volume-subpaths")), false);
    });

    test("volumes of an orphaned pod are cleaned up; unknown directories are left alone", async () => {
      await volumes.manager.waitFor(podWith([{ name: "mem", emptyDir: { medium: "Memory" } }]), signal());
      await volumes.stop();
      const unknown = dirOf("example.com~other", "v");
      await mkdir(unknown, { recursive: true });
      await writeFile(join(unknown, "precious"), "x");
      volumes = await startVolumes(rootDir, {
        initialSync: { isComplete: () => true },
        nodePods: { phaseOf: () => undefined },
      });
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.equal(await exists(dirOf("kubernetes.io~empty-dir", "mem")), false);
      assert.equal(await readFile(join(unknown, "precious"), "utf8"), "x");
    });
  });

  describe("failures of the host", () => {
    test("a full disk is reported by an event, and the volume is mounted once there is space", async () => {
      const small = join(rootDir, "small");
      await mkdir(small);
      await hostMounts.mount("tmpfs", small, "tmpfs", ["nr_inodes=12"]);
      await volumes.stop();
      volumes = await startVolumes(small);
      const names = Array.from({ length: 8 }, (_, i) => `v${i}`);
      const pod = podWith(names.map((name) => ({ name, emptyDir: {} })));
      const wait = volumes.manager.waitFor(pod, signal());
      await new Promise<void>((done) => volumes.manager.onChange(() => volumes.events.length > 0 && done()));
      assert.match(
        volumes.events[0]!,
        /^FailedMount: MountVolume.SetUp failed for volume "v\d" : ENOSPC: no space left/,
      );
      await hostMounts.mount("tmpfs", small, "tmpfs", ["remount", "nr_inodes=1000"]);
      await wait;
      await volumes.manager.release(uid, signal());
    });

    test("a read-only root directory is reported by an event, and the volume is mounted once it is writable", async () => {
      const read = join(rootDir, "read");
      await mkdir(read);
      await hostMounts.mount("tmpfs", read, "tmpfs", ["ro"]);
      await volumes.stop();
      volumes = await startVolumes(read);
      const wait = volumes.manager.waitFor(podWith([{ name: "data", emptyDir: {} }]), signal());
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.match(
        volumes.events[0]!,
        /MountVolume.SetUp failed for volume "data" : EROFS: read-only file system/,
      );
      await hostMounts.mount("tmpfs", read, "tmpfs", ["remount", "rw"]);
      await wait;
      await volumes.manager.release(uid, signal());
    });

    test("a failed mount is reported by an event, leaves no partial mount, and is retried", async () => {
      let broken = true;
      await volumes.stop();
      volumes = await startVolumes(rootDir, {
        mounts: {
          ...hostMounts,
          mountTmpfs: (dir, options) => hostMounts.mountTmpfs(broken ? join(dir, "nowhere") : dir, options),
        },
      });
      const wait = volumes.manager.waitFor(
        podWith([{ name: "m", emptyDir: { medium: "Memory" } }]),
        signal(),
      );
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.match(
        volumes.events[0]!,
        /MountVolume.SetUp failed for volume "m" : mount tmpfs on .*: no such file/,
      );
      assert.deepEqual(
        hostMounts.list().filter((m) => m.path.startsWith(rootDir)),
        [],
      );
      broken = false;
      await wait;
      await volumes.manager.release(uid, signal());
      assert.deepEqual(
        hostMounts.list().filter((m) => m.path.startsWith(rootDir)),
        [],
      );
    });

    test("a volume that cannot be removed is retried", async () => {
      await volumes.manager.waitFor(podWith([{ name: "data", emptyDir: {} }]), signal());
      const nested = join(dirOf("kubernetes.io~empty-dir", "data"), "held");
      await mkdir(nested);
      await hostMounts.mountTmpfs(nested); // as a container with a bidirectional mount could leave it
      const released = volumes.manager.release(uid, signal());
      await new Promise<void>((done) => volumes.manager.onChange(() => done()));
      assert.ok(hostMounts.list().some(({ path }) => path === nested));
      await hostMounts.unmount(nested);
      await released;
      await chmod(rootDir, 0o755);
    });
  });
});
