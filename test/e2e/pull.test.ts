import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { buildImage } from "../../src/single-node/oci-image.ts";
import { pauseElf } from "../../src/single-node/pause-elf.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerOf, podsOf } from "./agent-pods.ts";
import { AgentProcess } from "./agent-process.ts";
import { CliProcess } from "./cli-process.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { Registry, type RegistryRequest, registryUnavailable } from "./registry.ts";
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

const suite = (version: Parameters<Parameters<typeof describeOnContainerd>[1]>[0]) => {
  let node: TestNode;
  let agent: AgentProcess;
  let registry: Registry;
  let pods: ReturnType<typeof podsOf>;
  const placed: string[] = [];

  before(async () => {
    registry = await Registry.start();
    node = await startTestNode({ containerd: version });
    registry.configure(node);
    agent = await AgentProcess.create(node, { serializeImagePulls: false });
    pods = podsOf(agent);
    agent.start();
    await waitFor(async () => assert.ok(await agent.pods()));
  });

  after(async () => {
    await agent?.destroy();
    await registry?.stop();
  });

  afterEach(() => {
    registry.gate = () => Promise.resolve();
    for (const file of placed.splice(0)) rmSync(join(node.manifests, file));
  });

  function run(name: string, repository: string, imagePullPolicy: string): void {
    const container = {
      name: "c",
      image: registry.nameOf(repository, "1"),
      imagePullPolicy,
      command: ["/pause"],
    };
    placed.push(`${name}.json`);
    writeManifest(
      node.manifests,
      `${name}.json`,
      podManifest(name, { hostNetwork: true, containers: [container] }),
    );
  }

  const imageOf = async (name: string) => containerOf(await pods.running(name)).imageID;

  test("IfNotPresent pulls a missing image, and sends no request for an existing one", async () => {
    await registry.push(image("there"), "there", "1");
    run("first", "there", "IfNotPresent");
    await pods.running("first");
    assert.ok(registry.requestsFor("there").length > 0);
    const requestsBefore = registry.requests.length;
    run("second", "there", "IfNotPresent");
    await pods.running("second");
    assert.equal(registry.requests.length, requestsBefore);
  });

  test("Always queries the registry each time, and runs the current image of the tag", async () => {
    await registry.push(image("old"), "moving", "1");
    run("old", "moving", "Always");
    const old = await imageOf("old");
    const requestsBefore = registry.requestsFor("moving").length;
    run("same", "moving", "Always");
    assert.equal(await imageOf("same"), old);
    const again = registry.requestsFor("moving").slice(requestsBefore);
    assert.ok(again.length > 0, "there was no request");
    assert.deepEqual(
      again.filter((r) => r.kind === "blobs" && r.method === "GET"),
      [],
      "existing layers were fetched again",
    );
    await registry.push(image("new"), "moving", "1");
    run("stale", "moving", "IfNotPresent");
    assert.equal(await imageOf("stale"), old);
    run("new", "moving", "Always");
    assert.notEqual(await imageOf("new"), old);
  });

  test("Never sends no request, whether the image exists or not", async () => {
    await registry.push(image("distant"), "distant", "1");
    const requestsBefore = registry.requests.length;
    run("present", "there", "Never");
    run("absent", "distant", "Never");
    await pods.running("present");
    await pods.waitForPod("absent", (row) =>
      assert.equal(containerOf(row).state?.waiting?.reason, "ErrImageNeverPull"),
    );
    assert.equal(registry.requests.length, requestsBefore);
  });

  test("the image of a container is pulled while an init container runs", async () => {
    await registry.push(image("early"), "early", "1");
    placed.push("early.json");
    const container = (name: string, repository: string) => {
      const image = registry.nameOf(repository, "1");
      return { name, image, imagePullPolicy: "IfNotPresent", command: ["/pause"] };
    };
    const spec = {
      hostNetwork: true,
      initContainers: [container("init", "there")],
      containers: [container("c", "early")],
    };
    writeManifest(node.manifests, "early.json", podManifest("early", spec));
    const isLayer = ({ kind, method }: RegistryRequest) => kind === "blobs" && method === "GET";
    await waitFor(() => assert.ok(registry.requestsFor("early").some(isLayer)));
    const row = await pods.waitForPod("early", (one) => assert.ok(containerOf(one, "init").state?.running));
    assert.equal(containerOf(row).state?.waiting?.reason, "PodInitializing");
  });

  const three = ["p0", "p1", "p2"];

  // parity: field serializeImagePulls
  test("pulls run in parallel with serializeImagePulls: false", async () => {
    const waiting = new Set<string>();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    // No response is sent before all three requests have arrived: serial pulls would never finish.
    registry.gate = ({ repository }) => {
      waiting.add(repository);
      return answered;
    };
    for (const name of three) await registry.push(image(name), `wide/${name}`, "1");
    for (const name of three) run(name, `wide/${name}`, "IfNotPresent");
    await waitFor(() => assert.equal(waiting.size, three.length));
    await pods.waitForPod("p0", (row) =>
      assert.match(row.blockedOn, /^pulling (?:image )?localhost:\d+\/wide\/p0:1\b/),
    );
    answer();
    for (const name of three) await pods.running(name);
  });

  test("ErrImagePull and ImagePullBackOff alternate for a missing tag, and the pod runs once it exists", async (t) => {
    const watch = new CliProcess(["pods", "-w", "-o", "json", `--root-dir=${node.rootDir}`]);
    t.after(() => watch.child.kill());
    await waitFor(() => assert.match(watch.stdout, /\n/));
    run("missing", "missing", "IfNotPresent");
    run("absent", "absent", "IfNotPresent");
    const name = registry.nameOf("missing", "1");
    const row = await pods.waitForPod("missing", (row) => {
      const waiting = containerOf(row).state?.waiting;
      assert.equal(waiting?.reason, "ImagePullBackOff");
      const begin = `Back-off pulling image "${name}": ErrImagePull: `;
      assert.ok(waiting?.message?.startsWith(begin), waiting?.message);
      assert.equal(row.blockedOn, waiting?.message);
    });
    assert.equal(row.phase, "Pending");
    const tries = registry.requestsFor("missing").length;
    await registry.push(image("late"), "missing", "1");
    assert.equal(registry.requestsFor("missing").length, tries, "a pull was retried during the back-off");
    assert.equal((await pods.running("missing")).restarts, 0);
    const reasons = ["ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"];
    await waitFor(() => assert.deepEqual(reasonsOf("absent", watch.stdout).slice(0, 4), reasons));
  });

  /** The waiting reasons of a pod's container, in order, from the output of `pods -w -o json`. */
  function reasonsOf(name: string, output: string): string[] {
    const lines = output.split("\n").slice(0, -1);
    const rows = lines.flatMap((line) =>
      (JSON.parse(line) as PodRow[]).filter((r) => r.name.startsWith(`${name}-`)),
    );
    const reasons = rows.map((r) => r.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? "");
    return reasons.filter((reason, i) => /Pull/.test(reason) && reason !== reasons[i - 1]);
  }

  // parity: field serializeImagePulls
  test("pulls run one at a time with serializeImagePulls: true", async () => {
    for (const name of three) await registry.push(image(`${name} again`), `narrow/${name}`, "1");
    await agent.end("SIGTERM");
    agent.start(["--serialize-image-pulls=true"]);
    const mark = registry.requests.length;
    const release = Promise.withResolvers<void>();
    registry.gate = () => release.promise;
    for (const name of three) run(`n${name}`, `narrow/${name}`, "IfNotPresent");
    for (const name of three)
      await pods.waitForPod(`n${name}`, (row) => assert.match(row.blockedOn, /^pulling /));
    await waitFor(() => assert.ok(registry.requests.length > mark));
    release.resolve();
    for (const name of three) await pods.running(`n${name}`);
    const order = registry.requests.slice(mark).map((r) => r.repository);
    const sequence = order.filter((repository, i) => repository !== order[i - 1]);
    assert.equal(
      sequence.length,
      three.length,
      `a pull began before the previous one was done: ${order.join(" ")}`,
    );
  });
};

if (registryUnavailable) describe("pulling images", { skip: registryUnavailable }, () => {});
else describeOnContainerd("pulling images", suite);
