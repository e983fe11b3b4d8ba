import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../../../lib/base/clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { FakeCommands } from "../../../../lib/host/fake-commands.ts";
import { HangGuard } from "../../../../lib/host/hang-guard.ts";
import { hostMounts } from "../../../../lib/host/mounts.ts";
import { systemCommands } from "../../../../lib/host/system-commands.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Pod, PodUid, Volume } from "../../../../lib/model/pod.ts";
import { mayMount, startVolumes, type TestVolumes, testRoot } from "../fake-parts.ts";
import type { VolumeExpander } from "../persistent/volume-expander.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { callDriver, notSupported } from "./driver-call.ts";
import { FlexDriver } from "./flex-driver.ts";
import { FlexDrivers } from "./flex-drivers.ts";
import { optionsFor } from "./flex-source.ts";

const uid = "0a1b" as PodUid;
const signal = () => AbortSignal.timeout(20_000);

/**
 * A driver that mounts tmpfs, in the shell as drivers usually are. It records its calls as lines: the arguments, separated by "|". Commands
 * that are not listed are not supported.
 */
const script = (log: string, capabilities: string, commands: string) => `#!/bin/sh
( IFS='|'; printf '%s\\n' "$*" ) >>${log}
success() { echo "{\\"status\\": \\"Success\\"$1}"; exit 0; }
case "$1" in
  init) success ', "capabilities": ${capabilities}' ;;
${commands}
  *) echo '{"status": "Not supported"}'; exit 1 ;;
esac
`;
const mounting = `
  mount) mount -t tmpfs flex "$2" && success ;;
  unmount) umount "$2" && success ;;
`;
const attaching = `
  attach) success ', "device": "/dev/flex0"' ;;
  waitforattach) success ", \\"device\\": \\"$2\\"" ;;
  mountdevice) mount -t tmpfs flex "$2" && success ;;
  unmountdevice) umount "$2" && success ;;
  detach) success ;;
`;

describe("a flexVolume", { skip: !mayMount && "needs root" }, () => {
  let rootDir: string;
  let remove: () => Promise<void>;
  let pluginDir: string;
  let log: string;
  let stop: () => Promise<void>;
  let volumes: TestVolumes;
  let group: string[];

  const install = async (dir: string, text: string) => {
    await mkdir(join(pluginDir, dir), { recursive: true });
    const program = join(pluginDir, dir, dir.slice(dir.lastIndexOf("~") + 1));
    await writeFile(`${program}.new`, text);
    await chmod(`${program}.new`, 0o755);
    await rename(`${program}.new`, program);
  };
  const calls = async () => (await readFile(log, "utf8")).split("\n").filter((line) => line !== "");
  const start = async (over: Parameters<typeof startVolumes>[1] = {}) => {
    const abort = new AbortController();
    let started: TestVolumes | undefined;
    const drivers = new FlexDrivers({
      rootDir,
      pluginDir,
      nodeName: "node-1",
      clock: systemClock,
      logger: silentLogger,
      mounts: hostMounts,
      commands: systemCommands(),
      guard: new HangGuard(),
      ownership: {
        apply: async (dir, { fsGroup }) => {
          group.push(dir);
          await chown(dir, 0, fsGroup);
        },
      },
      secrets: {
        get: async ({ namespace, name }, type) => ({ [`${namespace}.${name}.${type}`]: "AP8=" }),
      },
      onDriver: () => started?.manager.pluginsChanged(),
    });
    await drivers.start(abort.signal);
    started = await startVolumes(rootDir, { dynamicPlugins: () => drivers.plugins(), ...over });
    volumes = started;
    stop = async () => {
      await started.stop();
      abort.abort();
      await drivers.done;
    };
  };
  const until = async (isTrue: () => boolean | Promise<boolean>) => {
    while (!(await isTrue())) await nextTurn();
  };
  const podWith = (...all: Volume[]): Pod =>
    fakePod({
      metadata: { uid, name: "p", namespace: "ns" },
      spec: {
        serviceAccountName: "sa",
        securityContext: { fsGroup: 1234 },
        volumes: all,
        containers: [{ volumeMounts: all.map(({ name }) => ({ name, mountPath: `/${name}` })) }],
      },
    });
  const flex = (driver: string, more: object = {}): Volume =>
    ({ name: "data", flexVolume: { driver, ...more } }) as Volume;

  beforeEach(async () => {
    ({ rootDir, remove } = await testRoot());
    pluginDir = join(rootDir, "exec");
    log = join(rootDir, "calls");
    await writeFile(log, "");
    group = [];
  });
  afterEach(async () => {
    await stop();
    await remove();
  });

  // parity: volume flexVolume, field volumePluginDir
  it("is mounted and unmounted by the driver in volumePluginDir, which gets its options, pod and secret", async () => {
    await install("example.com~tmp", script(log, '{"attach": false}', mounting));
    await start();
    const options = { b: '<"&">', a: "1" };
    const volume = flex("example.com/tmp", { fsType: "x", options, secretRef: { name: "s" } });
    await volumes.manager.waitFor(podWith(volume), signal());
    const dir = join(rootDir, "pods", uid, "volumes/example.com~tmp/data");
    assert.equal(volumes.pathOf(uid, "data"), dir);
    const [init, mount] = (await calls()).map((line) => line.split("|"));
    assert.deepEqual(init, ["init"]);
    assert.deepEqual(mount!.slice(0, 2), ["mount", dir]);
    assert.equal(mount!.length, 3);
    assert.deepEqual(Object.entries(JSON.parse(mount![2]!)), [
      ["a", "1"],
      ["b", '<"&">'],
      ["kubernetes.io/fsType", "x"],
      ["kubernetes.io/mounterArgs.FsGroup", "1234"],
      ["kubernetes.io/pod.name", "p"],
      ["kubernetes.io/pod.namespace", "ns"],
      ["kubernetes.io/pod.uid", uid],
      ["kubernetes.io/pvOrVolumeName", "data"],
      ["kubernetes.io/readwrite", "rw"],
      ["kubernetes.io/secret/ns.s.example.com/tmp", "AP8="],
      ["kubernetes.io/serviceAccount.name", "sa"],
    ]);
    assert.ok(mount![2]!.includes('"\\u003c\\"\\u0026\\"\\u003e"'));
    assert.deepEqual([statSync(dir).gid, group], [1234, [dir]]);
    assert.equal(volumes.manager.inUse()?.length, 0);
    await volumes.manager.release(uid, signal());
    assert.deepEqual([(await calls()).at(-1), existsSync(dir)], [`unmount|${dir}`, false]);
  });

  it("is attached and mounted for the node by a driver that can, and bind-mounted for the pod, across a restart", async () => {
    await install("example.com~disk", script(log, "{}", attaching));
    const verified: string[] = [];
    const verifyAttached = async (unique: string) => {
      verified.push(unique);
      return "/dev/flex7";
    };
    await start({ verifyAttached });
    await volumes.manager.waitFor(podWith(flex("example.com/disk", { readOnly: true })), signal());
    const dir = join(rootDir, "pods", uid, "volumes/example.com~disk/data");
    const global = join(rootDir, "plugins/kubernetes.io/flexvolume/example.com/disk/mounts/data");
    const options = `{"kubernetes.io/fsType":"","kubernetes.io/pvOrVolumeName":"data","kubernetes.io/readwrite":"ro"}`;
    assert.deepEqual((await calls()).slice(0, 3), [
      "init",
      `waitforattach|/dev/flex7|${options}`,
      `mountdevice|${global}|/dev/flex7|${options}`,
    ]);
    // The driver does not implement mount.
    assert.match((await calls())[3]!, /^mount\|/);
    assert.equal(statSync(dir).dev, statSync(global).dev);
    assert.deepEqual(
      [verified, volumes.manager.inUse(), group],
      [["example.com/disk/data"], ["example.com/disk/data"], []],
    );
    await stop();
    await start({ verifyAttached });
    assert.deepEqual(volumes.manager.inUse(), ["example.com/disk/data"]);
    await volumes.manager.release(uid, signal());
    await until(() => volumes.manager.inUse()!.length === 0);
    assert.deepEqual((await calls()).slice(-2), [`unmount|${dir}`, `unmountdevice|${global}`]);
    assert.deepEqual([existsSync(dir), existsSync(global)], [false, false]);
  });

  it("is attached and detached by its driver if no controller does this", async () => {
    await install("example.com~disk", script(log, "{}", attaching));
    await start({ attaches: true });
    await volumes.manager.waitFor(podWith(flex("example.com/disk")), signal());
    const attached = 'AttachVolume.Attach succeeded for volume "data" ';
    assert.deepEqual(volumes.events, [`SuccessfulAttachVolume: ${attached}`]);
    const [, attach, wait] = (await calls()).map((line) => line.split("|"));
    assert.deepEqual(
      [attach![0], attach![2], wait![0], wait![1]],
      ["attach", "node-1", "waitforattach", "/dev/flex0"],
    );
    await volumes.manager.release(uid, signal());
    await until(() => volumes.manager.inUse()!.length === 0);
    assert.deepEqual(
      (await calls()).slice(-2).map((line) => line.split("|")[0]),
      ["unmountdevice", "detach"],
    );
    assert.equal((await calls()).at(-1), "detach|data|node-1");
  });

  it("waits for its driver, which can be installed, fixed and replaced while the agent runs", async () => {
    await start();
    assert.equal(statSync(pluginDir).mode & 0o777, 0o755);
    const pod = podWith(flex("example.com/late"));
    await assert.rejects(volumes.manager.waitFor(pod, signal()), /no volume plugin matched/);
    await install("example.com~late", "#!/bin/sh\necho not JSON\n");
    await install(".hidden", script(log, '{"attach": false}', mounting));
    await install("example.com~late", script(log, '{"attach": false, "fsGroup": false}', mounting));
    await until(() => volumes.pathOf(uid, "data") !== undefined);
    // A program that is replaced while its init runs is initialized again.
    assert.deepEqual([...new Set((await calls()).map((line) => line.split("|")[0]))], ["init", "mount"]);
    assert.deepEqual(group, []);
    log = join(rootDir, "other-calls");
    await writeFile(log, "");
    await install("example.com~late", script(log, '{"attach": false}', mounting));
    await until(async () => (await calls()).includes("init"));
    await volumes.manager.release(uid, signal());
    assert.match((await calls()).at(-1)!, /^unmount\|/);
  });

  it("fails with the message of its driver, which is called again", async () => {
    const failing = `  mount) echo '{"status": "Failure", "message": "no such disk"}'; exit 1 ;;`;
    await install("bad", script(log, '{"attach": false}', failing));
    await start();
    const waiting = volumes.manager.waitFor(podWith(flex("bad")), signal());
    await until(() => volumes.events.length >= 2);
    const message =
      'MountVolume.SetUp failed for volume "data" : mount command failed, status: Failure, reason: no such disk';
    assert.deepEqual([...new Set(volumes.events)], [`FailedMount: ${message}`]);
    assert.equal(existsSync(join(rootDir, "pods", uid, "volumes/bad/data")), false);
    await install("bad", script(log, '{"attach": false}', mounting));
    await waiting;
    await volumes.manager.release(uid, signal());
  });

  it("is relabeled and measured as the driver's capabilities specify", async () => {
    await install("a~on", script(log, '{"attach": false, "supportsMetrics": true}', mounting));
    await install("a~off", script(log, '{"Attach": false, "SELINUXRELABEL": false}', mounting));
    await start();
    const pod = podWith(flex("a/on"), { ...flex("a/off"), name: "other" });
    await volumes.manager.waitFor(pod, signal());
    const measured = (await volumes.stats(uid)).map(({ name, capacityBytes }) => [name, capacityBytes! > 0]);
    assert.deepEqual(measured, [["data", true]]);
    const mounted = volumes.manager.mountedVolumes(uid);
    assert.deepEqual(
      mounted.map(({ plugin, spec, path }) => plugin.relabels!(spec, path, "")),
      [true, false],
    );
    await volumes.manager.release(uid, signal());
  });
});

describe("a call of a FlexVolume driver", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp("/tmp/flex-");
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const call = async (body: string, command = "mount") => {
    const program = join(dir, "driver");
    await writeFile(program, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    return callDriver(
      systemCommands(),
      program,
      command,
      ["-o", "--", "", '{"secret":"c2VjcmV0"}'],
      signal(),
    );
  };
  const failures: [string, string, string][] = [
    ["reports a failure", `echo '{"status":"Failure","message":"m"}'; exit 1`, "mount command failed, status: Failure, reason: m"],
    ["reports a failure and exits with 0", `echo '{"status":"Failure"}'`, "mount command failed, status: Failure, reason: "],
    ["exits with 3 after it reported success", `echo '{"status":"Success"}'; exit 3`, "exit status 3"],
    ["prints nothing", "exit 0", "mount command failed: its output is not JSON"],
    ["prints its secret", 'echo "$4"; echo x', "mount command failed: its output is not JSON"],
    ["prints a list", "echo '[]'", "mount command failed: its output is not a JSON object"],
    ["has a status that is no text", `echo '{"status":1}'`, "mount command failed: status is not a string"],
  ]; // biome-ignore format: one table
  for (const [what, body, message] of failures)
    it(`fails if it ${what}`, () => assert.rejects(call(body), { message }));

  it("passes its arguments as they are", async () => {
    const status = await call(
      `[ "$1$2$3$4$5" = 'mount-o--{"secret":"c2VjcmV0"}' ] && echo '{"status":"Success"}'`,
    );
    assert.notEqual(status, notSupported);
  });

  it("reports a command that is not supported", async () => {
    assert.equal(await call(`echo '{"status":"Not supported"}'; exit 1`), notSupported);
  });
});

describe("the options of a flexVolume", () => {
  it("cannot replace those of the kubelet", () => {
    for (const key of ["kubernetes.io/pod.uid", "a.kubernetes.io/x", "k8s.io/x"]) {
      const volume = { name: "v", flexVolume: { driver: "d", options: { [key]: "x" } } } as Volume;
      assert.throws(
        () => optionsFor({ name: "v", volume, readOnly: false }),
        /must not specify options with/,
      );
    }
  });
});

describe("the expansion of a flexVolume", () => {
  for (const isSupported of [true, false])
    it(
      isSupported ? "is done by the driver" : "is done by the kubelet if the driver does not support it",
      async (t) => {
        const rootDir = await mkdtemp("/tmp/flex-");
        t.after(() => rm(rootDir, { recursive: true }));
        const driver = "/exec/example.com~disk/disk";
        const response = (status: string, more = {}) => ({ output: JSON.stringify({ status, ...more }) });
        const commands = new FakeCommands({
          [`${driver} waitforattach`]: response("Success", { device: "/dev/flex0" }),
          [`${driver} expandfs`]: response(isSupported ? "Success" : "Not supported"),
          [driver]: response("Success"),
          "blkid ": { output: "TYPE=ext4\n" },
        });
        const expander = {
          mayBeNeeded: () => true,
          expandIfNeeded: async (_pod: Pod, _spec: VolumeSpec, grow: (size: string) => Promise<void>) =>
            grow("2Gi"),
          markInUse: () => {},
          resetSize: () => {},
        } as unknown as VolumeExpander;
        const flexDriver = new FlexDriver(
          {
            rootDir,
            nodeName: "n",
            commands,
            expander,
            logger: silentLogger,
            guard: new HangGuard(),
            mounts: { ...hostMounts, isMountPoint: async () => false, list: () => [] },
            ownership: { apply: async () => {} },
            secrets: { get: async () => ({}) },
          },
          "/exec/example.com~disk",
        );
        await flexDriver.init(signal());
        const { plugin } = flexDriver;
        const spec = {
          name: "pv",
          volume: { name: "data" },
          readOnly: false,
          persistent: {
            volumeName: "pv",
            claimCapacity: "1Gi",
            spec: { flexVolume: { driver: "example.com/disk" }, capacity: { storage: "2Gi" } },
          },
        } as VolumeSpec;
        const dir = join(rootDir, "pods/data");
        const pod = podWithUid(uid);
        await plugin.device!.waitForAttach(pod, spec, signal());
        commands.lines.length = 0;
        await plugin.setUp({
          podUid: uid,
          dir,
          pod,
          spec,
          fsGroup: undefined,
          fsGroupChangePolicy: undefined,
          signal: signal(),
          deviceDir: undefined,
        });
        const expandfs = `${driver} expandfs ${optionsFor(spec)} /dev/flex0 ${dir} 2147483648 1073741824`;
        const own = [/^blkid /, /^resize2fs -- \/dev\/flex0$/];
        const [mount, expand, ...rest] = commands.lines;
        assert.match(mount ?? "", / mount /);
        assert.equal(expand, expandfs);
        assert.equal(rest.length, isSupported ? 0 : own.length);
        rest.forEach((line, i) => void assert.match(line, own[i]!));
      },
    );
});

const podWithUid = (podUid: PodUid): Pod =>
  fakePod({ metadata: { uid: podUid, name: "p", namespace: "ns" } });
