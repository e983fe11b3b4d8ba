import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { ImageManager } from "../../src/kubelet/pods/images/image-manager.ts";
import { PullCredentials } from "../../src/kubelet/pods/images/pull-credentials.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { buildImage } from "../../src/single-node/oci-image.ts";
import { pauseElf } from "../../src/single-node/pause-elf.ts";
import { aContainer, aPod } from "../builders/pods.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { containerOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, runtimeClient } from "./agent-process.ts";
import { AuthProxy } from "./auth-proxy.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { Registry, registryUnavailable } from "./registry.ts";
import { waitFor } from "./wait-for.ts";

/** An image that does nothing, with unique content. */
function image(content: string) {
  return buildImage({
    names: ["localhost/test:1"],
    layers: [
      [
        { type: "file", name: "pause", mode: 0o755, data: pauseElf() },
        { type: "file", name: "content", data: Buffer.from(content) },
      ],
    ],
    config: { Entrypoint: ["/pause"] },
  });
}

const user = { username: "puller", password: "let:me in" };

const suite = (version: ContainerdVersion) => {
  let node: TestNode;
  let agent: AgentProcess;
  let registry: Registry;
  let proxy: AuthProxy;
  let cri: CriClient;
  let pods: ReturnType<typeof podsOf>;
  const placed = new Set<string>();

  before(async () => {
    registry = await Registry.start();
    proxy = await AuthProxy.open(registry, user);
    node = await startTestNode({ containerd: version });
    registry.configure(node);
    proxy.configure(node);
    cri = runtimeClient(node.endpoint);
    // Off until a test enables it.
    agent = await AgentProcess.create(node, { serializeImagePulls: false, imageGCHighThresholdPercent: 100 });
    pods = podsOf(agent);
    const auths = {
      // The path makes it the first candidate.
      [`${proxy.host}/private`]: { username: "nobody", password: "x" },
      [`http://${proxy.host}/v2/`]: {
        auth: Buffer.from(`${user.username}:${user.password}`).toString("base64"),
      },
    };
    writeFileSync(join(node.rootDir, "config.json"), JSON.stringify({ auths }));
    agent.start();
    await waitFor(async () => assert.ok(await agent.pods()));
  });

  after(async () => {
    cri?.close();
    await agent?.destroy();
    proxy?.close();
    await registry?.stop();
  });

  afterEach(() => {
    for (const name of [...placed]) remove(name);
  });

  function run(name: string, imageName: string, imagePullPolicy = "IfNotPresent"): void {
    const container = { name: "c", image: imageName, imagePullPolicy, command: ["/pause"] };
    placed.add(name);
    writeManifest(
      node.manifests,
      `${name}.json`,
      podManifest(name, { hostNetwork: true, containers: [container] }),
    );
  }

  function remove(name: string): void {
    placed.delete(name);
    rmSync(join(node.manifests, `${name}.json`));
  }

  const exists = async (name: string) => (await cri.imageStatus({ image: name })) !== undefined;

  test("the node's own credentials are tried in order until one is accepted", async () => {
    await registry.push(image("private"), "private/app", "1");
    run("private", `${proxy.host}/private/app:1`);
    await pods.running("private");
    const right = `${user.username}:${user.password}`;
    assert.ok(proxy.credentials.indexOf("nobody:x") >= 0, proxy.credentials.join(" "));
    assert.ok(
      proxy.credentials.indexOf("nobody:x") < proxy.credentials.indexOf(right),
      proxy.credentials.join(" "),
    );
    assert.match(
      agent.log(),
      /Successfully pulled image \\"localhost:\d+\/private\/app:1\\" in [\d.]+m?s \([\d.]+m?s including waiting\)\. Image size: \d+ bytes\./,
    );
  });

  test("a pod's pull secret works where the node's own credentials do not", async () => {
    await registry.push(image("secret"), "team/secret", "1");
    const name = `${proxy.host}/team/secret:1`;
    const config = { auths: { [proxy.host]: user } };
    const data = { ".dockerconfigjson": Buffer.from(JSON.stringify(config)).toString("base64") };
    const events = { normal() {}, warning() {} };
    const credentials = new PullCredentials({
      secret: async (_namespace, secret) =>
        secret === "registry" ? { type: "kubernetes.io/dockerconfigjson", data } : undefined,
      node: { read: async () => [[proxy.host, { username: "nobody", password: "x" }]] },
      events,
    });
    const images = new ImageManager({
      images: cri,
      clock: systemClock,
      parallelPulls: 1,
      pullsPerSecond: 0,
      pullBurst: 1,
      events,
      credentials,
    });
    const ensure = (secret: string) =>
      images.ensure(
        aPod({ imagePullSecrets: [{ name: secret }] }),
        aContainer("c", { image: name }),
        {},
        { signal: AbortSignal.timeout(30_000), onPull: () => {} },
      );
    await assert.rejects(ensure("other"), { code: "ErrImagePull" });
    assert.equal(await exists(name), false);
    images.forget(aPod().metadata.uid);
    const { ref } = await ensure("registry");
    assert.equal((await cri.imageStatus({ image: name }))?.id, ref);
  });

  test("an unauthorized pull gets ErrImagePull, then ImagePullBackOff with the reason", async () => {
    await registry.push(image("closed"), "closed", "1");
    const other = await AuthProxy.open(registry, { username: "somebody", password: "else" });
    other.configure(node);
    try {
      run("closed", `${other.host}/closed:1`);
      await pods.waitForPod("closed", (row) => {
        const waiting = containerOf(row).state?.waiting;
        assert.equal(waiting?.reason, "ImagePullBackOff");
        assert.match(
          waiting?.message ?? "",
          /^Back-off pulling image "localhost:\d+\/closed:1": ErrImagePull: .*(401|authoriz)/s,
        );
      });
    } finally {
      other.close();
    }
  });

  test("an invalid image name has reason InvalidImageName", async () => {
    run("nameless", "Not/A/Name");
    await pods.waitForPod("nameless", (row) => {
      const waiting = containerOf(row).state?.waiting;
      assert.equal(waiting?.reason, "InvalidImageName");
      assert.match(waiting?.message ?? "", /couldn't parse image name "Not\/A\/Name"/);
    });
  });

  // parity: field imageGCHighThresholdPercent, field imageGCLowThresholdPercent, field imageMinimumGCAge
  test("on a full disk unused images are removed, images in use are kept, and pods still start", async () => {
    await registry.push(image("used"), "used", "1");
    await registry.push(image("unused"), "unused", "1");
    const [used, unused] = [registry.nameOf("used", "1"), registry.nameOf("unused", "1")];
    run("used", used);
    run("unused", unused);
    await pods.running("used");
    await pods.running("unused");
    remove("unused");
    await pods.gone("unused");
    assert.ok(await exists(unused), "the image was removed with its pods");
    await agent.end("SIGTERM");
    agent.start([
      "--image-gc-high-threshold=1",
      "--image-gc-low-threshold=0",
      "--minimum-image-ttl-duration=0s",
    ]);
    await waitFor(async () => assert.equal(await exists(unused), false));
    assert.ok(await exists(used), "the image of a container was removed");
    assert.ok(await exists(node.images.pause), "the image of sandboxes was removed");
    await waitFor(() =>
      assert.match(agent.log(), /Insufficient free disk space on the node's image filesystem/),
    );
    run("again", unused);
    await pods.running("again");
    await pods.running("used");
  });
};

if (registryUnavailable) describe("images", { skip: registryUnavailable }, () => {});
else describeOnContainerd("images", suite);
