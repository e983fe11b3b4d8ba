import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Transform } from "node:stream";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Explanations } from "../../src/kubelet/explain/pod-explanations.ts";
import type { PullProgress } from "../../src/lib/model/pull-progress.ts";
import { buildImage } from "../../src/single-node/oci-image.ts";
import { pauseElf } from "../../src/single-node/pause-elf.ts";
import { long } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { AgentProcess, freePort, get } from "./agent-process.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { Registry, registryUnavailable } from "./registry.ts";
import { waitFor } from "./wait-for.ts";

const MB = 1_000_000;
const bytesPerSecond = 10 * MB;
const sliceBytes = 64 * 1024;
/** 5 % of 300 MB, or what arrives in 1.5 s: the kubelet reads the bytes once a second. */
const tolerance = 15 * MB;

/** The network between registry and node: it has a rate, counts its bytes and can be cut. */
class Link {
  sent = 0;
  isCut = false;
  #freeAt = 0;

  readonly transform = (): Transform => {
    const send = (slice: Buffer) => this.#send(slice.length);
    return new Transform({
      async transform(chunk: Buffer, _encoding, done) {
        for (let at = 0; at < chunk.length; at += sliceBytes) {
          const slice = chunk.subarray(at, at + sliceBytes);
          await send(slice);
          this.push(slice);
        }
        done();
      },
    });
  };

  async #send(bytes: number): Promise<void> {
    this.#freeAt = Math.max(this.#freeAt, performance.now()) + (bytes / bytesPerSecond) * 1000;
    await pause(Math.max(0, this.#freeAt - performance.now()));
    while (this.isCut) await pause(20);
    this.sent += bytes;
  }
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const indexType = "application/vnd.oci.image.index.v1+json";

/** Layers of random bytes: they do not compress. */
const layersOf = (sizes: readonly number[]) =>
  sizes.map((bytes, i) => [{ type: "file", name: `layer-${i}`, data: randomBytes(bytes) } as const]);

const imageOf = (layers: ReturnType<typeof layersOf>) =>
  buildImage({
    names: ["localhost/test:1"],
    layers: [[{ type: "file", name: "pause", mode: 0o755, data: pauseElf() }], ...layers],
    config: { Entrypoint: ["/pause"] },
  });

/** A pod at one moment, as users see it. */
interface Sight {
  /** Seconds since the pod was created. */
  readonly at: number;
  /** In the table of `kubelet pods`. */
  readonly row: string;
  /** In `kubelet explain`. */
  readonly line: string;
  readonly details: readonly string[];
  readonly pull: PullProgress;
  /** The metric of the bytes that are there. */
  readonly metric: number | undefined;
  /** By the registry, in between the responses of the kubelet. */
  readonly sent: number;
}

const suite = (version: Parameters<Parameters<typeof describeOnContainerd>[1]>[0]) => {
  const link = new Link();
  let node: TestNode;
  let agent: AgentProcess;
  let registry: Registry;
  let readOnlyPort: number;
  const placed: string[] = [];

  before(async () => {
    registry = await Registry.start();
    registry.transform = link.transform;
    node = await startTestNode({ containerd: version });
    registry.configure(node);
    readOnlyPort = await freePort();
    agent = await AgentProcess.create(node, { serializeImagePulls: false, readOnlyPort });
    agent.start();
    await waitFor(async () => assert.ok(await agent.pods()));
  });
  after(async () => {
    await agent?.destroy();
    await registry?.stop();
  });
  afterEach(() => {
    link.isCut = false;
    for (const file of placed.splice(0)) rmSync(join(node.manifests, file));
  });

  function run(name: string, image: string): void {
    const container = { name: "c", image, imagePullPolicy: "IfNotPresent", command: ["/pause"] };
    placed.push(`${name}.json`);
    writeManifest(
      node.manifests,
      `${name}.json`,
      podManifest(name, { hostNetwork: true, containers: [container] }),
    );
  }

  async function explained(name: string) {
    const response = await get({
      socketPath: join(node.rootDir, "kubelet.sock"),
      path: `/explain?pod=${name}`,
    });
    return response?.status === 200 ? (JSON.parse(response.body) as Explanations).pods[0] : undefined;
  }

  async function metricOf(image: string): Promise<number | undefined> {
    const response = await get({ host: "127.0.0.1", port: readOnlyPort, path: "/metrics" });
    const line = `kubelet_ts_image_pull_done_bytes{image="${image}"} `;
    const found = response?.body.split("\n").find((text) => text.startsWith(line));
    return found === undefined ? undefined : Number(found.slice(line.length));
  }

  /** Looks at the pod until its image is there, or until a check ends it. */
  async function watch(name: string, isOver = (_: Sight) => false): Promise<Sight[]> {
    const startedAt = performance.now();
    const sights: Sight[] = [];
    for (;;) {
      const row = (await agent.pods())?.find((one) => one.name.startsWith(name));
      const explanation = await explained(name);
      const sent = link.sent;
      const pull = explanation?.pulls?.[0];
      if (row && explanation && pull) {
        const { waitsFor, details } = explanation;
        sights.push({
          at: (performance.now() - startedAt) / 1000,
          row: row.blockedOn,
          line: waitsFor?.text ?? "",
          details,
          pull,
          metric: await metricOf(pull.image),
          sent,
        });
        if (isOver(sights.at(-1)!)) return sights;
      } else if (row?.phase === "Running") return sights;
      assert.ok(performance.now() - startedAt < 120_000, `${name} is not running: ${JSON.stringify(row)}`);
      await pause(200);
    }
  }

  /** The progress is that of the registry, never goes back, and is in all places. */
  function check(sights: readonly Sight[], size: number, present: number, sentBefore: number): void {
    const known = sights.filter(({ pull }) => pull.bytes !== null);
    const inAll = known.find(
      ({ row, line, metric }) => row.includes(" % of ") && line === row && metric !== undefined,
    );
    assert.ok(inAll && inAll.pull.elapsedMs < 2000, `progress after ${inAll?.pull.elapsedMs} ms of the pull`);
    let before = 0;
    for (const { details, pull, metric, sent } of known) {
      const { done, total } = pull.bytes!;
      assert.ok(done >= before, `${done} bytes after ${before}`);
      before = done;
      assert.ok(Math.abs(total - size) < 0.1 * MB, `${total} bytes in an image of ${size}`);
      const off = done - present - (sent - sentBefore);
      assert.ok(Math.abs(off) < tolerance, `${done} bytes, where the registry has sent ${sent - sentBefore}`);
      assert.match(details[0]!, /[kM]B and \d+ of \d+ layers are there, from localhost:/);
      assert.ok(metric === undefined || metric >= done, `metric ${metric}`);
    }
  }

  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);

  test("a pull is shown in all places within 2 s, with the bytes that the registry counts", async () => {
    const sizes = Array.from({ length: 6 }, () => 6 * MB);
    await registry.push(imageOf(layersOf(sizes)), "small", "1");
    const before = link.sent;
    run("small", registry.nameOf("small", "1"));
    check(await watch("small"), sum(sizes), 0, before);
  });

  test("layers that are there count as done, and are not pulled again", async () => {
    const shared = layersOf([10 * MB, 10 * MB]);
    await registry.push(imageOf(shared), "shared", "1");
    run("base", registry.nameOf("shared", "1"));
    await watch("base");
    await registry.push(imageOf([...shared, ...layersOf([30 * MB])]), "shared", "2");
    const before = link.sent;
    run("derived", registry.nameOf("shared", "2"));
    const sights = await watch("derived");
    check(sights, 50 * MB, 20 * MB, before);
    assert.ok(sights.find(({ pull }) => pull.bytes)!.pull.bytes!.done >= 20 * MB);
    assert.ok(link.sent - before < 31 * MB);
  });

  test("an image of several platforms has the bytes of its platform", async () => {
    const image = imageOf(layersOf([15 * MB, 15 * MB]));
    await registry.push(image, "platforms", "own");
    const manifests = `http://127.0.0.1:${registry.port}/v2/platforms/manifests`;
    const manifest = await fetch(`${manifests}/${image.digest}`, { headers: { accept: manifestType } });
    const { length: size } = await manifest.text();
    const own = { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch };
    const platforms = [own, { os: "windows", architecture: "amd64" }];
    const index = {
      schemaVersion: 2,
      mediaType: indexType,
      manifests: platforms.map((platform) => {
        return { mediaType: manifestType, digest: image.digest, size, platform };
      }),
    };
    const headers = { "content-type": indexType };
    const put = await fetch(`${manifests}/1`, { method: "PUT", headers, body: JSON.stringify(index) });
    assert.equal(put.status, 201);
    const before = link.sent;
    run("platforms", registry.nameOf("platforms", "1"));
    check(await watch("platforms"), 30 * MB, 0, before);
  });

  test("two pods that need one image show the same pull", async () => {
    await registry.push(imageOf(layersOf([20 * MB, 20 * MB])), "both", "1");
    const before = link.sent;
    const image = registry.nameOf("both", "1");
    run("one", image);
    run("two", image);
    const sights = await Promise.all([watch("one"), watch("two")]);
    for (const each of sights) check(each, 40 * MB, 0, before);
    assert.ok(link.sent - before < 41 * MB);
  });

  test(
    long("an image of 300 MB: bytes within 5 %, and after a third the time left within 30 %"),
    async () => {
      const sizes = [150, 60, 40, 20, 15, 10, 5].map((size) => size * MB);
      await registry.push(imageOf(layersOf(sizes)), "large", "1");
      const before = link.sent;
      run("large", registry.nameOf("large", "1"));
      const sights = await watch("large");
      check(sights, sum(sizes), 0, before);
      const third = sights.find(({ pull: { bytes } }) => bytes && bytes.done >= bytes.total / 3)!;
      const end = sights.find(({ pull }) => pull.state === "unpacking") ?? sights.at(-1)!;
      const left = end.at - third.at;
      const predicted = (third.pull.leftMs ?? 0) / 1000;
      assert.ok(Math.abs(predicted - left) < 0.3 * left, `${predicted} s left, it took ${left} s`);
    },
  );

  test(long("a pull whose registry stops sending is named as stalled within 35 s, and goes on"), async () => {
    await registry.push(imageOf(layersOf([40 * MB, 40 * MB])), "cut", "1");
    run("cut", registry.nameOf("cut", "1"));
    const half = ({ pull: { bytes } }: Sight) => bytes !== null && bytes.done > bytes.total / 2;
    await watch("cut", half);
    link.isCut = true;
    const sights = await watch("cut", ({ row }) => row.includes("stalled"));
    const named = sights.at(-1)!;
    assert.ok(named.at > 29 && named.at < 35, `named after ${named.at} s`);
    assert.match(
      named.row,
      /^pulling .*, stalled: no byte from localhost:\d+ for 3\d s, \d+ % of 80 MB done$/,
    );
    link.isCut = false;
    const rest = await watch("cut");
    assert.ok(rest.some(({ pull }) => pull.state === "pulling"));
  });
};

if (registryUnavailable) describe("progress of image pulls", { skip: registryUnavailable }, () => {});
else describeOnContainerd("progress of image pulls", suite);
