import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { hostileText } from "../../../../test/builders/hostile-text.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { FakeCommands } from "../../../lib/host/fake-commands.ts";
import type { MountPoint } from "../../../lib/host/mount-table.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { globalMountDir } from "./csi/names.ts";
import { fcPlugin } from "./fc/fc-plugin.ts";
import { FlexDriver } from "./flex/flex-driver.ts";
import { iscsiPlugin } from "./iscsi/iscsi-plugin.ts";
import { localPlugin } from "./local/local.ts";
import { volumeDir } from "./manager/layout.ts";
import { nfsPlugin } from "./nfs/nfs-plugin.ts";
import type { SetUpRequest, VolumePlugin, VolumeSpec } from "./volume-plugin.ts";

const numRuns = Number(process.env.PROPERTY_RUNS ?? 300);
const iqn = "iqn.2001-04.com.example:disk";
const wwn = "50060e801049cfd1";
const wwid = "3600508b400105e210000900000490000";
const device = "/dev/disk/by-path/disk";
const formats = ["ext2", "ext3", "ext4", "xfs", "btrfs"];

/** The options of each program that take a value, those that take none, and what its operands are. */
interface Grammar {
  readonly valued: readonly string[];
  readonly flags: readonly string[];
  readonly operands: readonly RegExp[];
  readonly hasEnd: boolean;
}
const disk: Omit<Grammar, "valued" | "flags"> = { operands: [/^\/dev\/[^\0]+$/], hasEnd: true };
const grammars: Readonly<Record<string, Grammar>> = {
  mount: {
    valued: ["-t", "-o"],
    flags: [],
    operands: [/^(\[[0-9a-f:.]+(%[\w.-]+)?\]|[\w.]([\w.-]*[\w.])?):\/[^\n\r\t]*$/i, /^\/.*\/nfs-target$/],
    hasEnd: true,
  },
  umount: { valued: [], flags: ["-f"], operands: [/^\/.*\/nfs-target$/], hasEnd: true },
  blkid: { valued: ["-s", "-o"], flags: ["-p"], ...disk },
  fsck: { valued: [], flags: ["-a"], ...disk, hasEnd: false },
  blockdev: { valued: [], flags: ["--flushbufs"], ...disk },
  multipath: { valued: [], flags: ["-f"], ...disk },
  iscsiadm: {
    valued: ["-m", "-t", "-p", "-T", "-I", "-o", "-n", "--value"],
    flags: ["--discover", "--login", "--logout"],
    operands: [],
    hasEnd: true,
  },
  ...Object.fromEntries(
    formats.map((format) => [`mkfs.${format}`, { valued: ["-m"], flags: ["-F", "-f"], ...disk }]),
  ),
};

/** Reads a command line as the program does; throws for anything that the program is not meant to be given. */
function readCall([program = "", ...args]: readonly string[]): {
  values: Map<string, string>;
  operands: string[];
} {
  const grammar = grammars[program];
  assert.ok(grammar, `starts ${program}`);
  const values = new Map<string, string>();
  let at = 0;
  for (; at < args.length && args[at]!.startsWith("-") && args[at] !== "--"; at++) {
    const [, name = "", value] = /^(--[a-z]+)=(.*)$/s.exec(args[at]!) ?? [undefined, args[at]!];
    if (grammar.flags.includes(name)) assert.equal(value, undefined, `${name} with a value`);
    else {
      assert.ok(grammar.valued.includes(name), `${program} with option ${name}`);
      values.set(name, value ?? args[++at]!);
      assert.notEqual(values.get(name), undefined, `${name} without a value`);
    }
  }
  if (args[at] === "--" && grammar.hasEnd) at++;
  const operands = args.slice(at);
  assert.equal(operands.length, grammar.operands.length, `operands of ${program}: ${operands}`);
  for (const [i, operand] of operands.entries()) assert.match(operand, grammar.operands[i]!);
  for (const arg of args) assert.doesNotMatch(arg, /\0/);
  return { values, operands };
}

const persistent = (name: string, source: object, mountOptions: readonly string[] = []): VolumeSpec => ({
  name,
  volume: { name: "data" },
  readOnly: false,
  persistent: {
    volumeName: name,
    spec: { ...source, mountOptions },
    claim: { namespace: "d", name: "c", uid: "u" },
    mode: "Filesystem",
  },
});

describe("a volume whose fields are hostile", () => {
  let base: string;
  let root: string;
  /** A disk of a Fibre Channel target. */
  let hostDir: string;
  let started: (readonly string[])[];
  let kernel: { source: string; dir: string; fsType: string }[];
  let succeeded: number;
  const pod = fakePod();
  const signal = new AbortController().signal;

  before(async () => {
    base = await mkdtemp(join(tmpdir(), "hostile-"));
    root = join(base, "a/b/c/root");
    hostDir = await mkdtemp(join(tmpdir(), "hostile-host-"));
    for (const [dir, link] of [
      ["by-path", `fc-0x${wwn}-lun-0`],
      ["by-id", `scsi-${wwid}`],
    ] as const) {
      await mkdir(join(hostDir, "disk", dir), { recursive: true });
      await symlink("/dev/null", join(hostDir, "disk", dir, link));
    }
    await mkdir(join(hostDir, "sys/class/scsi_host/host0"), { recursive: true });
    await writeFile(join(hostDir, "sys/class/scsi_host/host0/scan"), "");
    await mkdir(join(hostDir, "sys/block/null"), { recursive: true });
    await mkdir(join(hostDir, "sys/rport-0:0-0/0:0:0:0"), { recursive: true });
    await symlink("../../rport-0:0-0/0:0:0:0", join(hostDir, "sys/block/null/device"));
  });
  after(async () => {
    await rm(base, { recursive: true, force: true });
    await rm(hostDir, { recursive: true, force: true });
  });

  /** Plugins whose programs succeed; blkid finds `content`. */
  const plugins = (content: string | undefined, secret: Readonly<Record<string, string>>) => {
    const shown = "iface.transport_name = tcp\n";
    const commands = new FakeCommands({
      blkid: content === undefined ? { code: 2 } : { output: `TYPE=${content}\n` },
      iscsiadm: { output: shown },
    });
    started = commands.calls as (readonly string[])[];
    kernel = [];
    const mounts = {
      mount: async (source: string, dir: string, fsType: string) => void kernel.push({ source, dir, fsType }),
      bind: async () => {},
      unmount: async () => {},
      isMountPoint: async () => false,
      at: async (dir: string) => kernel.find((call) => call.dir === dir) as MountPoint | undefined,
      list: (): MountPoint[] => [],
    };
    const common = { rootDir: root, commands, mounts, logger: silentLogger };
    let logins = 0;
    return {
      nfs: nfsPlugin(common),
      iscsi: iscsiPlugin({
        ...common,
        clock: new FakeClock(),
        devices: {
          portalHosts: async () => ({ get: () => (logins++ % 2 === 0 ? undefined : 7) }) as never,
          scan: async () => {},
          find: async () => device,
          multipathOf: async (path) => path,
          disksOf: async () => [],
          remove: async () => {},
        },
        secrets: { get: async () => secret },
        ownership: { apply: async () => {} },
      }),
      fc: fcPlugin({
        ...common,
        clock: new FakeClock(),
        dirs: {
          sysDir: join(hostDir, "sys"),
          devDir: "/dev",
          linkDir: join(hostDir, "disk"),
        },
        ownership: { apply: async () => {} },
      }),
      local: localPlugin({
        ...common,
        events: { normal: () => {}, warning: () => {} },
        applyFsGroup: async () => {},
        guard: { run: async () => "device" as never },
      }),
    };
  };
  /** Mounts the volume as far as possible, and checks everything that was done for it. */
  const mount = async (plugin: VolumePlugin, spec: VolumeSpec, content: string | undefined) => {
    const dir = join(root, "nfs-target");
    const request: SetUpRequest = {
      pod,
      podUid: pod.metadata.uid,
      dir,
      spec,
      signal,
      fsGroup: undefined,
      fsGroupChangePolicy: undefined,
      deviceDir: undefined,
    };
    try {
      plugin.uniqueName(pod, spec);
      if (plugin.device) {
        const deviceDir = plugin.device.deviceDir(spec);
        assert.ok(deviceDir.startsWith(`${root}/plugins/kubernetes.io/`), deviceDir);
        await plugin.device.waitForAttach(pod, spec, signal);
        await plugin.device.mountDevice(pod, spec, deviceDir, undefined, signal);
        await plugin.device.unmountDevice(deviceDir, signal);
      } else {
        await plugin.setUp(request);
        await plugin.tearDown(request, signal);
      }
      succeeded++;
    } catch (error) {
      assert.ok(error instanceof Error && !(error instanceof assert.AssertionError), String(error));
      assert.notEqual(error.message, "");
    }
    for (const call of kernel) {
      assert.ok(call.dir.startsWith(`${root}/plugins/kubernetes.io/`), call.dir);
      assert.match(call.source, /^\/dev\//);
      assert.ok(formats.includes(call.fsType) || call.fsType === content, `mounted ${call.fsType}`);
    }
    // Nothing but the root directory was created.
    for (let dir = base; dir !== root; ) {
      const names = await readdir(dir);
      if (names.length === 0) break;
      assert.equal(names.length, 1, `${dir}: ${names}`);
      dir = join(dir, names[0]!);
    }
    await rm(join(base, "a"), { recursive: true, force: true });
    return started.map(readCall);
  };
  const field = (valid: string) =>
    fc.oneof({ weight: 7, arbitrary: fc.constant(valid) }, { weight: 1, arbitrary: hostileText(valid) });
  const content = fc.constantFrom(undefined, "ext4", "xfs", "vfat");
  const check = async <T>(arbitrary: fc.Arbitrary<T>, run: (value: T) => Promise<void>, runs = numRuns) => {
    succeeded = 0;
    await fc.assert(fc.asyncProperty(arbitrary, run), { numRuns: runs });
    // Otherwise the test would not notice that everything is rejected.
    assert.ok(succeeded > 0, "no volume was mounted");
  };

  it("an nfs volume passes only its server, path and mount options to mount(8)", async () => {
    const volume = fc.record({
      server: field("nfs.example.com"),
      path: field("/export"),
      options: fc.array(field("hard"), { maxLength: 2 }),
      name: field("pv"),
      isInline: fc.boolean(),
    });
    await check(
      volume,
      async ({ server, path, options, name, isInline }) => {
        const inline = { name, volume: { name, nfs: { server, path } }, readOnly: false } as VolumeSpec;
        const spec = isInline ? inline : persistent(name, { nfs: { server, path } }, options);
        const calls = await mount(plugins(undefined, {}).nfs, spec, undefined);
        for (const { values, operands } of calls) {
          if (values.get("-t") === undefined) continue;
          assert.deepEqual([values.get("-t"), operands[0]?.endsWith(`:${path}`)], ["nfs", true]);
          const passed = values.get("-o");
          if (isInline) assert.equal(passed, undefined);
          else assert.equal(passed ?? "", [...new Set(options)].sort((a, b) => (a < b ? -1 : 1)).join(","));
        }
      },
      3 * numRuns,
    );
  });

  it("an iscsi volume passes its fields to iscsiadm as values only, and mounts only what is on its disk", async () => {
    const volume = fc.record({
      name: field("data"),
      targetPortal: field("192.0.2.1:3260"),
      portals: fc.array(field("[fd00::1]:3260"), { maxLength: 1 }),
      iqn: field(iqn),
      lun: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double(), field("1") as fc.Arbitrary<never>),
      iscsiInterface: field("default"),
      initiatorName: fc.option(field("iqn.2001-04.com.example:me"), { nil: undefined }),
      fsType: fc.oneof(field("ext4"), fc.constantFrom("vfat", "proc", "overlay", "")),
      content,
      user: field("me"),
      isInline: fc.boolean(),
    });
    await check(volume, async ({ name, content, user, isInline, ...fields }) => {
      const iscsi = { ...fields, chapAuthSession: true, chapAuthDiscovery: true, secretRef: { name: "s" } };
      const inline = { name, volume: { name, iscsi: iscsi as never }, readOnly: false } as VolumeSpec;
      const secret = Object.fromEntries(
        ["node.session.auth.username", "discovery.sendtargets.auth.password"].map((key) => [key, user]),
      );
      const spec = isInline ? inline : persistent(name, { iscsi });
      for (const { values } of await mount(plugins(content, secret).iscsi, spec, content)) {
        // A file of lines is written from them.
        for (const value of values.values()) assert.doesNotMatch(value, /[\n\r]/);
        for (const option of ["-p", "-T", "-I"]) assert.doesNotMatch(values.get(option) ?? "", /[/\s*]|^-/);
      }
    });
  });

  it("a fc volume scans for, and mounts, only the disk that its fields name", async () => {
    const volume = fc.record({
      name: field("pv"),
      targetWWNs: fc.array(field(wwn), { maxLength: 2 }),
      wwids: fc.array(field(wwid), { maxLength: 2 }),
      lun: fc.oneof(fc.integer({ min: 0, max: 1 }), fc.double(), field("0") as fc.Arbitrary<never>),
      fsType: fc.oneof(field("ext4"), fc.constantFrom("vfat", "proc", "overlay", "")),
      options: fc.array(field("noatime"), { maxLength: 2 }),
      content,
      isInline: fc.boolean(),
    });
    await check(volume, async ({ name, content, isInline, options, ...source }) => {
      const inline = { name, volume: { name, fc: source as never }, readOnly: false } as VolumeSpec;
      const spec = isInline ? inline : persistent(name, { fc: source }, options);
      for (const { operands } of await mount(plugins(content, {}).fc, spec, content))
        assert.deepEqual(operands, ["/dev/null"]);
      for (const { source } of kernel) assert.equal(source, "/dev/null");
      assert.deepEqual((await readdir(hostDir)).sort(), ["disk", "sys"]);
    });
  });

  it("a flexVolume passes its fields to its driver as values of one JSON object only", async () => {
    const volume = fc.record({
      name: field("data"),
      fsType: field("ext4"),
      keys: fc.array(field("option"), { maxLength: 2 }),
      value: field("value"),
    });
    await check(volume, async ({ name, fsType, keys, value }) => {
      const options = Object.fromEntries(keys.map((key) => [key, value]));
      const flexVolume = { driver: "example.com/flex", fsType, options };
      const spec = { name, volume: { name, flexVolume }, readOnly: false } as VolumeSpec;
      const commands = new FakeCommands({ "/exec/": { output: '{"status":"Success"}' } });
      const driver = new FlexDriver(
        {
          rootDir: root,
          nodeName: "node-1",
          commands,
          logger: silentLogger,
          mounts: {
            mount: async () => assert.fail("mounted"),
            bind: async () => {},
            unmount: async () => {},
            isMountPoint: async () => false,
            list: () => [],
          },
          guard: { run: (_path, work) => work() },
          ownership: { apply: async () => {} },
          secrets: { get: async () => ({}) },
        },
        "/exec/example.com~flex",
      );
      await driver.init(signal);
      started = [];
      await mount(driver.plugin, spec, undefined);
      const deviceDir = driver.plugin.device!.deviceDir(spec);
      const mounts = `${root}/plugins/kubernetes.io/flexvolume/example.com/flex/mounts/`;
      assert.ok(deviceDir.startsWith(mounts));
      assert.doesNotMatch(deviceDir.slice(mounts.length), /\/|^\.{0,2}$/);
      for (const [program, command, ...args] of commands.calls.slice(1)) {
        assert.equal(program, "/exec/example.com~flex/flex");
        if (command === "waitforattach") assert.equal(args.shift(), "");
        else if (command === "mountdevice") assert.deepEqual(args.splice(0, 2), [deviceDir, ""]);
        else assert.fail(command);
        assert.equal(args.length, 1);
        assert.doesNotMatch(args[0]!, /[\n\r\0]/);
        assert.deepEqual(JSON.parse(args[0]!), {
          ...options,
          "kubernetes.io/fsType": fsType,
          "kubernetes.io/readwrite": "rw",
          "kubernetes.io/pvOrVolumeName": name,
        });
      }
    });
  });

  it("a local disk is the only operand of the programs that check and format it", async () => {
    const volume = fc.record({
      name: field("pv"),
      path: field(device),
      fsType: fc.oneof(field("xfs"), fc.constantFrom("vfat", "sysfs", "../../bin/sh", "")),
      options: fc.array(field("noatime"), { maxLength: 2 }),
      content,
    });
    await check(volume, async ({ name, path, fsType, options, content }) => {
      const spec = persistent(name, { local: { path, fsType } }, options);
      // Other absolute paths are devices only if they exist, which `guard` pretends.
      if (path.startsWith("/") && !path.startsWith("/dev/")) return;
      await mount(plugins(content, {}).local, spec, content);
    });
  });

  it("a name never leads out of the directory that it is joined to", () => {
    fc.assert(
      fc.property(field("pv"), field("driver.example.com"), (name, driver) => {
        const volumes = `${root}/pods/uid/volumes/kubernetes.io~csi/`;
        const dir = volumeDir(root, "uid" as never, "Filesystem", "kubernetes.io/csi", name);
        assert.match(dir.slice(volumes.length), /^[^/]+$/);
        assert.ok(dir.startsWith(volumes), dir);
        const plugin = `${root}/plugins/kubernetes.io/csi/`;
        const global = globalMountDir(root, driver, "handle");
        assert.match(global.slice(plugin.length), /^[^/]+\/[0-9a-f]{64}\/globalmount$/);
        assert.ok(global.startsWith(plugin), global);
      }),
      { numRuns },
    );
  });
});
