import assert from "node:assert/strict";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import * as fs from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { hostMounts } from "../../../../lib/host/mounts.ts";
import type { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Volume } from "../../../../lib/model/pod.ts";
import { diskFiles } from "./atomic-writer.ts";
import { FakeContentNode, podWith } from "./fake-content.ts";
import { filesOf, modeOf, tempDir } from "./fake-volume-dir.ts";

const isRoot = process.getuid?.() === 0;
const secret: Volume = { name: "v", secret: { secretName: "s", defaultMode: 0o644 } };
const configMap: Volume = { name: "v", configMap: { name: "c", defaultMode: 0o644 } };
const projected = (...sources: NonNullable<NonNullable<Volume["projected"]>["sources"]>): Volume => ({
  name: "v",
  projected: { sources, defaultMode: 0o644 },
});

describe("content volumes", () => {
  const node = (t: { after(fn: () => void): void }, more = {}) => {
    const created = new FakeContentNode(tempDir(t), more);
    created.objects.secret("s", { user: "me", password: "old" });
    created.objects.configMap("c", { data: { a: "text" }, binaryData: { b: "AAE=" } });
    return created;
  };

  const contents: [string, Volume, Record<string, string>][] = [
    ["a secret", secret, { password: "old", user: "me" }],
    ["a ConfigMap, text and bytes", configMap, { a: "text", b: "\0\x01" }],
    [
      "items at their paths",
      { name: "v", secret: { secretName: "s", items: [{ key: "user", path: "db/login" }] } },
      { "db/login": "me" },
    ],
    ["an optional secret that is missing", { name: "v", secret: { secretName: "x", optional: true } }, {}],
    [
      "an optional key that is missing",
      {
        name: "v",
        configMap: {
          name: "c",
          optional: true,
          items: [
            { key: "x", path: "x" },
            { key: "a", path: "y" },
          ],
        },
      },
      { y: "text" },
    ],
    [
      "fields of the pod",
      {
        name: "v",
        downwardAPI: {
          items: [
            { path: "name", fieldRef: { fieldPath: "metadata.name" } },
            { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
            { path: "one", fieldRef: { fieldPath: "metadata.annotations['example.com/A']" } },
            { path: "cpu", resourceFieldRef: { containerName: "c0", resource: "limits.cpu", divisor: "1m" } },
            {
              path: "mem",
              resourceFieldRef: { containerName: "c0", resource: "limits.memory", divisor: "1Mi" },
            },
            { path: "req", resourceFieldRef: { containerName: "c0", resource: "requests.memory" } },
          ],
        },
      },
      { cpu: "250", labels: 'a="1"\nb="x\\ny"', mem: "1024", name: "web", one: "yes", req: "0" },
    ],
    [
      "all kinds of sources, of which later ones override earlier ones",
      projected(
        { secret: { name: "s" } },
        { configMap: { name: "c", items: [{ key: "a", path: "user" }] } },
        { downwardAPI: { items: [{ path: "ns", fieldRef: { fieldPath: "metadata.namespace" } }] } },
        { serviceAccountToken: { path: "token", audience: "vault", expirationSeconds: 600 } },
      ),
      { ns: "default", password: "old", token: "token", user: "text" },
    ],
  ];
  for (const [what, volume, files] of contents)
    it(`contains ${what}`, async (t) => {
      const n = node(t);
      const pod = podWith(volume, {
        metadata: { labels: { b: "x\ny", a: "1" }, annotations: { "example.com/A": "yes" } },
        spec: { containers: [{ resources: { limits: { cpu: "250m" } } }] },
      });
      const request = n.request(volume, { pod });
      await n.pluginFor(volume).setUp(request);
      assert.deepEqual(filesOf(request.dir), files);
    });

  const missing: [string, Volume, string][] = [
    ["a secret", { name: "v", secret: { secretName: "x" } }, 'secret "x" not found'],
    ["a ConfigMap", { name: "v", configMap: { name: "x" } }, 'configmap "x" not found'],
    [
      "a key of a secret",
      { name: "v", secret: { secretName: "s", items: [{ key: "x", path: "x" }] } },
      "references non-existent secret key: x",
    ],
    [
      "a key of a ConfigMap",
      { name: "v", configMap: { name: "c", items: [{ key: "x", path: "x" }] } },
      "configmap references non-existent config key: x",
    ],
    [
      "several objects",
      projected({ secret: { name: "x" } }, { configMap: { name: "y" } }, { secret: { name: "s" } }),
      '[secret "x" not found, configmap "y" not found]',
    ],
    [
      "a field",
      { name: "v", downwardAPI: { items: [{ path: "ip", fieldRef: { fieldPath: "status.podIP" } }] } },
      "unsupported fieldPath: status.podIP",
    ],
    [
      "a container",
      {
        name: "v",
        downwardAPI: {
          items: [{ path: "x", resourceFieldRef: { containerName: "x", resource: "limits.cpu" } }],
        },
      },
      "container x not found",
    ],
    [
      "trust bundles",
      projected({ clusterTrustBundle: { name: "x", path: "ca.pem" } }),
      "ClusterTrustBundle projection is not supported in static kubelet mode",
    ],
    [
      "support for certificates",
      projected({ podCertificate: {} } as never),
      "pod certificates are not supported without an API server, or with the feature gate PodCertificateRequest disabled",
    ],
    [
      "support for a source",
      projected({ lunarPhase: {} } as never),
      "projected volumes with a lunarPhase are not supported",
    ],
    [
      "a safe path",
      { name: "v", secret: { secretName: "s", items: [{ key: "user", path: "../../etc/cron.d/x" }] } },
      "invalid path: must not contain '..': ../../etc/cron.d/x",
    ],
  ];
  // parity: gate ClusterTrustBundleProjection=false as bundles, gate PodCertificateRequest=false
  for (const [what, volume, message] of missing)
    it(`setUp fails and creates nothing without ${what}`, async (t) => {
      const n = node(t);
      const request = n.request(volume);
      await assert.rejects(n.pluginFor(volume).setUp(request), { message });
      assert.equal(existsSync(request.dir), false);
      assert.equal(n.mounts.mounted.size, 0);
    });

  it("only ConfigMaps are on disk, the others in memory with the size of the pod's limit", async (t) => {
    const n = node(t);
    for (const volume of [secret, projected(), configMap, { name: "v", downwardAPI: {} }]) {
      const containers = [{ resources: { limits: { memory: "64Mi" } } }];
      await n.pluginFor(volume).setUp(n.request(volume, { pod: podWith(volume, { spec: { containers } }) }));
    }
    const dirs = [...n.mounts.mounted].map(([dir, options]) => [dir.split("/").at(-2), options]);
    const options = { size: 64n * 1024n * 1024n, noSwap: true };
    assert.deepEqual(dirs, [
      ["kubernetes.io~secret", options],
      ["kubernetes.io~projected", options],
      ["kubernetes.io~downward-api", options],
    ]);
  });

  const labels: Volume = {
    name: "v",
    downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] },
  };
  const labeled = (text: string) => podWith(labels, { metadata: { labels: { a: text } } });

  it("a downwardAPI volume that an earlier version created on disk remains in use", async (t) => {
    const n = node(t);
    const request = n.request(labels, { pod: labeled("old") });
    await n.pluginFor(labels).setUp(request);
    n.mounts.mounted.clear(); // the files of an earlier version: a directory, content, a ready file
    await n.pluginFor(labels).setUp({ ...request, pod: labeled("new") });
    assert.deepEqual(filesOf(request.dir), { labels: 'a="new"' });
    assert.equal(n.mounts.mounted.size, 0);
    await n.pluginFor(labels).tearDown(request, request.signal);
    assert.equal(existsSync(request.dir), false);
  });

  it("a downwardAPI volume is remounted after a reboot", async (t) => {
    const n = node(t);
    const request = n.request(labels, { pod: labeled("x") });
    await n.pluginFor(labels).setUp(request);
    n.mounts.mounted.clear();
    for (const name of readdirSync(request.dir)) rmSync(join(request.dir, name), { recursive: true });
    await n.pluginFor(labels).setUp(request);
    assert.deepEqual([...n.mounts.mounted.keys()], [request.dir]);
    assert.deepEqual(filesOf(request.dir), { labels: 'a="x"' });
  });

  it("is updated with the object, and nothing is written if it is unchanged", async (t) => {
    const n = node(t);
    const plugin = n.pluginFor(secret);
    const request = n.request(secret);
    await plugin.setUp(request);
    const link = readlinkSync(join(request.dir, "..data"));
    await plugin.setUp(request);
    assert.equal(readlinkSync(join(request.dir, "..data")), link);
    n.objects.secret("s", { password: "new" });
    await plugin.setUp(request);
    assert.deepEqual(filesOf(request.dir), { password: "new" });
    assert.equal(n.mounts.calls.length, 1);
  });

  it("keeps its content when the object is deleted or the disk is full", async (t) => {
    let full = false;
    const files = {
      ...diskFiles,
      writeFile: async (...args: Parameters<typeof fs.writeFile>) => {
        if (full) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
        return fs.writeFile(...args);
      },
    };
    const n = node(t, { files });
    const plugin = n.pluginFor(secret);
    const request = n.request(secret);
    await plugin.setUp(request);
    n.objects.secret("s", { password: "new" });
    full = true;
    await assert.rejects(plugin.setUp(request), /ENOSPC/);
    n.objects.all.clear();
    await assert.rejects(plugin.setUp(request), /not found/);
    assert.deepEqual(filesOf(request.dir), { password: "old", user: "me" });
    full = false;
    n.objects.secret("s", { password: "new" });
    await plugin.setUp(request);
    assert.deepEqual(filesOf(request.dir), { password: "new" });
  });

  for (const [what, fault] of [
    ["disk", { writeFile: () => Promise.reject(new Error("ENOSPC")) }],
    ["mount", undefined],
  ] as const)
    it(`a failed setUp leaves nothing behind (${what})`, async (t) => {
      const n = node(t, fault && { files: { ...diskFiles, ...fault } });
      if (!fault) n.mounts.mountFault = new Error("mount: EPERM");
      const request = n.request(secret);
      await assert.rejects(n.pluginFor(secret).setUp(request), fault ? /ENOSPC/ : /EPERM/);
      assert.equal(n.mounts.mounted.size, 0);
      assert.equal(filesOf(request.dir), undefined);
      assert.equal(existsSync(request.dir), false);
    });

  it("a secret is never written to disk", async (t) => {
    const n = node(t);
    n.mounts.mountFault = new Error("mount: ENOMEM");
    const request = n.request(secret);
    for (let i = 0; i < 2; i++) await assert.rejects(n.pluginFor(secret).setUp(request), /ENOMEM/);
    assert.equal(existsSync(request.dir), false);
  });

  it("setUp writes the ready file, and tearDown removes everything", async (t) => {
    const n = node(t);
    const volume = projected({ serviceAccountToken: { path: "token" } });
    const plugin = n.pluginFor(volume);
    const request = n.request(volume);
    await plugin.setUp(request);
    const ready = join(n.root, "pods", request.podUid, "plugins/kubernetes.io~empty-dir/wrapped_v/ready");
    assert.ok(existsSync(ready));
    await plugin.tearDown(request, request.signal);
    assert.deepEqual([existsSync(ready), existsSync(request.dir), n.mounts.mounted.size], [false, false, 0]);
    assert.deepEqual(n.tokens.deleted, [request.podUid]);
    await plugin.tearDown(request, request.signal);
  });

  it("requests a token for the pod's service account", async (t) => {
    const n = node(t);
    const volume = projected({
      serviceAccountToken: { path: "t", audience: "vault", expirationSeconds: 600 },
    });
    const request = n.request(volume);
    await n.pluginFor(volume).setUp(request);
    assert.deepEqual(n.tokens.requests, [[request.podUid, { audiences: ["vault"], expirationSeconds: 600 }]]);
  });

  const owners: [string, Parameters<typeof fakePod>[0], number | undefined, [string, number, number]][] = [
    ["all users", {}, undefined, ["644", 0, 0]],
    ["the group", {}, 777, ["640", 0, 777]],
    [
      "the user of all containers",
      { spec: { securityContext: { runAsUser: 55 } } },
      undefined,
      ["600", 55, 0],
    ],
    [
      "all users, if the users differ",
      {
        spec: {
          securityContext: { runAsUser: 55 },
          containers: [{}, { securityContext: { runAsUser: 56 } }],
        },
      },
      undefined,
      ["644", 0, 0],
    ],
    [
      "all users, if one container has no user",
      { spec: { containers: [{ securityContext: { runAsUser: 55 } }, {}] } },
      undefined,
      ["644", 0, 0],
    ],
  ];
  for (const [what, parts, fsGroup, expected] of owners)
    it(`a token is readable by ${what}`, { skip: !isRoot }, async (t) => {
      const n = node(t);
      const volume = projected({ serviceAccountToken: { path: "token" } });
      const request = n.request(volume, { pod: podWith(volume, parts), fsGroup });
      await n.pluginFor(volume).setUp(request);
      const path = join(request.dir, "..data", "token");
      const { uid, gid } = lstatSync(path);
      assert.deepEqual([modeOf(path), uid, gid], expected);
    });

  it("the mode of an item overrides that of the volume", async (t) => {
    const n = node(t);
    const items = [
      { key: "user", path: "a", mode: 0o400 },
      { key: "user", path: "b" },
    ];
    const volume: Volume = { name: "v", secret: { secretName: "s", defaultMode: 0o440, items } };
    const request = n.request(volume);
    await n.pluginFor(volume).setUp(request);
    const modes = ["a", "b"].map((name) => modeOf(join(request.dir, "..data", name)));
    assert.deepEqual(modes, ["400", "440"]);
  });

  it("creates directories for nested mounts", async (t) => {
    const n = node(t);
    const volumeMounts = [
      { name: "v", mountPath: "/etc/app" },
      { name: "w", mountPath: "/etc/app/cache/" },
      { name: "x", mountPath: "/etc/app/cache/deep" },
      { name: "y", mountPath: "/etc/apple" },
    ];
    const request = n.request(secret, {
      pod: podWith(secret, { spec: { containers: [{ volumeMounts }] } }),
    });
    await n.pluginFor(secret).setUp(request);
    await n.pluginFor(secret).setUp(request);
    const names = readdirSync(request.dir).filter((name) => !name.startsWith(".."));
    assert.deepEqual(names, ["cache", "password", "user"]);
    assert.deepEqual(readdirSync(join(request.dir, "cache")), []);
  });

  for (const [mountPath, other] of [
    ["..", "../../../../outside"],
    ["a/../..", "../../../../outside"],
    ["../", "../../../../outside"],
    ["../a", "../a/../../../../outside"],
    ["/..", "/../../../../outside"],
    [".", "./../../../../outside"],
    ["a", "a/../../../../../outside"],
    ["/a", "/a/..\0..\0..\0outside"],
  ] as const)
    it(`creates no directory outside of the volume for a mount at ${other} in ${mountPath}`, async (t) => {
      const n = node(t);
      const volumeMounts = [
        { name: "v", mountPath },
        { name: "w", mountPath: other },
      ];
      const request = n.request(secret, {
        pod: podWith(secret, { spec: { containers: [{ volumeMounts }] } }),
      });
      await n
        .pluginFor(secret)
        .setUp(request)
        .catch((error: unknown) =>
          assert.match(String(error), /invalid container mount point \.\.|null bytes/),
        );
      const all = readdirSync(n.root, { recursive: true }).map(String);
      assert.deepEqual(
        all.filter(
          (path) => path.includes("outside") && !path.startsWith(`${relative(n.root, request.dir)}/`),
        ),
        [],
      );
    });

  it("a real tmpfs is mounted once, kept by the next agent, and removed by tearDown", {
    skip: !isRoot,
  }, async (t) => {
    // Registered before the removal of the directory, which fails while it is mounted.
    let dir = "";
    t.after(() => hostMounts.unmount(dir));
    const n = node(t, { mounts: hostMounts });
    const request = n.request(secret);
    dir = request.dir;
    await n.pluginFor(secret).setUp(request);
    const mounted = await hostMounts.at(request.dir);
    assert.equal(mounted?.fsType, "tmpfs");
    const { dev } = lstatSync(request.dir);
    n.objects.secret("s", { password: "new" });
    const other = new FakeContentNode(n.root, { mounts: hostMounts, objects: n.objects.source });
    await other.pluginFor(secret).setUp(request);
    assert.equal(lstatSync(request.dir).dev, dev);
    assert.equal(hostMounts.list().filter(({ path }) => path === request.dir).length, 1);
    assert.equal(readFileSync(join(request.dir, "password"), "utf8"), "new");
    await other.pluginFor(secret).tearDown(request, request.signal);
    assert.equal(await hostMounts.isMountPoint(request.dir), false);
    assert.equal(existsSync(request.dir), false);
  });
});
