import assert from "node:assert/strict";
import { existsSync, readlinkSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../../../lib/base/clock.ts";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { FakeCommands } from "../../../../lib/host/fake-commands.ts";
import { attachLoopDevice, detachLoopDevice } from "../../../../lib/host/loop-devices.ts";
import type { MountPoint } from "../../../../lib/host/mount-table.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { mayMount, startVolumes, testRoot } from "../fake-parts.ts";
import type { DeviceDirs } from "../tools/block-devices.ts";
import type { SetUpRequest, VolumeSpec } from "../volume-plugin.ts";
import { fcPlugin } from "./fc-plugin.ts";

const never = new AbortController().signal;
const pod = fakePod();
const [first, second] = ["50060e801049cfd1", "50060e801049cfd9"];
const wwid = "3600508b400105e210000900000490000";

function volume(fc: object, mode: "Filesystem" | "Block" = "Filesystem"): VolumeSpec {
  return {
    name: "pv",
    volume: { name: "data" },
    readOnly: false,
    persistent: {
      volumeName: "pv",
      spec: { fc, mountOptions: ["noatime"] },
      claim: { namespace: "default", name: "c", uid: "u" },
      mode,
    },
  };
}

/** The entries of a host with two adapters, as `find /sys/class/scsi_host /sys/block /dev -printf '%P -> %l\n'` lists them. */
const onePath = [
  "sys/class/scsi_host/host5/scan",
  "sys/class/scsi_host/host6/scan",
  "sys/devices/ata1/host0/target0:0:0/0:0:0:0/delete",
  "sys/devices/host5/rport-5:0-0/target5:0:0/5:0:0:0/delete",
  "sys/block/sda/device -> ../../devices/ata1/host0/target0:0:0/0:0:0:0",
  "sys/block/sdc/device -> ../../devices/host5/rport-5:0-0/target5:0:0/5:0:0:0",
  "dev/disk/by-id/scsi-SATA_OWN_DISK -> ../../sda",
  "dev/disk/by-id/scsi-SATA_OWN_DISK-part1 -> ../../sda1",
  "dev/sda1",
  "dev/sda",
  "dev/sdc",
  "dev/disk/by-path/pci-0000:00:1f.2-ata-1 -> ../../sda",
  `dev/disk/by-path/pci-0000:5e:00.1-fc-0x${first}-lun-0 -> ../../sdc`,
  `dev/disk/by-path/pci-0000:5e:00.1-fc-0x${first}-lun-0-part1 -> ../../sda`,
  `dev/disk/by-path/pci-0000:5e:00.1-fc-0x${first}-lun-10 -> ../../sda`,
  `dev/disk/by-id/scsi-${wwid} -> ../../sdc`,
  "dev/disk/by-id/scsi-SHITACHI_OPEN-V_50403B05 -> ../../sdc",
];
const twoPaths = [
  ...onePath,
  "sys/devices/host6/rport-6:0-0/target6:0:0/6:0:0:0/delete",
  "sys/block/sdd/device -> ../../devices/host6/rport-6:0-0/target6:0:0/6:0:0:0",
  "sys/block/dm-0/slaves/sda",
  "sys/block/dm-2/slaves/sdc",
  "sys/block/dm-2/slaves/sdd",
  "dev/sdd",
  "dev/dm-0",
  "dev/dm-2",
  "dev/mapper/mpatha -> ../dm-2",
  `dev/disk/by-path/fc-0x${second}-lun-0 -> ../../sdd`,
];

describe("a Fibre Channel volume", () => {
  let root: string;
  let dirs: DeviceDirs;
  let clock: FakeClock;
  let log: string[];
  let mounted: Map<string, string>;
  let superblock: string;

  const create = async (entries: readonly string[]) => {
    for (const entry of entries) {
      const [name = "", target] = entry.split(" -> ");
      await mkdir(dirname(join(root, name)), { recursive: true });
      if (target === undefined) await writeFile(join(root, name), "");
      else await symlink(target, join(root, name));
    }
  };
  const written = (name: string) => readFile(join(root, name), "utf8");
  const setUp = (results: FakeCommands["results"] = {}) => {
    const commands = new FakeCommands({ blkid: { code: 2 }, ...results });
    const at = (path: string) => {
      const source = mounted.get(path);
      if (source === undefined) return undefined;
      return {
        path,
        source,
        device: "8:1",
        root: "/",
        options: superblock.split(","),
      } as unknown as MountPoint;
    };
    const plugin = fcPlugin({
      rootDir: root,
      commands,
      dirs,
      clock,
      logger: silentLogger,
      mounts: {
        mount: async (source, dir, fsType, options) => {
          mounted.set(dir, source);
          log.push(`mount ${fsType} ${source.slice(root.length)} ${options}`);
        },
        bind: async (source, dir, options) => {
          mounted.set(dir, mounted.get(source) ?? "");
          log.push(`bind ${source.slice(root.length)} ${options?.options}`);
        },
        unmount: async (dir) => void mounted.delete(dir),
        isMountPoint: async (dir) => mounted.has(dir),
        at: async (dir) => at(dir),
        list: () => [...mounted.keys()].map((path) => at(path)!),
      },
      ownership: { apply: async (_path, { fsGroup }) => void log.push(`group ${fsGroup}`) },
    });
    return { plugin, commands, device: plugin.device!, block: plugin.block! };
  };
  const request = (spec: VolumeSpec, deviceDir: string): SetUpRequest => ({
    pod,
    podUid: pod.metadata.uid,
    dir: join(root, "pods/p1/volumes/kubernetes.io~fc/pv"),
    spec,
    fsGroup: 99,
    fsGroupChangePolicy: undefined,
    deviceDir,
    signal: never,
  });

  beforeEach(async () => {
    root = await mkdtemp("/tmp/fc-");
    dirs = { sysDir: join(root, "sys"), devDir: join(root, "dev"), linkDir: join(root, "dev/disk") };
    clock = new FakeClock();
    log = [];
    mounted = new Map();
    superblock = "rw";
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it("is mounted with an SELinux label, which the mount table still shows after a restart", async () => {
    await create(onePath);
    const { plugin, device } = setUp();
    const spec = volume({ targetWWNs: [first], lun: 0 });
    const dir = device.deviceDir(spec);
    const label = "system_u:object_r:container_file_t:s0:c1,c2";
    assert.equal(await plugin.mountsWithLabel!(spec, never), true);
    assert.deepEqual(
      ["", label].map((mountedWith) => plugin.relabels!(spec, dir, mountedWith)),
      [true, false],
    );
    await device.waitForAttach(pod, spec, never);
    await device.mountDevice(pod, spec, dir, undefined, never, label);
    assert.equal(log.at(-1), `mount ext4 /dev/sdc noatime,context="${label}"`);
    await plugin.setUp(request(spec, dir));
    superblock = `rw,context="${label}"`;
    assert.equal((await plugin.reconstruct!(request(spec, dir)))?.label, label);
    assert.equal((await device.reconstructDevices!())[0]?.spec.label, label);
    superblock = "rw,seclabel";
    assert.equal((await plugin.reconstruct!(request(spec, dir)))?.label, "");
  });

  // parity: volume fc
  it("is found by a scan, formatted, mounted once for the node, bind-mounted for the pod, and removed", async () => {
    await create(onePath);
    const { plugin, commands, device } = setUp();
    const spec = volume({ targetWWNs: [first], lun: 0 });
    const dir = device.deviceDir(spec);
    assert.equal(dir, join(root, `plugins/kubernetes.io/fc/${first}-lun-0`));
    assert.equal(device.attachName!(spec), `kubernetes.io/fc/[${first}]:0`);
    await device.waitForAttach(pod, spec, never);
    for (const host of ["host5", "host6"])
      assert.equal(await written(`sys/class/scsi_host/${host}/scan`), "- - -");
    await device.mountDevice(pod, spec, dir, undefined, never);
    await plugin.setUp(request(spec, dir));
    const disk = join(root, "dev/sdc");
    assert.deepEqual(log, [
      "mount ext4 /dev/sdc noatime",
      `bind ${dir.slice(root.length)} noatime`,
      "group 99",
    ]);
    assert.deepEqual(commands.lines, [
      `blkid -p -s TYPE -s PTTYPE -o export -- ${disk}`,
      `mkfs.ext4 -F -m 0 -- ${disk}`,
    ]);
    const found = await plugin.reconstruct!(request(spec, dir));
    assert.equal(found && device.deviceDir(found), dir);
    assert.equal(found && plugin.uniqueName(pod, found), plugin.uniqueName(pod, spec));
    assert.deepEqual(
      (await device.reconstructDevices!()).map(({ dir, unique }) => ({ dir, unique })),
      [{ dir, unique: plugin.uniqueName(pod, spec) }],
    );
    await assert.rejects(device.unmountDevice(dir, never), /is still mounted by other references/);
    await plugin.tearDown(request(spec, dir), never);
    assert.equal(await written("sys/block/sdc/device/delete"), "");
    commands.lines.length = 0;
    await device.unmountDevice(dir, never);
    assert.deepEqual(commands.lines, [`blockdev --flushbufs -- ${disk}`]);
    assert.equal(await written("sys/block/sdc/device/delete"), "1");
    assert.equal(await written("sys/block/sda/device/delete"), "");
    assert.deepEqual([existsSync(dir), mounted.size], [false, 0]);
    await device.unmountDevice(dir, never);
  });

  it("uses the multipath device of its paths, without a scan, and removes all of them", async () => {
    await create(twoPaths);
    const { commands, device } = setUp({ blkid: { output: "TYPE=xfs\n" } });
    const spec = volume({ targetWWNs: [second, first], lun: 0, fsType: "xfs" });
    const dir = device.deviceDir(spec);
    assert.equal(dir, join(root, `plugins/kubernetes.io/fc/${second}-${first}-lun-0`));
    await device.waitForAttach(pod, spec, never);
    assert.equal(await written("sys/class/scsi_host/host5/scan"), "");
    await device.mountDevice(pod, spec, dir, undefined, never);
    assert.deepEqual(log, ["mount xfs /dev/dm-2 noatime"]);
    mounted.set(dir, join(root, "dev/mapper/mpatha"));
    commands.lines.length = 0;
    await device.unmountDevice(dir, never);
    assert.deepEqual(commands.lines, [
      `multipath -f -- ${join(root, "dev/dm-2")}`,
      `blockdev --flushbufs -- ${join(root, "dev/sdc")}`,
      `blockdev --flushbufs -- ${join(root, "dev/sdd")}`,
    ]);
    for (const [disk, deleted] of [["sda", ""], ["sdc", "1"], ["sdd", "1"]]) // biome-ignore format: one table
      assert.equal(await written(`sys/block/${disk}/device/delete`), deleted);
  });

  it("is found by the name of its disk, in which udev replaces spaces", async () => {
    await create(onePath);
    const { plugin, device } = setUp();
    for (const [wwids, name] of [
      [[wwid], wwid],
      [["SHITACHI OPEN-V 50403B05"], "SHITACHI_OPEN-V_50403B05"],
      [["missing", wwid], `missing-${wwid}`],
    ] as const) {
      const spec = volume({ wwids });
      const dir = device.deviceDir(spec);
      assert.equal(dir, join(root, `plugins/kubernetes.io/fc/${name}`));
      assert.equal(device.attachName!(spec), `kubernetes.io/fc/[${wwids.join(" ")}]`);
      await device.waitForAttach(pod, spec, never);
      await device.mountDevice(pod, spec, dir, undefined, never);
      assert.equal(log.pop(), "mount ext4 /dev/sdc noatime");
      const [found] = await device.reconstructDevices!();
      assert.equal(found?.unique, plugin.uniqueName(pod, spec));
      await device.unmountDevice(dir, never);
    }
  });

  it("is no disk of the machine itself, nor a part of one", async () => {
    await create([...twoPaths, "dev/disk/by-id/scsi-OWN_MULTIPATH -> ../../dm-0"]);
    const { commands, device } = setUp({ blkid: { output: "TYPE=ext4\n" } });
    for (const name of ["SATA_OWN_DISK", "SATA_OWN_DISK-part1", "OWN_MULTIPATH"]) {
      const spec = volume({ wwids: [name] });
      await assert.rejects(device.waitForAttach(pod, spec, never), { message: "no fc disk found" });
      await assert.rejects(device.mountDevice(pod, spec, device.deviceDir(spec), undefined, never));
    }
    assert.deepEqual([commands.lines, log], [[], []]);
  });

  it("uses the path that exists if the disk has no other", async () => {
    await create(onePath);
    const { block } = setUp();
    const spec = volume({ targetWWNs: [first, second], lun: 0 }, "Block");
    const target = { podUid: "p1" as PodUid, dir: join(root, "pods/p1/volumeDevices/kubernetes.io~fc/pv") };
    assert.equal(await block.map(pod, spec, target, never), join(root, "dev/sdc"));
    const dir = block.globalMapDir!("pv", spec)!;
    assert.equal(dir, join(root, `plugins/kubernetes.io/fc/volumeDevices/${first}-${second}-lun-0`));
    await mkdir(join(dir, "p2"), { recursive: true });
    await block.tearDownDevice!(target, never, spec);
    assert.equal(await written("sys/block/sdc/device/delete"), "");
    await rm(dir, { recursive: true });
    await block.tearDownDevice!(target, never, spec);
    assert.equal(await written("sys/block/sdc/device/delete"), "1");
  });

  it("fails if no scan finds it", async () => {
    await create(onePath);
    const { device } = setUp();
    for (const fc of [{ targetWWNs: [second], lun: 0 }, { targetWWNs: [first], lun: 1 }, { wwids: ["x"] }]) // biome-ignore format: one table
      await assert.rejects(device.waitForAttach(pod, volume(fc), never), { message: "no fc disk found" });
  });

  it("is removed as soon as its multipath device can be flushed, for two minutes", async () => {
    await create(twoPaths);
    const { commands, device } = setUp({ "multipath -f": { code: 1, output: "map in use" } });
    const spec = volume({ targetWWNs: [first], lun: 0 });
    const dir = device.deviceDir(spec);
    /** Unmounts, and lets the time pass; the device can be flushed after `failures` attempts. */
    const unmount = async (failures: number) => {
      await device.mountDevice(pod, spec, dir, undefined, never);
      commands.lines.length = 0;
      let result: string | undefined;
      const done = device.unmountDevice(dir, never).then(
        () => (result = "done"),
        (error: Error) => (result = error.message),
      );
      while (result === undefined) {
        while (result === undefined && clock.pending === 0) await nextTurn();
        if (commands.lines.length >= failures) delete commands.results["multipath -f"];
        await clock.advance(10_000);
      }
      await done;
      return result;
    };
    const startedAt = clock.elapsedMs;
    const path = join(root, "dev/dm-2");
    const why = `failed to flush multipath device ${path}: exit status 1\nmap in use`;
    assert.equal(await unmount(100), `fc: failed to detach disk: ${path}: ${why}`);
    assert.equal(commands.lines.length, 13);
    assert.ok(clock.elapsedMs - startedAt <= 130_000);
    assert.equal(await written("sys/block/sdc/device/delete"), "");
    assert.equal(await unmount(2), "done");
    assert.deepEqual(
      commands.lines.map((line) => line.split(" ")[0]),
      ["multipath", "multipath", "multipath", "blockdev", "blockdev"],
    );
    assert.equal(await written("sys/block/sdc/device/delete"), "1");
  });

  const wwns = { targetWWNs: [first], lun: 0 };
  const rejected: [string, object, string][] = [
    ["a WWN that is a path", { ...wwns, targetWWNs: ["../x"] }, 'invalid targetWWNs "../x"'],
    ["a WWN that is a pattern", { ...wwns, targetWWNs: [".*"] }, 'invalid targetWWNs ".*"'],
    ["an empty WWN", { ...wwns, targetWWNs: [""] }, 'invalid targetWWNs ""'],
    ["a LUN above 255", { ...wwns, lun: 256 }, "invalid lun 256"],
    ["a LUN below 0", { ...wwns, lun: -1 }, "invalid lun -1"],
    ["a LUN that is a path", { ...wwns, lun: "1/../2" }, 'invalid lun "1/../2"'],
    ["a WWID that is a path", { wwids: ["a/../b"] }, 'invalid wwids "a/../b"'],
    ["a WWID that is an option", { wwids: ["-a"] }, 'invalid wwids "-a"'],
    ["a WWID of the parent directory", { wwids: [".."] }, 'invalid wwids ".."'],
    ["a WWID that looks like a port and a LUN", { wwids: ["a-lun-1"] }, 'invalid wwids "a-lun-1"'],
    ["a WWID with a second line", { wwids: ["a\nb"] }, 'invalid wwids "a\\nb"'],
    ["neither ports nor names", { lun: 1 }, "no fc disk information found"],
  ];
  for (const [what, fc, message] of rejected)
    it(`is rejected with ${what}, and nothing is started or scanned`, async () => {
      await create(onePath);
      const { commands, device } = setUp();
      await assert.rejects(device.waitForAttach(pod, volume(fc), never), (error: Error) =>
        error.message.startsWith(`fc: ${message}`),
      );
      assert.deepEqual([commands.calls, await written("sys/class/scsi_host/host5/scan")], [[], ""]);
    });

  it("is not mounted as a filesystem that does not use its disk", async () => {
    await create(onePath);
    const { device } = setUp();
    const spec = volume({ targetWWNs: [first], lun: 0, fsType: "proc" });
    const dir = device.deviceDir(spec);
    await assert.rejects(
      device.mountDevice(pod, spec, dir, undefined, never),
      /^KubeletError: failed to mount the volume as proc, disk .* is not formatted with it$/,
    );
    assert.deepEqual([mounted.size, existsSync(dir)], [0, false]);
  });
});

const hasLoopDevices = ["/dev/loop-control", "/usr/sbin/mkfs.ext4"].every((path) => existsSync(path));

describe("a Fibre Channel volume on this host", { skip: !mayMount && "needs root" }, () => {
  it("outlives a restart of the agent, as filesystem and as device, and is removed after it", {
    skip: !hasLoopDevices && "needs loop devices and mkfs.ext4",
  }, async () => {
    const { rootDir, remove } = await testRoot();
    const links = join(rootDir, "links/by-id");
    const images = ["a", "b"].map((name) => join(rootDir, `${name}.img`));
    const signal = () => AbortSignal.timeout(20_000);
    try {
      await mkdir(links, { recursive: true });
      const devices: string[] = [];
      for (const image of images) {
        await writeFile(image, "");
        await truncate(image, 32 << 20);
        const device = await attachLoopDevice(image);
        devices.push(device);
        await symlink(device, join(links, `scsi-${basename(image, ".img")}`));
        const scsi = join(rootDir, `sys/devices/rport-0:0-${devices.length}/0:0:0:0`);
        await mkdir(scsi, { recursive: true });
        await writeFile(join(scsi, "delete"), "");
        const block = join(rootDir, "sys/block", basename(device));
        await mkdir(block, { recursive: true });
        await symlink(scsi, join(block, "device"));
      }
      const isRemoved = (i: number) =>
        readFile(join(rootDir, "sys/block", basename(devices[i]!), "device/delete"), "utf8");
      const start = () =>
        startVolumes(rootDir, {
          plugins: ({ mounts, commands, applyFsGroup }) => [
            fcPlugin({
              rootDir,
              mounts,
              commands,
              clock: systemClock,
              logger: silentLogger,
              dirs: { sysDir: join(rootDir, "sys"), devDir: "/dev", linkDir: join(rootDir, "links") },
              ownership: {
                apply: (dir, { pod, fsGroup, fsGroupChangePolicy: policy, signal }) =>
                  applyFsGroup({ pod, dir, fsGroup, policy, readOnly: false, signal }),
              },
            }),
          ],
          resolveClaim: async (_pod, { name }) => ({
            spec: { ...volume({ wwids: [name] }, name === "b" ? "Block" : "Filesystem"), name: `pv-${name}` },
          }),
        });
      const uid = "0a1b" as PodUid;
      const claims = ["a", "b"].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
      const user = fakePod({
        metadata: { uid, name: "p" },
        spec: {
          securityContext: { fsGroup: 1234 },
          volumes: claims,
          containers: [
            {
              volumeMounts: [{ name: "a", mountPath: "/a" }],
              volumeDevices: [{ name: "b", devicePath: "/dev/b" }],
            },
          ],
        },
      });
      const before = await start();
      await before.manager.waitFor(user, signal());
      const path = before.pathOf(uid, "a")!;
      assert.deepEqual([statSync(path).gid, existsSync(join(path, "lost+found"))], [1234, true]);
      assert.equal(readlinkSync(before.pathOf(uid, "b")!), devices[1]);
      const mapped = join(rootDir, "plugins/kubernetes.io/fc/volumeDevices/b", uid);
      assert.equal(statSync(mapped).rdev, statSync(devices[1]!).rdev);
      const inUse = ["kubernetes.io/fc/[a]", "kubernetes.io/fc/[b]"];
      assert.deepEqual(before.manager.inUse(), inUse);
      await before.stop();
      const after = await start();
      // The pod is known to this agent only from its directories.
      assert.deepEqual(after.manager.inUse(), inUse);
      await after.manager.release(uid, signal());
      while (after.manager.inUse()!.length > 0) await nextTurn();
      await after.stop();
      assert.deepEqual([await isRemoved(0), await isRemoved(1)], ["1", "1"]);
      assert.deepEqual([existsSync(path), existsSync(dirname(mapped))], [false, false]);
    } finally {
      for (const image of images) await detachLoopDevice(image);
      await remove();
    }
  });
});
