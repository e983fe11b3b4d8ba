import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { LoopDevice } from "./loop-device.ts";
import type { VolumeNode, VolumeSuite } from "./volume-node.ts";

const wrongPaths: readonly [type: string, path: string, called: string][] = [
  ["Directory", "file", "a directory"],
  ["Directory", "missing", "a directory"],
  ["DirectoryOrCreate", "file", "a directory"],
  ["File", "existing", "a file"],
  ["File", "missing", "a file"],
  ["FileOrCreate", "existing", "a file"],
  ["Socket", "file", "a socket file"],
  ["CharDevice", "file", "a character device"],
  ["BlockDevice", "file", "a block device"],
];
const nameOf = (type: string, path: string) => `wrong-${type.toLowerCase()}-${path}`;
const at = (n: VolumeNode, path: string) => join(n.dir, "host", path);

/** hostPath volumes of all types; a block device only if the machine has one. */
export const hostPaths = (disk: () => LoopDevice | undefined): VolumeSuite => ({
  title: "hostPath",

  async prepare(n) {
    await mkdir(at(n, "existing"), { recursive: true });
    await writeFile(at(n, "file"), "of the node");
    const server = createServer((socket) => socket.end("hello")).listen(at(n, "socket"));
    await once(server, "listening");
    n.cleanups.push(async () => void server.close());
    const good = {
      any: [undefined, at(n, "file")],
      directory: ["Directory", at(n, "existing")],
      "new-directory": ["DirectoryOrCreate", at(n, "made/for/it")],
      file: ["File", at(n, "file")],
      "new-file": ["FileOrCreate", at(n, "made-file")],
      socket: ["Socket", at(n, "socket")],
      char: ["CharDevice", "/dev/zero"],
      ...(disk() ? { block: ["BlockDevice", disk()!.path] } : {}),
    } as Record<string, [string | undefined, string]>;
    await n.addPod("host-paths", {
      spec: {
        volumes: Object.entries(good).map(([name, [type, path]]) => ({
          name,
          hostPath: { path, type: type as never },
        })),
        containers: [
          {
            securityContext: { privileged: true },
            volumeMounts: Object.keys(good).map((name) => ({ name, mountPath: `/v/${name}` })),
          },
        ],
      },
    });
    for (const [type, path] of wrongPaths)
      await n.addPod(nameOf(type, path), {
        spec: {
          volumes: [{ name: "v", hostPath: { path: at(n, path), type: type as never } }],
          containers: [{ volumeMounts: [{ name: "v", mountPath: "/v" }] }],
        },
      });
  },

  tests(node) {
    const run = (script: string) => node().inside("host-paths", script);

    test("a path that does not match its type is not mounted, with an event that names it", async () => {
      for (const [type, path, called] of wrongPaths) {
        const message = `MountVolume.SetUp failed for volume "v" : hostPath type check failed: ${at(node(), path)} is not ${called}`;
        await node().hasEvent(nameOf(type, path), "FailedMount", message);
      }
    });

    test("a pod whose volume could not be mounted runs as soon as the path is correct", async () => {
      await mkdir(at(node(), "missing"));
      await node().runs(nameOf("Directory", "missing"), 70_000);
    });

    // parity: volume hostPath
    test("containers and the node read each other's writes to files of the node", async () => {
      await node().runs("host-paths");
      assert.equal(await run("cat /v/any; echo; cat /v/file"), "of the node\nof the node");
      await run(
        "echo changed >/v/file; echo new >/v/directory/new; echo in it >/v/new-directory/x; echo y >/v/new-file",
      );
      const read = (path: string) => readFile(at(node(), path), "utf8");
      assert.deepEqual(
        [
          await read("file"),
          await read("existing/new"),
          await read("made/for/it/x"),
          await read("made-file"),
        ],
        ["changed\n", "new\n", "in it\n", "y\n"],
      );
      await writeFile(at(node(), "existing/other"), "by the node");
      assert.equal(await run("cat /v/directory/other"), "by the node");
    });

    test("directories are created with mode 0755, files with mode 0644", async () => {
      const mode = async (path: string) => (await stat(at(node(), path))).mode & 0o7777;
      assert.deepEqual([await mode("made/for/it"), await mode("made-file")], [0o755, 0o644]);
    });

    test("a socket or device of the node is the same in the container", async () => {
      assert.equal(await run("stat -c %F /v/socket"), "socket");
      assert.equal(await run("head -c 2 /v/char | od -An -tx1"), " 00 00");
      if (!disk()) return;
      const inside = await run("stat -c '%F %t' /v/block");
      assert.match(inside, /^block special file 7$/);
    });
  },
});
