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
  const plugin = (commands: FakeCommands) =>
    nfsPlugin({
      commands,
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
    ["with a server and a path", inline({ server: "s", path: "/exports" }), "mount -t nfs s:/exports DIR"],
    ["with an IPv6 address", inline({ server: "fd00::1", path: "/e" }), "mount -t nfs [fd00::1]:/e DIR"],
    ["that is read-only", inline({ server: "s", path: "/e" }, true), "mount -t nfs -o ro s:/e DIR"],
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
      "mount -t nfs -o hard,nfsvers=4.1,ro s:/e DIR",
    ],
  ];
  for (const [what, spec, line] of cases)
    it(`${what} is mounted by mount(8)`, async () => {
      const commands = new FakeCommands();
      await plugin(commands).setUp(setUp(spec));
      assert.deepEqual(commands.lines, [line.replace("DIR", dir)]);
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
    assert.deepEqual(commands.lines, [`umount ${dir}`, `umount -f ${dir}`]);
  });
});
