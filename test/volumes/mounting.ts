import assert from "node:assert/strict";
import { execFile as execFileBack } from "node:child_process";
import { chmod, chown, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { readMounts } from "../../src/lib/host/mount-table.ts";
import type { Container } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { busyboxName } from "../node/test-node.ts";
import { boundVolume, onNode } from "./persistent.ts";
import type { VolumeNode, VolumePod, VolumeSuite } from "./volume-node.ts";

const execFile = promisify(execFileBack);
const at = (n: VolumeNode, ...path: string[]) => join(n.dir, "mounting", ...path);
const asUser = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 };

/** Mounts of volumes in containers: subPaths, read-only, propagation, groups, images. */
export const mounting: VolumeSuite = {
  title: "mounts in containers",

  async prepare(n, version) {
    await mkdir(at(n, "shared"), { recursive: true });
    // A shared mount, which propagates mounts below it.
    await execFile("mount", ["--bind", at(n, "shared"), at(n, "shared")]);
    await execFile("mount", ["--make-rshared", at(n, "shared")]);
    await mkdir(at(n, "tree", "below"), { recursive: true });
    await execFile("mount", ["-t", "tmpfs", "tmpfs", at(n, "tree", "below")]);
    await n.configMap("parts", { "a.conf": "A", "b.conf": "B" });
    const parts: VolumePod = {
      spec: {
        volumes: [
          { name: "data", emptyDir: {} },
          { name: "parts", configMap: { name: "parts" } },
        ],
        containers: [
          {
            env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
            volumeMounts: [
              { name: "data", mountPath: "/whole" },
              { name: "data", mountPath: "/part", subPath: "deep/er" },
              { name: "data", mountPath: "/mine", subPathExpr: "of-$(POD_NAME)" },
              { name: "data", mountPath: "/look", readOnly: true },
              { name: "parts", mountPath: "/etc/a.conf", subPath: "a.conf" },
            ] as Container["volumeMounts"],
          },
        ],
      },
    };
    await n.addPod("parts", parts);
    await n.addPod("parts-too", parts);
    await n.addPod("escaping", {
      spec: {
        volumes: [{ name: "data", emptyDir: {} }],
        initContainers: [
          {
            name: "i",
            image: busyboxName,
            imagePullPolicy: "Never",
            command: ["ln", "-s", "/etc", "/whole/out"],
            volumeMounts: [{ name: "data", mountPath: "/whole" }],
          },
        ],
        containers: [{ volumeMounts: [{ name: "data", mountPath: "/part", subPath: "out" }] }],
      },
    });
    const tree = [{ name: "tree", hostPath: { path: at(n, "tree") } }];
    const readOnly = { name: "tree", mountPath: "/tree", readOnly: true };
    await n.addPod("read-only", { spec: { volumes: tree, containers: [{ volumeMounts: [readOnly] }] } });
    await n.addPod("read-only-below", {
      spec: {
        volumes: tree,
        containers: [{ volumeMounts: [{ ...readOnly, recursiveReadOnly: "Enabled" }] }],
      },
    });
    await n.addPod("read-only-if-possible", {
      spec: {
        volumes: tree,
        containers: [{ volumeMounts: [{ ...readOnly, recursiveReadOnly: "IfPossible" }] }],
      },
    });
    const sharing = (name: string, mountPropagation: string): Partial<Container> => ({
      name,
      securityContext: { privileged: true },
      volumeMounts: [{ name: "shared", mountPath: "/shared", mountPropagation }] as Container["volumeMounts"],
    });
    await n.addPod("sharing", {
      spec: {
        volumes: [{ name: "shared", hostPath: { path: at(n, "shared") } }],
        containers: [
          sharing("none", "None"),
          sharing("from", "HostToContainer"),
          sharing("both", "Bidirectional"),
        ],
      },
    });
    await prepareGroups(n);
    if (version === "1.6") return;
    await n.addPod("image", {
      spec: {
        volumes: [{ name: "image", image: { reference: busyboxName, pullPolicy: "Never" } }] as never,
        containers: [
          {
            volumeMounts: [{ name: "image", mountPath: "/image" }],
          },
        ],
      },
    });
  },

  tests(node, version) {
    test("a subPath is created as a directory, may be a file, and subPathExpr expands variables", async () => {
      await node().runs("parts");
      await node().runs("parts-too");
      await node().inside("parts-too", "echo other >/part/x");
      await node().inside("parts", "echo 1 >/part/x; echo 2 >/mine/x");
      assert.equal(await node().inside("parts", "cat /whole/deep/er/x /whole/of-parts/x"), "1\n2");
      assert.equal(await node().inside("parts", "cat /etc/a.conf"), "A");
      assert.match(await node().failsInside("parts", "echo >/look/x"), /Read-only file system/);
      assert.equal(await node().inside("parts", "cat /look/deep/er/x"), "1");
    });

    test("a subPath that leads out of its volume is rejected", async () => {
      const message = 'failed to prepare subPath for volumeMount "data" of container "c"';
      await waitFor(async () => {
        const { status } = await node().apiNode.pod("escaping");
        const { reason, message: output } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
        assert.deepEqual([reason, output], ["CreateContainerConfigError", message]);
      });
    });

    test("readOnly applies to the mount itself, recursiveReadOnly also to mounts below it", async () => {
      await node().runs("read-only");
      assert.match(await node().failsInside("read-only", "touch /tree/x"), /Read-only file system/);
      await node().inside("read-only", "touch /tree/below/x");
      if (version === "1.6") {
        const expected =
          /volume "tree" requested recursive read-only mode, but it is not supported by the runtime/;
        await waitFor(async () => {
          const { status } = await node().apiNode.pod("read-only-below");
          assert.match(status?.containerStatuses?.[0]?.state?.waiting?.message ?? "", expected);
        });
        await node().runs("read-only-if-possible");
        return;
      }
      for (const name of ["read-only-below", "read-only-if-possible"]) {
        await node().runs(name);
        assert.match(await node().failsInside(name, "touch /tree/x"), /Read-only file system/);
        assert.match(await node().failsInside(name, "touch /tree/below/y"), /Read-only file system/);
      }
    });

    test("with HostToContainer, containers see mounts of the node; with Bidirectional, the node also sees theirs", async () => {
      await node().runs("sharing");
      const shared = at(node(), "shared");
      await mkdir(join(shared, "host"));
      await execFile("mount", ["-t", "tmpfs", "by-the-node", join(shared, "host")]);
      const sees = (what: string, container: string) =>
        node().inside("sharing", `grep -c ${what} /proc/mounts || true`, container);
      assert.deepEqual(
        [
          await sees("by-the-node", "none"),
          await sees("by-the-node", "from"),
          await sees("by-the-node", "both"),
        ],
        ["0", "1", "1"],
      );
      await node().inside("sharing", "mkdir /shared/up && mount -t tmpfs by-both /shared/up", "both");
      await node().inside("sharing", "mkdir /shared/down && mount -t tmpfs by-from /shared/down", "from");
      const sources = readMounts()
        .filter(({ path }) => path.startsWith(`${shared}/`))
        .map((m) => m.source);
      assert.deepEqual(sources, ["by-the-node", "by-both"]);
      assert.deepEqual([await sees("by-both", "none"), await sees("by-both", "from")], ["0", "1"]);
    });

    test("files get the fsGroup of the pod, and directories have setgid", async () => {
      await node().runs("grouped");
      const about = (path: string) => node().inside("grouped", `stat -L -c '%g %a' /v/${path}`);
      assert.deepEqual([await about("disk"), await about("memory")], ["2000 2777", "2000 3777"]);
      await node().inside("grouped", "echo x >/v/disk/x && mkdir /v/disk/d");
      assert.deepEqual([await about("disk/x"), await about("disk/d")], ["2000 644", "2000 2755"]);
      assert.deepEqual([await about("config/a.conf"), await about("token/token")], ["2000 644", "2000 640"]);
      assert.match(await node().inside("grouped", "id"), /uid=1000 gid=1000.*2000/);
      // The user is not the owner, and reads it as a member of the group.
      assert.ok((await node().inside("grouped", "cat /v/token/token")).length > 100);
    });

    test("a volume whose root already has the group is skipped only with OnRootMismatch", async () => {
      await node().runs("mismatch");
      await node().runs("always");
      const gidOf = async (...path: string[]) => (await stat(at(node(), "owned", ...path))).gid;
      assert.deepEqual([await gidOf("right"), await gidOf("right", "file")], [2000, 0], "root matches");
      assert.deepEqual(
        [await gidOf("wrong"), await gidOf("wrong", "file")],
        [2000, 2000],
        "root does not match",
      );
      assert.deepEqual([await gidOf("always"), await gidOf("always", "file")], [2000, 2000], "Always");
      const { mode } = await stat(at(node(), "owned", "always", "file"));
      assert.equal(mode & 0o7777, 0o664);
    });

    // parity: volume image
    test("an image is a volume that cannot be written to", {
      skip: version === "1.6" && "containerd 1.6 has no image volumes",
    }, async () => {
      await node().runs("image");
      await node().inside("image", "test -x /image/bin/busybox");
      assert.match(await node().failsInside("image", "touch /image/x"), /Read-only file system/);
    });
  },
};

/** Volumes with files that do not belong to the group. The roots of some volumes do. */
async function prepareGroups(n: VolumeNode): Promise<void> {
  for (const [name, isGroups] of [
    ["right", true],
    ["wrong", false],
    ["always", true],
  ] as const) {
    const dir = at(n, "owned", name);
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, "file"), "");
    if (isGroups) {
      await chown(dir, 0, 2000);
      await chmod(dir, 0o2775);
    }
    await boundVolume(n, name, { local: { path: dir }, ...onNode(nodeName) });
  }
  const mount = (...names: string[]) => names.map((name) => ({ name, mountPath: `/v/${name}` }));
  const claim = (name: string) => ({ name, persistentVolumeClaim: { claimName: name } });
  await n.addPod("mismatch", {
    spec: {
      securityContext: { ...asUser, fsGroupChangePolicy: "OnRootMismatch" },
      volumes: [claim("right"), claim("wrong")],
      containers: [{ volumeMounts: mount("right", "wrong") }],
    },
  });
  await n.addPod("always", {
    spec: {
      securityContext: { ...asUser, fsGroupChangePolicy: "Always" },
      volumes: [claim("always")],
      containers: [{ volumeMounts: mount("always") }],
    },
  });
  const token = { serviceAccountToken: { path: "token", expirationSeconds: 600 } };
  const volumes = [
    { name: "disk", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory" } },
    { name: "config", configMap: { name: "parts" } },
    { name: "token", projected: { defaultMode: 0o400, sources: [token] } },
  ];
  await n.addPod("grouped", {
    spec: {
      securityContext: asUser,
      volumes: volumes as never,
      containers: [{ volumeMounts: mount("disk", "memory", "config", "token") }],
    },
  });
}
