import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import { changeOf, decodeJson, podManifest, seeded } from "./fake-manifests.ts";
import { ManifestDir } from "./manifest-dir.ts";
import { ManifestStore, type ManifestStoreOptions } from "./manifest-store.ts";

function directory(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "manifests-"));
  t.after(() => rmSync(dir, { recursive: true }));
  return join(dir, "applied");
}

async function opened(dir: string, options: Partial<ManifestStoreOptions> = {}): Promise<ManifestStore> {
  const store = new ManifestStore({ dir, decode: decodeJson, logger: silentLogger, ...options });
  await store.open();
  return store;
}

/** Which image each manifest's pod has. */
function images(store: ManifestStore): Record<string, string | undefined> {
  return Object.fromEntries(store.list().map(({ name, pods }) => [name, pods[0]?.spec.containers[0]?.image]));
}

test("stored manifests survive a restart, removed ones do not", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  let changes = 0;
  store.onChange(() => changes++);
  assert.equal((await store.put("a", podManifest("a"))).kind, "created");
  assert.equal((await store.put("b", podManifest("b"))).kind, "created");
  assert.equal((await store.put("a", podManifest("a", "img:2"))).kind, "replaced");
  assert.equal((await store.put("a", podManifest("a", "img:2"))).kind, "unchanged");
  assert.equal(await store.remove("b"), true);
  assert.equal(await store.remove("b"), false);
  assert.equal(changes, 4);
  const again = await opened(dir);
  assert.deepEqual(images(again), { a: "img:2" });
  assert.deepEqual(again.pods(), store.pods());
  assert.deepEqual(await again.read("a"), podManifest("a", "img:2"));
});

test("an invalid manifest changes nothing and the error names the field", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  await store.put("a", podManifest("a"));
  let changes = 0;
  store.onChange(() => changes++);
  const result = await store.put(
    "a",
    Buffer.from('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[]}}'),
  );
  assert.equal(result.kind, "invalid");
  assert.equal(result.kind === "invalid" && result.problems[0]?.field, "spec.containers");
  assert.equal((await store.put("c", Buffer.from("{"))).kind, "invalid");
  assert.equal(changes, 0);
  assert.deepEqual(images(await opened(dir)), { a: "img:1" });
});

test("two manifests cannot define the same pod", async (t) => {
  const store = await opened(directory(t));
  await store.put("a", podManifest("web"));
  assert.deepEqual(await store.put("b", podManifest("web", "img:2")), {
    kind: "conflict",
    pod: "default/web-node",
    holder: 'manifest "a"',
  });
  await store.remove("a");
  assert.equal((await store.put("b", podManifest("web", "img:2"))).kind, "created");
});

test("the number of manifests is limited; existing ones can still be changed", async (t) => {
  const store = await opened(directory(t), { maxManifests: 2 });
  await store.put("a", podManifest("a"));
  await store.put("b", podManifest("b"));
  assert.deepEqual(await store.put("c", podManifest("c")), { kind: "full", max: 2 });
  assert.equal((await store.put("b", podManifest("b", "img:2"))).kind, "replaced");
});

test("a partially written file is not a manifest, and one that became invalid is kept without a pod", async (t) => {
  const dir = directory(t);
  await (await opened(dir)).put("a", podManifest("a"));
  writeFileSync(join(dir, ".draft"), "half");
  writeFileSync(join(dir, "bad"), "{");
  writeFileSync(join(dir, "twin"), podManifest("a"));
  const store = await opened(dir);
  assert.deepEqual(images(store), { a: "img:1", bad: undefined, twin: undefined });
  assert.equal(store.get("bad")?.problems[0]?.message, "no JSON");
  assert.match(store.get("twin")?.problems[0]?.message ?? "", /is already in manifest "a"/);
  assert.deepEqual(readdirSync(dir), ["a", "bad", "twin"]);
  assert.equal((await store.put("bad", podManifest("bad"))).kind, "replaced");
});

test("a put that cannot be written changes nothing, and the next one works", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  await store.put("a", podManifest("a"));
  rmSync(dir, { recursive: true });
  writeFileSync(dir, "not a directory");
  await assert.rejects(store.put("b", podManifest("b")), { code: "EEXIST" });
  await assert.rejects(store.put("a", podManifest("a", "img:2")), { code: "EEXIST" });
  await assert.rejects(store.remove("a"), { code: "ENOTDIR" });
  assert.deepEqual(images(store), { a: "img:1" }, "a manifest that cannot be read still exists");
  rmSync(dir);
  assert.equal((await store.put("b", podManifest("b"))).kind, "created");
});

test("nothing is created on disk before the first manifest", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  assert.equal(await store.remove("a"), false);
  assert.equal((await store.put("a", Buffer.from("{"))).kind, "invalid");
  assert.equal(existsSync(dir), false);
  await store.put("a", podManifest("a"));
  assert.equal(statSync(dir).mode & 0o777, 0o700);
});

test("a pod from another source is rejected, and the error names the source", async (t) => {
  const store = await opened(directory(t), {
    otherSourceOf: (pod) => (pod.metadata.name === "web-node" ? "file" : undefined),
  });
  assert.deepEqual(await store.put("a", podManifest("web")), {
    kind: "conflict",
    pod: "default/web-node",
    holder: 'the pods of source "file"',
  });
  assert.equal((await store.put("a", podManifest("other"))).kind, "created");
});

test("a change before the directory was read waits, and existing manifests count", async (t) => {
  const dir = directory(t);
  await (await opened(dir)).put("a", podManifest("a"));
  const store = new ManifestStore({ dir, decode: decodeJson, logger: silentLogger });
  const put = store.put("b", podManifest("a"));
  const removed = store.remove("a");
  await store.open();
  assert.equal((await put).kind, "conflict");
  assert.equal(await removed, true);
});

test("a removal that may not be durable is repeated when it is requested again", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  await store.put("a", podManifest("a"));
  const remove = t.mock.method(ManifestDir.prototype, "remove", async () => {
    rmSync(join(dir, "a"));
    throw new Error("sync failed");
  });
  await assert.rejects(store.remove("a"), /sync failed/);
  assert.deepEqual(images(store), {});
  assert.equal(remove.mock.callCount(), 1);
  remove.mock.restore();
  const again = t.mock.method(ManifestDir.prototype, "remove");
  assert.equal(await store.remove("a"), false);
  assert.equal(again.mock.callCount(), 1);
  assert.equal(await store.remove("a"), false);
  assert.equal(again.mock.callCount(), 1, "and no more after that");
});

test("a put that may not be durable is repeated when it is requested again", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  await store.put("a", podManifest("a"));
  const write = t.mock.method(ManifestDir.prototype, "write", async (_name: string, bytes: Uint8Array) => {
    writeFileSync(join(dir, "a"), bytes);
    throw new Error("sync failed");
  });
  await assert.rejects(store.put("a", podManifest("a", "img:2")), /sync failed/);
  assert.deepEqual(images(store), { a: "img:2" });
  write.mock.restore();
  assert.equal((await store.put("a", podManifest("a", "img:2"))).kind, "replaced");
  assert.equal((await store.put("a", podManifest("a", "img:2"))).kind, "unchanged");
});

test("a thousand concurrent puts and removals end in the last requested state, across restarts", async (t) => {
  const dir = directory(t);
  const random = seeded(7);
  const expected: Record<string, string> = {};
  let store = await opened(dir);
  let version = 0;
  while (version < 1000) {
    const batch: Promise<unknown>[] = [];
    for (let n = 1 + random(40); n > 0; n--) {
      const { name, version: put } = changeOf(random, ++version);
      if (put === undefined) {
        batch.push(store.remove(name));
        delete expected[name];
      } else if (random(10) === 0) batch.push(store.put(name, Buffer.from("{ bad")));
      else {
        batch.push(store.put(name, podManifest(name, `img:${put}`)));
        expected[name] = `img:${put}`;
      }
    }
    await Promise.all(batch);
    assert.deepEqual(images(store), expected);
    if (random(5) === 0) store = await opened(dir);
  }
  assert.deepEqual(images(await opened(dir)), expected);
});

test("acknowledged changes survive kill -9 at any moment", async (t) => {
  const dir = directory(t);
  const expected: Record<string, string> = {};
  const random = seeded(11);
  for (let round = 1; round <= 6; round++) {
    const acknowledged = await runUntilKilled(dir, round, 1 + random(120));
    const changes = seeded(round);
    const apply = (version: number) => {
      const change = changeOf(changes, version);
      if (change.version === undefined) delete expected[change.name];
      else expected[change.name] = `img:${change.version}`;
    };
    for (let version = 1; version <= acknowledged; version++) apply(version);
    const found = images(await opened(dir));
    // The change in progress may have been stored, and no other.
    if (JSON.stringify(found) !== JSON.stringify(sorted(expected))) apply(acknowledged + 1);
    assert.deepEqual(found, expected, `round ${round}, ${acknowledged} acknowledged`);
  }
});

function sorted(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Kills it after this many acknowledgments; the actual number is known when it has exited. */
async function runUntilKilled(dir: string, seed: number, atLeast: number): Promise<number> {
  const script = join(import.meta.dirname, "fake-put-process.ts");
  const child = spawn(process.execPath, ["--no-warnings", script, dir, `${seed}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let acknowledged = 0;
  for await (const bytes of child.stdout as AsyncIterable<Buffer>) {
    acknowledged += bytes.length;
    if (acknowledged >= atLeast) child.kill("SIGKILL");
  }
  return acknowledged;
}

test("a manifest is replaced atomically: a reader of the old file reads it completely", async (t) => {
  const dir = directory(t);
  const store = await opened(dir);
  await store.put("a", podManifest("a"));
  const old = await open(join(dir, "a"));
  t.after(() => old.close());
  await store.put("a", podManifest("a", "img:2"));
  assert.deepEqual(await old.readFile(), podManifest("a"));
});
