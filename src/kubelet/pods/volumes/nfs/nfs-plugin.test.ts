import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { FakeCommands } from "../../../../lib/host/fake-commands.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { SetUpRequest, VolumeSpec } from "../volume-plugin.ts";
import { nfsPlugin } from "./nfs-plugin.ts";

const inline = (nfs: object, readOnly = false): VolumeSpec => ({
  name: "data",
  volume: { name: "data", nfs: nfs as never },
  readOnly,
});

describe("an nfs volume", () => {
  let root: string;
  let dir: string;
  let mounted: Set<string>;
  const pod = fakePod();
  const setUp = (spec: VolumeSpec): SetUpRequest => ({
    pod,
    podUid: pod.metadata.uid,
    dir,
    spec,
    fsGroup: undefined,
    fsGroupChangePolicy: undefined,
    deviceDir: undefined,
    signal: new AbortController().signal,
  });
  const plugin = (commands: FakeCommands, mounterPath?: string) =>
    nfsPlugin({
      commands,
      mounterPath,
      mounts: { isMountPoint: async (path) => mounted.has(path) },
      logger: silentLogger,
    });

  beforeEach(async () => {
    root = await mkdtemp("/tmp/nfs-");
    dir = join(root, "data");
    mounted = new Set();
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const cases: [string, VolumeSpec, string][] = [
    ["with a server and a path", inline({ server: "s", path: "/exports" }), "mount -t nfs -- s:/exports DIR"],
    ["with an IPv6 address", inline({ server: "fd00::1", path: "/e" }), "mount -t nfs -- [fd00::1]:/e DIR"],
    ["that is read-only", inline({ server: "s", path: "/e" }, true), "mount -t nfs -o ro -- s:/e DIR"],
    [
      "of a PersistentVolume with options",
      {
        ...inline({}),
        readOnly: true,
        persistent: {
          volumeName: "pv",
          spec: { nfs: { server: "s", path: "/e" }, mountOptions: ["nfsvers=4.1", "hard", "ro"] },
          claim: { namespace: "d", name: "c", uid: "u" },
          mode: "Filesystem",
        },
      },
      "mount -t nfs -o hard,nfsvers=4.1,ro -- s:/e DIR",
    ],
  ];
  // parity: volume nfs
  for (const [what, spec, line] of cases)
    it(`${what} is mounted by mount(8)`, async () => {
      const commands = new FakeCommands();
      await plugin(commands).setUp(setUp(spec));
      assert.deepEqual(commands.lines, [line.replace("DIR", dir)]);
    });

  // parity: flag experimental-mounter-path
  it("is mounted by the program of --experimental-mounter-path, which gets the command of mount(8)", async () => {
    const mounter = "/home/kubernetes/containerized_mounter/mounter";
    const spec = inline({ server: "s", path: "/e" }, true);
    const commands = new FakeCommands({ [mounter]: { code: 32, output: "no route" } });
    await assert.rejects(plugin(commands, mounter).setUp(setUp(spec)), {
      message: `mount failed: exit status 32\nMounting command: ${mounter}\nMounting arguments: mount -t nfs -o ro s:/e ${dir}\nOutput: no route\n`,
    });
    assert.deepEqual(commands.calls, [[mounter, "mount", "-t", "nfs", "-o", "ro", "--", "s:/e", dir]]);
  });

  for (const server of ["nfs.example.com.", "NFS_1", "192.0.2.1", "[fd00::1]", "fe80::1%eth0", "xn--nfs-9la"])
    it(`of the server ${server} is mounted`, async () => {
      const commands = new FakeCommands();
      await plugin(commands).setUp(setUp(inline({ server, path: "/e x=1,--y/.." })));
      const host = server.includes(":") ? `[${server.replace(/[[\]]/g, "")}]` : server;
      assert.deepEqual(commands.calls, [["mount", "-t", "nfs", "--", `${host}:/e x=1,--y/..`, dir]]);
    });

  const notServers = [
    ...[
      "",
      "-v",
      "--all",
      "--options=bind",
      "s,ro",
      "a b",
      "a/b",
      "a:/b",
      "a\nb",
      "a\0b",
      "..",
      ".a",
      "a..b",
      "a-",
    ],
    ...[
      "LABEL=x",
      "UUID=1",
      "/dev/sda",
      "[s]",
      "[fd00::1",
      "fd00::1]",
      "[fd00::1]x",
      "fe80::1%-x y",
      "fe80::1%a,b",
    ],
    ...["s:2049", "sérver", "\u2010\u2010all", "a".repeat(64), `${"a.".repeat(130)}a`, "1.2.3.4,5.6.7.8"],
  ];
  const notPaths: [string, string][] = [
    ["", "an absolute path"],
    ["e", "an absolute path"],
    ["--bind", "an absolute path"],
    ["/e\n/f", "not contain control characters"],
    ["/e\0", "not contain control characters"],
  ];
  for (const [server, path, message] of [
    ...notServers.map((server) => [
      server,
      "/e",
      `nfs: invalid server ${JSON.stringify(server)}: must be a host name or an IP address`,
    ]),
    ...notPaths.map(([path, why]) => [
      "s",
      path,
      `nfs: invalid path ${JSON.stringify(path)}: must ${why.startsWith("not") ? why : `be ${why}`}`,
    ]),
  ] as [string, string, string][])
    it(`of ${JSON.stringify(server)} and ${JSON.stringify(path)} is rejected, and nothing is started`, async () => {
      const commands = new FakeCommands();
      await assert.rejects(plugin(commands).setUp(setUp(inline({ server, path }))), { message });
      assert.deepEqual([commands.calls, existsSync(dir)], [[], false]);
    });

  it("is not mounted again if it is mounted", async () => {
    const commands = new FakeCommands();
    mounted.add(dir);
    await plugin(commands).setUp(setUp(inline({ server: "s", path: "/e" })));
    assert.deepEqual(commands.lines, []);
  });

  it("leaves nothing if it cannot be mounted, and the error has the output of mount(8)", async () => {
    const commands = new FakeCommands({ mount: { code: 32, output: "access denied" } });
    await assert.rejects(plugin(commands).setUp(setUp(inline({ server: "s", path: "/e" }))), {
      message: `mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs s:/e ${dir}\nOutput: access denied\n`,
    });
    assert.equal(existsSync(dir), false);
  });

  it("is unmounted by force after a minute, without accessing it, if its server is dead", async () => {
    mounted.add(dir);
    const commands = new FakeCommands({
      "umount -f": { effect: () => mounted.delete(dir) },
      umount: { code: undefined },
    });
    await plugin(commands).tearDown({ podUid: pod.metadata.uid, dir }, new AbortController().signal);
    assert.deepEqual(commands.lines, [`umount -- ${dir}`, `umount -f -- ${dir}`]);
  });
});
