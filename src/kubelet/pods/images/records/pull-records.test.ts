import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { seededRandom } from "../../../../../test/faults/seeded-random.ts";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import { createMetrics } from "../../../../lib/base/metrics.ts";
import { ImageSchema } from "../../../../lib/gen/runtime/v1/api_pb.js";
import type { TrackedCredential } from "../tracked-credential.ts";
import { PullRecords } from "./pull-records.ts";
import { recordFileName } from "./record-files.ts";
import { verificationPolicy } from "./verification-policy.ts";

let base = "";
let dirs = 0;
before(async () => {
  base = await mkdtemp(join(tmpdir(), "records-"));
});
after(() => rm(base, { recursive: true, force: true }));

const secret = (name: string, password = name): TrackedCredential => ({
  username: "u",
  password,
  source: { kind: "secret", uid: `uid-${name}`, namespace: "default", name },
});

interface Image {
  id: string;
  tags?: string[];
}

/** Each call of `startAgent` is a restart of the agent on the same disk. */
function setUp(policy = "NeverVerifyPreloadedImages") {
  const rootDir = join(base, String(++dirs));
  const clock = new FakeClock();
  const runtime = { images: [] as Image[], fails: false };
  const startAgent = async () => {
    const metrics = createMetrics();
    const stop = new AbortController();
    const records = new PullRecords({
      rootDir,
      policy: verificationPolicy(policy, ["r.io/free"]),
      images: {
        listImages: async () => {
          if (runtime.fails) throw new Error("no runtime");
          return runtime.images.map(({ id, tags = [] }) => create(ImageSchema, { id, repoTags: tags }));
        },
      },
      clock,
      logger: silentLogger,
      metrics,
      expected: { intents: 4, pulled: 4 },
    });
    await records.start(stop.signal);
    const mustPull = (image: string, imageRef: string, ...credentials: TrackedCredential[]) =>
      records.mustPull({ image, imageRef }, async () => credentials);
    const pull = async (image: string, imageRef: string, credential?: TrackedCredential) => {
      await records.recordPullIntent(image);
      await records.recordImagePulled({ image, imageRef }, credential);
    };
    return { records, metrics, stop, mustPull, pull };
  };
  const files = async (dir: "pulling" | "pulled") => readdir(join(rootDir, "image_manager", dir));
  return { rootDir, clock, runtime, startAgent, files };
}

test("a preloaded image is for all pods; a pulled one for those with the credentials", async () => {
  const { startAgent } = setUp();
  const { mustPull, pull } = await startAgent();
  assert.equal(await mustPull("r.io/a:1", "id-a"), false);
  await pull("r.io/a:1", "id-a", secret("s"));
  assert.equal(await mustPull("r.io/a:1", "id-a"), true);
  assert.equal(await mustPull("r.io/a:2", "id-a", secret("s")), false);
  assert.equal(await mustPull("r.io/a:1", "id-a", secret("other")), true);
  assert.equal(await mustPull("r.io/b:1", "id-a", secret("s")), true, "another name of the image");
  await pull("r.io/a:1", "id-a");
  assert.equal(await mustPull("r.io/a:1", "id-a"), false);
});

test("credentials of a pod are looked up only if access depends on them", async () => {
  const { startAgent } = setUp();
  const { records, pull } = await startAgent();
  const never = () => assert.fail("credentials were looked up");
  assert.equal(await records.mustPull({ image: "r.io/a", imageRef: "id-a" }, never), false);
  await pull("r.io/a", "id-a");
  assert.equal(await records.mustPull({ image: "r.io/a", imageRef: "id-a" }, never), false);
  assert.equal(await records.mustPull({ image: "r.io/b", imageRef: "id-a" }, never), true);
  await pull("r.io/c", "id-c", secret("s"));
  const fails = async () => Promise.reject(new Error("no API"));
  await assert.rejects(records.mustPull({ image: "r.io/c", imageRef: "id-c" }, fails), /no API/);
});

test("a recorded secret keeps access when its credential is renewed, and the credential has access in any secret", async () => {
  const { startAgent } = setUp();
  const first = await startAgent();
  await first.pull("r.io/a", "id-a", secret("s", "old"));
  assert.equal(await first.mustPull("r.io/a", "id-a", secret("s", "new")), false);
  const { mustPull } = await startAgent();
  assert.equal(await mustPull("r.io/a", "id-a", secret("t", "new")), false);
  assert.equal(await mustPull("r.io/a", "id-a", secret("v", "old")), true);
});

test("records survive a restart", async () => {
  const { startAgent, files } = setUp();
  const first = await startAgent();
  await first.pull("r.io/a:1", "id-a", secret("s"));
  await first.pull("r.io/b:1", "id-b");
  assert.deepEqual(await files("pulling"), []);
  const { mustPull } = await startAgent();
  assert.equal(await mustPull("r.io/a:1", "id-a"), true);
  assert.equal(await mustPull("r.io/a:1", "id-a", secret("s")), false);
  assert.equal(await mustPull("r.io/b:1", "id-b"), false);
});

test("files are named by the hash of their image, and only root may read them", async () => {
  const { startAgent, rootDir } = setUp();
  const { records } = await startAgent();
  await records.recordPullIntent("busybox");
  const dir = join(rootDir, "image_manager", "pulling");
  const name = "sha256-9d75f0d7c398df565d7ac04c6819b62d6d8f9560f5eb4672596ecd8f7e96ae91";
  assert.deepEqual(await readdir(dir), [name]);
  const path = join(dir, name);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(dir)).mode & 0o777, 0o700);
  assert.equal(JSON.parse(await readFile(path, "utf8")).image, "busybox");
});

const endTable: [rule: string, how: ("failed" | "unknown" | "continues")[], left: number, must: boolean][] = [
  ["a failed pull leaves no intent", ["failed"], 0, false],
  ["a pull with an unknown result leaves its intent", ["unknown"], 1, true],
  ["the intent is kept while another pull continues", ["continues", "failed"], 1, true],
  ["a failed pull after one with an unknown result leaves the intent", ["unknown", "failed"], 1, true],
];
for (const [rule, how, left, must] of endTable)
  test(`a pull that did not succeed: ${rule}`, async () => {
    const { startAgent, files } = setUp();
    const { records, mustPull } = await startAgent();
    for (const end of how) {
      await records.recordPullIntent("r.io/a");
      if (end !== "continues") await records.recordPullEnded("r.io/a", end);
    }
    assert.equal((await files("pulling")).length, left);
    assert.equal(await mustPull("r.io/a", "id-a", secret("s")), must);
    assert.equal(await mustPull("r.io/a:latest", "id-a", secret("s")), must, "not the same by another name");
  });

const restarts: [rule: string, present: Image[], runtimeFails: boolean, left: number][] = [
  ["the image is present", [{ id: "id-a", tags: ["docker.io/library/a:latest"] }], false, 0],
  ["the image is absent", [], false, 1],
  ["the runtime is unavailable", [{ id: "id-a", tags: ["docker.io/library/a:latest"] }], true, 1],
];
for (const [rule, present, fails, left] of restarts)
  test(`killed during a pull, ${rule}: every pod must pull the image, until one has pulled it`, async () => {
    const { startAgent, files, runtime } = setUp();
    await (await startAgent()).records.recordPullIntent("a");
    Object.assign(runtime, { images: present, fails });
    const { mustPull, pull } = await startAgent();
    assert.equal((await files("pulling")).length, left);
    for (const name of ["a", "a:latest", "docker.io/library/a"])
      assert.equal(await mustPull(name, "id-a", secret("s")), true, name);
    await pull("a", "id-a", secret("s"));
    assert.equal(await mustPull("a", "id-a", secret("s")), false);
    assert.deepEqual(await files("pulling"), []);
  });

test("the temporary file of an agent that was killed while writing is ignored and removed", async () => {
  const { startAgent, files, rootDir } = setUp();
  const first = await startAgent();
  await first.pull("r.io/a", "id-a", secret("s"));
  const tempFile = join(rootDir, "image_manager", "pulled", `${recordFileName("id-a")}.tmp`);
  await writeFile(tempFile, '{"kind":"ImageP');
  const { mustPull } = await startAgent();
  assert.equal(await mustPull("r.io/a", "id-a", secret("s")), false);
  assert.deepEqual(await files("pulled"), [recordFileName("id-a")]);
});

test("a corrupt record grants no access, until the image is pulled again", async () => {
  const { startAgent, rootDir } = setUp();
  for (const dir of ["pulled", "pulling"]) {
    await mkdir(join(rootDir, "image_manager", dir), { recursive: true });
    const subject = dir === "pulled" ? "id-a" : "r.io/b";
    await writeFile(join(rootDir, "image_manager", dir, recordFileName(subject)), "{");
  }
  const { mustPull, pull } = await startAgent();
  assert.equal(await mustPull("r.io/a", "id-a", secret("s")), true);
  assert.equal(await mustPull("r.io/b", "id-b", secret("s")), true);
  assert.equal(await mustPull("r.io/c", "id-c"), false);
  await pull("r.io/a", "id-a", secret("s"));
  assert.equal(await mustPull("r.io/a", "id-a", secret("s")), false);
});

test("records of an older version are read and written again", async () => {
  const { startAgent, rootDir } = setUp();
  const path = join(rootDir, "image_manager", "pulled", recordFileName("id-a"));
  await mkdir(join(rootDir, "image_manager", "pulled"), { recursive: true });
  const apiVersion = "kubelet.config.k8s.io/v1alpha1";
  const credentialMapping = { "r.io/a": { nodePodsAccessible: true } };
  const record = {
    kind: "ImagePulledRecord",
    apiVersion,
    lastUpdatedTime: "2026-01-01T00:00:00Z",
    imageRef: "id-a",
    credentialMapping,
  };
  await writeFile(path, JSON.stringify(record));
  const { mustPull } = await startAgent();
  assert.equal(await mustPull("r.io/a", "id-a"), false);
  const now = JSON.parse(await readFile(path, "utf8"));
  assert.deepEqual(now, { ...record, apiVersion: "kubelet.config.k8s.io/v1beta1" });
});

test("records are removed with their images, but not those of pulls after the images were listed", async () => {
  const { startAgent, files, clock } = setUp();
  const { records, pull } = await startAgent();
  await pull("r.io/a", "id-a");
  await pull("r.io/b", "id-b");
  await clock.advance(1000);
  const until = clock.wall();
  await pull("r.io/c", "id-c");
  await records.prune(["id-a"], until);
  assert.deepEqual(new Set(await files("pulled")), new Set(["id-a", "id-c"].map(recordFileName)));
});

test("records of removed images are garbage collected every 5 minutes", async () => {
  const { startAgent, files, clock, runtime } = setUp();
  const { pull, stop, records } = await startAgent();
  runtime.images = [{ id: "id-a" }];
  await pull("r.io/a", "id-a");
  await pull("r.io/b", "id-b");
  await clock.advance(4 * 60_000);
  assert.equal((await files("pulled")).length, 2);
  await clock.advance(2 * 60_000);
  while ((await files("pulled")).length > 1) await clock.advance(0);
  assert.deepEqual(await files("pulled"), [recordFileName("id-a")]);
  stop.abort();
  await records.done;
});

// parity: metric /metrics kubelet_imagemanager_image_mustpull_checks_total
test("checks and records are counted", async () => {
  const { startAgent } = setUp();
  const { mustPull, pull, metrics, records } = await startAgent();
  await mustPull("r.io/a", "id-a");
  await records.mustPull({ image: "r.io/a", imageRef: "id-a" }, async () => [], { isCounted: false });
  await pull("r.io/a", "id-a", secret("s"));
  await mustPull("r.io/a", "id-a", secret("s"));
  await mustPull("r.io/a", "id-a");
  await assert.rejects(
    records.mustPull({ image: "r.io/a", imageRef: "id-a" }, () => Promise.reject(new Error())),
  );
  await records.recordPullIntent("r.io/b");
  const name = "kubelet_imagemanager_image_mustpull_checks_total";
  assert.deepEqual(await metricValues(metrics, name), {
    "result=credentialPolicyAllowed": 1,
    "result=credentialRecordFound": 1,
    "result=mustAuthenticate": 1,
    "result=error": 1,
  });
  const gauges = {
    ondisk_pullintents: 1,
    ondisk_pulledrecords: 1,
    inmemory_pullintents_usage_percent: 25,
    inmemory_pulledrecords_usage_percent: 25,
  };
  for (const [gauge, value] of Object.entries(gauges))
    assert.deepEqual(await metricValues(metrics, `kubelet_imagemanager_${gauge}`), { "": value });
});

test("no image is pulled if its intent cannot be written", async () => {
  const { startAgent, rootDir } = setUp();
  const { records } = await startAgent();
  await rm(join(rootDir, "image_manager"), { recursive: true });
  await writeFile(join(rootDir, "image_manager"), "");
  await assert.rejects(
    records.recordPullIntent("r.io/a"),
    /^KubeletError: Failed to record image pull intent for container image "r.io\/a": ENOTDIR/,
  );
  await assert.rejects(startAgent(), /records of image pulls in .* cannot be used: ENOTDIR/);
});

test("the intent of a pull that could not be recorded is kept, so that its image does not count as preloaded", async () => {
  const { startAgent, rootDir, files } = setUp();
  const { mustPull, pull } = await startAgent();
  const dir = join(rootDir, "image_manager", "pulled");
  await rm(dir, { recursive: true });
  await writeFile(dir, "");
  await pull("r.io/a", "id-a", secret("s"));
  assert.deepEqual(await files("pulling"), [recordFileName("r.io/a")]);
  assert.equal(await mustPull("r.io/a", "id-a", secret("s")), true);
  await rm(dir);
  assert.equal(await (await startAgent()).mustPull("r.io/a", "id-a", secret("s")), true);
});

test("after kill -9 at any moment no pulled image is considered preloaded, and no file is corrupt", async () => {
  const { below } = seededRandom(7);
  const writer = fileURLToPath(new URL("../../../../../test/faults/image-record-writer.ts", import.meta.url));
  for (let round = 0; round < 6; round++) {
    const { rootDir, startAgent, files } = setUp();
    const child = spawn(process.execPath, [writer, rootDir], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    const enough = 5 + below(60);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.split("\n").length > enough) child.kill("SIGKILL");
    });
    await new Promise((resolve) => child.once("close", resolve));
    const pulled = output.split("\n").slice(0, -1);
    assert.ok(pulled.length >= enough);
    const { mustPull, metrics } = await startAgent();
    for (const n of pulled) {
      assert.equal(await mustPull(`r.io/i${n}`, `id-${n}`), true, `image ${n} is considered preloaded`);
      const again = await mustPull(`r.io/i${n}`, `id-${n}`, secret("s"));
      const hasIntent = (await files("pulling")).includes(recordFileName(`r.io/i${n}`));
      // Both if it was killed between the two: the intent is removed last.
      assert.ok(!again || hasIntent, `image ${n} has a record or an intent`);
    }
    assert.equal(
      (await metricValues(metrics, "kubelet_imagemanager_image_mustpull_checks_total"))["result=error"],
      undefined,
    );
  }
});
