import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { FakeClock, settle } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { FakeCommands } from "../../../../lib/host/fake-commands.ts";
import type { MountPoint } from "../../../../lib/host/mount-table.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { BlockMaps } from "../manager/block-maps.ts";
import type { SetUpRequest, VolumeSpec } from "../volume-plugin.ts";
import { diskFromDir } from "./iscsi-disk.ts";
import { iscsiPlugin } from "./iscsi-plugin.ts";
import { type ScsiDevices, scsiDevices } from "./scsi-devices.ts";

const never = new AbortController().signal;
const iqn = "iqn.2001-04.com.example:disk";
const shown =
  "# BEGIN RECORD 2.1\niface.iscsi_ifacename = default\niface.transport_name = tcp\niface.ipaddress = <empty>\n# END RECORD\n";

function volume(more: object = {}, mode: "Filesystem" | "Block" = "Filesystem"): VolumeSpec {
  return {
    name: "pv",
    volume: { name: "data" },
    readOnly: false,
    persistent: {
      volumeName: "pv",
      spec: { iscsi: { targetPortal: "192.0.2.1", iqn, lun: 3, ...more } },
      claim: { namespace: "default", name: "c", uid: "u" },
      mode,
    },
  };
}

describe("an iscsi volume", () => {
  let root: string;
  let clock: FakeClock;
  let hosts: Map<string, number>;
  let log: string[];
  /** Mounts of the same filesystem. */
  let mounted: Set<string>;
  let superblock: string;
  const pod = fakePod();

  const setUp = (results: FakeCommands["results"] = {}, more: Partial<ScsiDevices> = {}) => {
    const login = { effect: () => hosts.set("192.0.2.1:3260", 7) };
    const commands = new FakeCommands({
      blkid: { code: 2 },
      ...results,
      "iscsiadm -m iface -I default -o show": { output: shown },
      [`iscsiadm -m node -p 192.0.2.1:3260 -T ${iqn} -I default --login`]: login,
    });
    const devices: ScsiDevices = {
      portalHosts: async () => hosts,
      scan: async (host, lun) => void log.push(`scan ${host} ${lun}`),
      find: async (pattern) => `/dev/disk/by-path/${pattern}`,
      multipathOf: async () => undefined,
      disksOf: async () => ["sdx"],
      remove: async (disk) => void log.push(`remove ${disk}`),
      ...more,
    };
    const plugin = iscsiPlugin({
      rootDir: root,
      commands,
      devices,
      clock,
      recordDirs: [join(root, "none"), join(root, "records")],
      mounts: {
        mount: async (source, dir, fsType, options = []) => {
          mounted.add(dir);
          log.push([`mount ${fsType} ${source}`, ...options].join(" "));
        },
        bind: async (source, dir) => {
          mounted.add(dir);
          log.push(`bind ${source}`);
        },
        unmount: async (dir) => void mounted.delete(dir),
        isMountPoint: async (dir) => mounted.has(dir),
        list: () =>
          [...mounted].map(
            (path) =>
              ({ path, device: "8:1", root: "/", options: superblock.split(",") }) as unknown as MountPoint,
          ),
      },
      secrets: {
        get: async () => ({
          "node.session.auth.username": "me",
          "node.session.auth.password": "pw",
          "discovery.sendtargets.auth.password": "discover",
        }),
      },
      ownership: { apply: async (_path, { fsGroup }) => void log.push(`group ${fsGroup}`) },
      logger: silentLogger,
    });
    return { plugin, commands };
  };

  beforeEach(async () => {
    root = await mkdtemp("/tmp/iscsi-");
    clock = new FakeClock();
    hosts = new Map();
    log = [];
    mounted = new Set();
    superblock = "rw";
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it("is mounted with an SELinux label, which the mount table still shows after a restart", async () => {
    const { plugin } = setUp();
    const spec = volume();
    const dir = plugin.device!.deviceDir(spec);
    const label = "system_u:object_r:container_file_t:s0:c1,c2";
    assert.equal(await plugin.mountsWithLabel!(spec, never), true);
    await plugin.device!.waitForAttach(pod, spec, never);
    await plugin.device!.mountDevice(pod, spec, dir, undefined, never, label);
    assert.match(log.at(-1) ?? "", / context="system_u:object_r:container_file_t:s0:c1,c2"$/);
    superblock = `rw,context="${label}",errors=continue`;
    const podDir = join(root, "pods/p1/volumes/kubernetes.io~iscsi/pv");
    mounted.add(podDir);
    assert.equal((await plugin.reconstruct!({ podUid: "p1" as PodUid, dir: podDir }))?.label, label);
    const [device] = await plugin.device!.reconstructDevices!();
    assert.equal(device?.spec.label, label);
    superblock = "rw,seclabel";
    assert.equal((await plugin.reconstruct!({ podUid: "p1" as PodUid, dir: podDir }))?.label, "");
  });

  // parity: volume iscsi
  it("is attached, formatted, mounted once for the node, bind-mounted for the pod, and torn down", async () => {
    const { plugin, commands } = setUp();
    const spec = volume();
    const dir = plugin.device!.deviceDir(spec);
    assert.equal(dir, join(root, `plugins/kubernetes.io/iscsi/iface-default/192.0.2.1:3260-${iqn}-lun-3`));
    await plugin.device!.waitForAttach(pod, spec, never);
    const portal = "-p 192.0.2.1:3260";
    const discovery = `iscsiadm -m discoverydb -t sendtargets ${portal} -I default`;
    const node = `iscsiadm -m node ${portal} -T ${iqn}`;
    assert.deepEqual(commands.lines, [
      "iscsiadm -m iface -I default -o show",
      `${discovery} -o new`,
      `${discovery} --discover`,
      `${node} -I default -o update -n node.session.scan --value=manual`,
      `${node} -I default --login`,
      `${node} -o update -n node.startup --value=manual`,
    ]);
    commands.lines.length = 0;
    const file = JSON.parse(await readFile(join(dir, "iscsi.json"), "utf8"));
    assert.deepEqual([file.Iqn, file.Lun, file.Portals], [iqn, "3", ["192.0.2.1:3260"]]);
    await plugin.device!.mountDevice(pod, spec, dir, undefined, never);
    const device = `/dev/disk/by-path/ip-192.0.2.1:3260-iscsi-${iqn}-lun-3`;
    const podDir = join(root, "pods/p1/volumes/kubernetes.io~iscsi/pv");
    const request: SetUpRequest = {
      pod,
      podUid: pod.metadata.uid,
      dir: podDir,
      spec,
      fsGroup: 99,
      fsGroupChangePolicy: undefined,
      deviceDir: dir,
      signal: never,
    };
    await plugin.setUp(request);
    assert.deepEqual(log, ["scan 7 3", `mount ext4 ${device}`, `bind ${dir}`, "group 99"]);
    assert.deepEqual(commands.lines, [
      `blkid -p -s TYPE -s PTTYPE -o export -- ${device}`,
      `mkfs.ext4 -F -m 0 -- ${device}`,
    ]);
    const found = await plugin.reconstruct?.(request);
    assert.equal(found && plugin.device!.deviceDir(found), dir);
    assert.equal(found && plugin.uniqueName(pod, found), plugin.uniqueName(pod, spec));
    assert.deepEqual(
      (await plugin.device!.reconstructDevices!()).map((device) => device.dir),
      [dir],
    );
    await assert.rejects(plugin.device!.unmountDevice(dir, never), /is still mounted by other references/);
    await plugin.tearDown(request, never);
    commands.lines.length = 0;
    await plugin.device!.unmountDevice(dir, never);
    assert.deepEqual(commands.lines, [`${node} --logout -I default`, `${node} -o delete -I default`]);
    assert.equal(log.at(-1), "remove sdx");
    assert.deepEqual([existsSync(dir), existsSync(podDir), mounted.size], [false, false, 0]);
  });

  it("has the name by which a controller attaches it, without the default port", () => {
    const { device } = setUp().plugin;
    assert.equal(device!.attachName!(volume()), `kubernetes.io/iscsi/192.0.2.1:${iqn}:3`);
    const withPort = volume({ targetPortal: "192.0.2.1:3260" });
    assert.equal(device!.attachName!(withPort), `kubernetes.io/iscsi/192.0.2.1:3260:${iqn}:3`);
  });

  it("keeps the session while another disk of the target is in use", async () => {
    const { plugin, commands } = setUp();
    const dir = plugin.device!.deviceDir(volume());
    for (const lun of [3, 4]) await plugin.device!.waitForAttach(pod, volume({ lun }), never);
    commands.lines.length = 0;
    await plugin.device!.unmountDevice(dir, never);
    assert.deepEqual(commands.lines, []);
    await plugin.device!.unmountDevice(plugin.device!.deviceDir(volume({ lun: 4 })), never);
    assert.equal(commands.lines.length, 2);
  });

  it("writes the CHAP values of its secret to the records of iscsiadm, not to its arguments", async () => {
    const { plugin, commands } = setUp();
    const records = join(root, "records");
    const paths = {
      node: join(records, "nodes", iqn, "192.0.2.1,3260,1", "default"),
      otherIface: join(records, "nodes", iqn, "192.0.2.1,3260,1", "eth0"),
      otherPort: join(records, "nodes", iqn, "192.0.2.1,32601,1", "default"),
      discovery: join(records, "send_targets", "192.0.2.1,3260", "st_config"),
    };
    const text = "# BEGIN RECORD 2.1.8\nnode.name = x\nnode.session.auth.username = old\n# END RECORD\n";
    for (const path of Object.values(paths)) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { mode: 0o644 });
    }
    const chap = { chapAuthSession: true, chapAuthDiscovery: true, secretRef: { name: "s" } };
    await plugin.device!.waitForAttach(pod, volume(chap), never);
    assert.equal(
      await readFile(paths.node, "utf8"),
      "# BEGIN RECORD 2.1.8\nnode.name = x\nnode.session.auth.username = me\nnode.session.auth.password = pw\n# END RECORD\n",
    );
    assert.match(
      await readFile(paths.discovery, "utf8"),
      /^discovery\.sendtargets\.auth\.password = discover$/m,
    );
    for (const path of [paths.otherIface, paths.otherPort]) assert.equal(await readFile(path, "utf8"), text);
    assert.equal((await stat(paths.node)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(records), ["nodes", "send_targets"]);
    const set = commands.lines.filter((line) => line.includes(".auth.")).map((line) => line.split(" -n ")[1]);
    assert.deepEqual(set, [
      "discovery.sendtargets.auth.authmethod --value=CHAP",
      "node.session.auth.authmethod --value=CHAP",
    ]);
  });

  it("uses the CHAP values of its secret if iscsiadm keeps its records elsewhere", async () => {
    const { plugin, commands } = setUp();
    await plugin.device!.waitForAttach(
      pod,
      volume({ chapAuthSession: true, secretRef: { name: "s" } }),
      never,
    );
    const set = commands.lines
      .filter((line) => line.includes("node.session.auth"))
      .map((line) => line.split(" -n ")[1]);
    assert.deepEqual(set, [
      "node.session.auth.authmethod --value=CHAP",
      "node.session.auth.username --value=me",
      "node.session.auth.password --value=pw",
    ]);
  });

  it("uses a clone of the configured interface if it has an initiator name", async () => {
    const { plugin, commands } = setUp();
    hosts.set("192.0.2.1:3260", 7);
    await plugin.device!.waitForAttach(pod, volume({ initiatorName: "iqn.2026-01.com.example:me" }), never);
    const iface = "iscsiadm -m iface -I 192.0.2.1:3260:pv -o";
    assert.deepEqual(commands.lines.slice(2), [
      `${iface} new`,
      `${iface} update -n iface.initiatorname --value=iqn.2026-01.com.example:me`,
      `${iface} update -n iface.transport_name --value=tcp`,
    ]);
  });

  it("fails with the last error if no path can be attached", async () => {
    const { plugin } = setUp({
      "iscsiadm -m discoverydb -t sendtargets -p 192.0.2.1:3260 -I default --discover": {
        code: 8,
        output: "timed out",
      },
    });
    await assert.rejects(plugin.device!.waitForAttach(pod, volume(), never), {
      message:
        "failed to get any path for iscsi disk, last err seen:\niscsi: failed to sendtargets to portal 192.0.2.1:3260 output: timed out, err exit status 8",
    });
  });

  const target = { targetPortal: "192.0.2.1", iqn, lun: 1 };
  const rejected: [string, object, string][] = [
    ["a portal that is an option", { targetPortal: "--login" }, 'invalid portal "--login:3260"'],
    ["a portal with a path", { targetPortal: "a/../b:1" }, 'invalid portal "a/../b:1"'],
    ["a portal without a port number", { targetPortal: "a:b" }, 'invalid portal "a:b"'],
    ["a port that is too large", { targetPortal: "a:65536" }, 'invalid portal "a:65536"'],
    ["another portal that is none", { portals: ["[x]:1"] }, 'invalid portal "[x]:1"'],
    [
      "a target name that leaves its folder",
      { iqn: "iqn.2001-04.a:/../../x" },
      'invalid iqn "iqn.2001-04.a:/../../x"',
    ],
    ["a target name with a prefix", { iqn: `-x${iqn}` }, `invalid iqn "-x${iqn}"`],
    ["a target name that is a pattern", { iqn: `${iqn}*` }, `invalid iqn "${iqn}*"`],
    ["a target name with a second line", { iqn: `${iqn}\nx` }, `invalid iqn ${JSON.stringify(`${iqn}\nx`)}`],
    ["an eui name that is too short", { iqn: "eui.0123" }, 'invalid iqn "eui.0123"'],
    ["a LUN below 0", { lun: -1 }, 'invalid lun "-1"'],
    ["a LUN above 255", { lun: 256 }, 'invalid lun "256"'],
    ["a LUN that is a path", { lun: "1/../2" }, 'invalid lun "1/../2"'],
    ["an interface that is a path", { iscsiInterface: "../x" }, 'invalid iscsiInterface "../x"'],
    ["an interface that is an option", { iscsiInterface: "-x" }, 'invalid iscsiInterface "-x"'],
    ["an initiator without a format", { initiatorName: "me" }, 'invalid initiatorName "me"'],
  ];
  for (const [what, more, message] of rejected)
    it(`is rejected with ${what}, and nothing is started or created`, async () => {
      const { plugin, commands } = setUp();
      const spec = volume({ ...target, ...more });
      const dir = plugin.device!.deviceDir(spec);
      await assert.rejects(plugin.device!.waitForAttach(pod, spec, never), (error: Error) =>
        error.message.startsWith(`iscsi: ${message}: must be `),
      );
      await assert.rejects(plugin.device!.mountDevice(pod, spec, dir, undefined, never));
      assert.deepEqual([commands.calls, log, existsSync(join(root, "plugins"))], [[], [], false]);
      assert.match(dir.slice(`${root}/plugins/kubernetes.io/iscsi/`.length), /^iface-[^/]*\/[^/]*$/);
    });

  for (const more of [
    { targetPortal: "[fd00::1]:3260" },
    { targetPortal: "portal.example.com:860" },
    { iqn: "eui.02004567A425678D" },
    { iqn: "naa.0123456789abcdef0123456789abcdef" },
    { iqn: "iqn.2003-01.org.linux-iscsi.host.x8664:sn.Ab_1:lun~0" },
    { iscsiInterface: "cxgb4i.00:07:43:28:b2:58.ipv4.0" },
    { initiatorName: "iqn.1993-08.org.debian:01:b2" },
    { lun: 255 },
  ])
    it(`is accepted with ${JSON.stringify(more)}`, async () => {
      const results = { "iscsiadm -m iface": { output: shown } };
      const { plugin } = setUp(results, { portalHosts: async () => ({ get: () => 7 }) as never });
      const spec = volume({ ...target, ...more });
      await plugin.device!.waitForAttach(pod, spec, never);
      assert.equal(existsSync(join(plugin.device!.deviceDir(spec), "iscsi.json")), true);
    });

  it("is not mounted as a filesystem that does not use its disk", async () => {
    hosts.set("192.0.2.1:3260", 7);
    const { plugin, commands } = setUp();
    const spec = volume({ fsType: "proc" });
    await assert.rejects(
      plugin.device!.mountDevice(pod, spec, plugin.device!.deviceDir(spec), undefined, never),
      /^KubeletError: failed to mount the volume as proc, disk .* is not formatted with it$/,
    );
    assert.equal(commands.calls.at(-1)?.[0], "blkid");
    assert.equal(mounted.size, 0);
  });

  it("waits 30 s for the disk", async () => {
    let polls = 0;
    const { plugin } = setUp({}, { find: async () => void polls++ as undefined });
    const failed = assert.rejects(
      plugin.device!.waitForAttach(pod, volume(), never),
      /Timed out waiting for device at path/,
    );
    await settle();
    await clock.advance(30_000);
    await failed;
    assert.equal(polls, 30);
  });

  it("uses the multipath device if it has several portals", async () => {
    hosts.set("192.0.2.1:3260", 7).set("192.0.2.2:3260", 8);
    const { plugin } = setUp({}, { multipathOf: async () => "/dev/dm-4" });
    const block = volume({ portals: ["192.0.2.2"] }, "Block");
    const target = {
      podUid: "p1" as PodUid,
      dir: join(root, "pods/p1/volumeDevices/kubernetes.io~iscsi/pv"),
    };
    assert.equal(await plugin.block!.map(pod, block, target, never), "/dev/dm-4");
    const base = join(root, "plugins/kubernetes.io/iscsi/volumeDevices/iface-default");
    const dir = join(base, `192.0.2.1:3260-${iqn}-lun-3`);
    assert.equal(plugin.block!.globalMapDir!("pv", block), dir);
    assert.deepEqual(await readdir(dir), ["iscsi.json"]);
    await writeFile(join(dir, "p2"), "");
    await plugin.block!.tearDownDevice!(target, never, block);
    assert.deepEqual(log, ["scan 7 3", "scan 8 3"], "another pod uses the disk");
    await rm(join(dir, "p2"));
    await plugin.block!.tearDownDevice!(target, never, block);
    assert.equal(log.at(-1), "remove sdx");
    assert.equal(existsSync(dir), false);
    await plugin.block!.tearDownDevice!(target, never, block);
    await plugin.block!.tearDownDevice!(target, never);
  });

  it("is mapped for each pod by a link and a locked bind mount of its device, which show it after a restart", async () => {
    const { plugin } = setUp({}, { find: async () => "/dev/loop-control" });
    const spec = volume({}, "Block");
    const locks: string[] = [];
    const maps = new BlockMaps({
      mounts: {
        bind: async (source, path) => {
          mounted.add(path);
          log.push(`bind ${source}`);
        },
        unmount: async (path) => void mounted.delete(path),
        isMountPoint: async (path) => mounted.has(path),
      },
      locks: {
        attach: async (path) => locks.push(`attach ${path}`),
        detach: async (path) => void locks.push(`detach ${path}`),
      },
    });
    const dir = join(root, "pods/p1/volumeDevices/kubernetes.io~iscsi/pv");
    const record = { dir, name: "pv", podUid: "p1" as PodUid, plugin, spec };
    await maps.map(record, await plugin.block!.map(pod, spec, record, never));
    const global = join(
      root,
      `plugins/kubernetes.io/iscsi/volumeDevices/iface-default/192.0.2.1:3260-${iqn}-lun-3`,
    );
    assert.deepEqual([await readlink(dir), log.at(-1)], ["/dev/loop-control", "bind /dev/loop-control"]);
    assert.deepEqual([...mounted], [join(global, "p1")]);
    await maps.unmap(record);
    assert.deepEqual(locks, [`attach ${join(global, "p1")}`, `detach ${join(global, "p1")}`]);
    assert.deepEqual([mounted.size, existsSync(dir), await readdir(global)], [0, false, ["iscsi.json"]]);
    await plugin.block!.tearDownDevice!(record, never, spec);
    assert.equal(existsSync(global), false);
  });

  it("is found after a restart by its device, which is mapped under the UID of the pod", async (t) => {
    const { plugin } = setUp();
    const name = `192.0.2.1:3260-${iqn}-lun-3`;
    const global = join(root, "plugins/kubernetes.io/iscsi/volumeDevices/iface-eth0", name);
    const dir = join(root, "pods/p1/volumeDevices/kubernetes.io~iscsi/pv");
    const target = { podUid: "p1" as PodUid, dir };
    for (const path of [global, join(dirname(global), "other"), dirname(dir)])
      await mkdir(path, { recursive: true });
    const make = (path: string, minor: number) =>
      execFileSync("mknod", [path, "b", "7", String(minor)], { stdio: "ignore" });
    try {
      make(join(root, "disk"), 250);
    } catch {
      return t.skip("needs permission to make device nodes");
    }
    await symlink(join(root, "disk"), dir);
    assert.equal(await plugin.reconstruct!(target), undefined);
    make(join(dirname(global), "other", "p1"), 251);
    make(join(global, "p1"), 250);
    const spec = await plugin.reconstruct!(target);
    assert.equal(plugin.uniqueName(pod, spec!), plugin.uniqueName(pod, volume()));
    assert.equal(plugin.block!.globalMapDir!("pv", spec), global);
  });

  it("can be reconstructed from its directory name", () => {
    const disk = diskFromDir(`/r/iface-eth0/[fd00::1]:3260-${iqn}-lun-12`, "pv");
    assert.deepEqual(
      [disk?.Iface, disk?.Portals, disk?.Iqn, disk?.Lun],
      ["eth0", ["[fd00::1]:3260"], iqn, "12"],
    );
    assert.equal(diskFromDir("/r/other", "pv"), undefined);
  });

  it("is found through its session in /sys", async () => {
    const session = join(root, "sys/class/iscsi_host/host7/device/session1");
    const connection = join(session, "connection1:0/iscsi_connection/connection1:0");
    await mkdir(join(session, "iscsi_session/session1"), { recursive: true });
    await mkdir(connection, { recursive: true });
    await writeFile(join(session, "iscsi_session/session1/targetname"), `${iqn}\n`);
    const attributes = {
      address: "10.0.0.1",
      port: "3260",
      persistent_address: "fd00::1",
      persistent_port: "3261",
    };
    for (const [name, value] of Object.entries(attributes))
      await writeFile(join(connection, name), `${value}\n`);
    await mkdir(join(session, "target7:0:0/7:0:0:3/block/sdx"), { recursive: true });
    await mkdir(join(root, "sys/block/dm-2/slaves/sdx"), { recursive: true });
    await mkdir(join(root, "dev/disk/by-path"), { recursive: true });
    await writeFile(join(root, "dev/sdx"), "");
    await symlink("../../sdx", join(root, "dev/disk/by-path/pci-0000-ip-10.0.0.1:3260-iscsi-x-lun-3"));
    const devices = scsiDevices({
      sysDir: join(root, "sys"),
      devDir: join(root, "dev"),
      linkDir: join(root, "dev/disk"),
    });
    assert.deepEqual(
      [...(await devices.portalHosts(iqn))],
      [
        ["10.0.0.1:3260", 7],
        ["[fd00::1]:3261", 7],
      ],
    );
    assert.deepEqual([...(await devices.portalHosts("iqn.other"))], []);
    assert.deepEqual(await devices.disksOf(iqn, 3), ["sdx"]);
    const device = await devices.find("pci-*-ip-10.0.0.1:3260-iscsi-x-lun-3");
    assert.equal(device, join(root, "dev/disk/by-path/pci-0000-ip-10.0.0.1:3260-iscsi-x-lun-3"));
    assert.equal(await devices.multipathOf(device ?? ""), join(root, "dev/dm-2"));
  });
});
