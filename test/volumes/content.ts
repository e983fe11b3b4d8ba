import assert from "node:assert/strict";
import { readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { podsPath } from "../cluster/node-with-api.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { tmpfsMagic, type VolumeSuite } from "./volume-node.ts";

const objects = "/api/v1/namespaces/default";
const bundles = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");
const field = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });

/** A valid certificate: the CA of the cluster itself. */
const rootCertificate = async (get: <T>(path: string) => Promise<T>) =>
  waitFor(async () => {
    const { data } = await get<{ data: Record<string, string> }>(`${objects}/configmaps/kube-root-ca.crt`);
    return data["ca.crt"]!;
  });

/** configMap, secret, downwardAPI and projected volumes. */
export const content: VolumeSuite = {
  title: "files that the agent writes",

  async prepare(n) {
    await n.configMap(
      "settings",
      { a: "one", b: "two" },
      { binaryData: { bin: base64(Uint8Array.of(0, 255, 10)) } },
    );
    await n.secret("keys", { user: "me", password: "first" });
    const trustBundle = await rootCertificate((path) => n.apiNode.get(path));
    const apiVersion = "certificates.k8s.io/v1beta1";
    await n.create(bundles, {
      apiVersion,
      kind: "ClusterTrustBundle",
      metadata: { name: "anchors" },
      spec: { trustBundle },
    });
    const volumes = [
      { name: "config", configMap: { name: "settings" } },
      {
        name: "picked",
        configMap: {
          name: "settings",
          defaultMode: 0o440,
          items: [
            { key: "a", path: "deep/er/a", mode: 0o400 },
            { key: "b", path: "b" },
          ],
        },
      },
      { name: "optional", configMap: { name: "later", optional: true } },
      { name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } },
      {
        name: "about",
        downwardAPI: {
          items: [
            field("labels", "metadata.labels"),
            field("annotations", "metadata.annotations"),
            field("name", "metadata.name"),
            field("color", "metadata.labels['color']"),
            {
              path: "memory",
              resourceFieldRef: { containerName: "c", resource: "limits.memory", divisor: "1Mi" },
            },
          ],
        },
      },
      {
        name: "all",
        projected: {
          defaultMode: 0o444,
          sources: [
            { configMap: { name: "settings", items: [{ key: "a", path: "config/a" }] } },
            { secret: { name: "keys", items: [{ key: "password", path: "password", mode: 0o400 }] } },
            { downwardAPI: { items: [field("labels", "metadata.labels")] } },
            { serviceAccountToken: { path: "token", audience: "somebody", expirationSeconds: 600 } },
            { clusterTrustBundle: { name: "anchors", path: "ca.pem" } },
          ],
        },
      },
    ];
    await n.addPod("content", {
      labels: { color: "red" },
      annotations: { note: "first" },
      spec: {
        volumes: volumes as never,
        containers: [
          {
            resources: { limits: { memory: "64Mi" } },
            volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` })),
          },
        ],
      },
    });
    await n.addPod("waits", {
      spec: {
        volumes: [{ name: "data", secret: { secretName: "s" } }],
        containers: [{ volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      },
    });
  },

  tests(node) {
    const read = (path: string) => node().inside("content", `cat /v/${path}`);
    const becomes = (path: string, text: string) =>
      waitFor(async () => assert.equal(await read(path), text, path), 20_000);
    const restarts = async () => (await node().apiNode.pod("content")).status?.containerStatuses?.[0];

    // parity: volume configMap, volume secret, volume downwardAPI, volume projected.configMap, volume projected.secret
    // parity: volume projected.downwardAPI, volume projected.clusterTrustBundle
    test("files have their modes, and only selected items exist", async () => {
      await node().runs("content");
      const list = (volume: string) =>
        node().inside("content", `cd /v/${volume} && find -L . -type f ! -path './..*'`);
      const files = async (volume: string) => (await list(volume)).split("\n").filter(Boolean).toSorted();
      assert.deepEqual(await files("config"), ["./a", "./b", "./bin"]);
      assert.deepEqual(await files("picked"), ["./b", "./deep/er/a"]);
      assert.deepEqual(await files("optional"), []);
      assert.deepEqual(await files("all"), ["./ca.pem", "./config/a", "./labels", "./password", "./token"]);
      const modes: [string, string][] = [
        ["config/a", "644"],
        ["picked/deep/er/a", "400"],
        ["picked/b", "440"],
        ["keys/user", "400"],
        ["all/config/a", "444"],
        ["all/password", "400"],
      ];
      for (const [path, mode] of modes)
        assert.equal(await node().inside("content", `stat -L -c %a /v/${path}`), mode, path);
      assert.equal(await read("config/a"), "one");
      assert.equal(await node().inside("content", "od -An -tx1 /v/config/bin"), " 00 ff 0a");
      assert.deepEqual([await read("keys/user"), await read("keys/password")], ["me", "first"]);
      assert.deepEqual(
        [await read("about/name"), await read("about/color"), await read("about/memory")],
        ["content", "red", "64"],
      );
      assert.match(await read("about/labels"), /^color="red"$/m);
      assert.match(await read("about/annotations"), /^note="first"$/m);
      assert.match(await read("all/ca.pem"), /^-----BEGIN CERTIFICATE-----\n/);
    });

    // parity: volume projected.serviceAccountToken
    test("a token is bound to its audience and its pod, and valid for the requested time", async () => {
      const [, claims] = (await read("all/token")).split(".");
      const { aud, exp, iat, ...more } = JSON.parse(Buffer.from(claims!, "base64url").toString());
      assert.deepEqual([aud, exp - iat], [["somebody"], 600]);
      assert.equal(more["kubernetes.io"].pod.name, "content");
    });

    test("a container cannot write to the files", async () => {
      for (const volume of ["config", "keys", "about", "all"])
        assert.match(await node().failsInside("content", `touch /v/${volume}/x`), /Read-only file system/);
    });

    test("all content except that of ConfigMaps is in memory, and limited to the pod's memory", async () => {
      const pod = (await node().runs("content")) as Pod;
      const inside = await node().mountsInside("content");
      const typeAt = (volume: string) => inside.find(({ path }) => path === `/v/${volume}`)?.fsType;
      for (const [plugin, volume] of [
        ["secret", "keys"],
        ["projected", "all"],
        ["downward-api", "about"],
      ] as const) {
        const { type, bsize, blocks } = await statfs(node().volumeDir(pod, plugin, volume));
        assert.deepEqual([type, bsize * blocks, typeAt(volume)], [tmpfsMagic, 64 << 20, "tmpfs"], volume);
      }
      const token = pod.spec.volumes?.find(({ name }) => name.startsWith("kube-api-access-"));
      assert.equal((await statfs(node().volumeDir(pod, "projected", token!.name))).type, tmpfsMagic);
      assert.notEqual(typeAt("config"), "tmpfs");
    });

    test("files are updated in place when their objects change, without a restart", async () => {
      const before = await restarts();
      await node().patch(`${objects}/configmaps/settings`, { data: { a: "uno", b: null, c: "three" } });
      await node().patch(`${objects}/secrets/keys`, { data: { password: base64("second") } });
      await node().patch(`${podsPath}/content`, {
        metadata: { labels: { color: "blue" }, annotations: { note: "second" } },
      });
      await node().configMap("later", { come: "after all" });
      await becomes("config/a", "uno");
      await becomes("config/c", "three");
      await waitFor(async () => node().failsInside("content", "test -e /v/config/b"));
      await becomes("keys/password", "second");
      await becomes("about/color", "blue");
      await becomes("optional/come", "after all");
      await becomes("all/config/a", "uno");
      await becomes("all/password", "second");
      await waitFor(async () => {
        assert.match(await read("about/labels"), /^color="blue"$/m);
        assert.match(await read("about/annotations"), /^note="second"$/m);
        assert.match(await read("all/labels"), /^color="blue"$/m);
      });
      const { containerID, restartCount } = (await restarts())!;
      assert.deepEqual([containerID, restartCount], [before?.containerID, 0]);
    });

    test("when a selected key is removed, the volume does not change, and an event reports it", async () => {
      const message =
        'MountVolume.SetUp failed for volume "picked" : configmap references non-existent config key: b';
      await node().hasEvent("content", "FailedMount", message, 90_000);
      assert.deepEqual([await read("picked/deep/er/a"), await read("picked/b")], ["one", "two"]);
      await node().patch(`${objects}/configmaps/settings`, { data: { b: "dos" } });
      await becomes("picked/b", "dos");
      await becomes("picked/deep/er/a", "uno");
    });

    test("a certificate that is added to a bundle appears in the file", async () => {
      const anchors = async () => (await read("all/ca.pem")).split("-----BEGIN CERTIFICATE-----").length - 1;
      assert.equal(await anchors(), 1);
      const kubeconfig = await readFile(join(node().apiNode.api.dir, "kubeconfig"), "utf8");
      const [, other] = /client-certificate-data"?: "?([^"\s]+)/.exec(kubeconfig)!;
      const trustBundle = `${await read("all/ca.pem")}\n${Buffer.from(other!, "base64").toString()}`;
      await node().patch(`${bundles}/anchors`, { spec: { trustBundle } });
      await waitFor(async () => assert.equal(await anchors(), 2), 20_000);
    });

    test("a missing object is reported by an event, and the pod waits for it and starts once it is created", async () => {
      const message = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
      await node().hasEvent("waits", "FailedMount", message);
      const waiting = (await node().apiNode.pod("waits")).status?.containerStatuses?.[0]?.state?.waiting;
      assert.equal(waiting?.reason, "ContainerCreating");
      const row = (await node().apiNode.agent.pods())?.find(({ name }) => name === "waits");
      assert.equal(row?.blockedOn, 'waiting for volume data: secret "s" not found');
      await node().secret("s", { k: "v" });
      await node().runs("waits", 20_000);
      assert.equal(await node().inside("waits", "cat /data/k"), "v");
    });
  },
};
