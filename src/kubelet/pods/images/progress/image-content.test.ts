import assert from "node:assert/strict";
import { test } from "node:test";
import { plusMs, wallTime } from "../../../../lib/base/time.ts";
import { ImageContent } from "./image-content.ts";

const startedAt = wallTime("2026-01-01T00:00:00Z");
const none = new AbortController().signal;
const digest = (name: string) => `sha256:${Buffer.from(name).toString("hex").padStart(64, "0")}`;
const isManifest = { "containerd.io/gc.ref.content.config": digest("config") };

/** The content store of a runtime, which a test changes. Times are seconds after the start of the pull. */
class Store {
  readonly blobs = new Map<
    string,
    { at: number; size: number; labels: Record<string, string>; text: string }
  >();
  readonly ingests = new Map<string, number>();
  readonly repositories: string[] = [];
  finds = 0;

  /** A complete blob; its download, if any, is over. */
  put(name: string, at: number, size = 0): void {
    this.ingests.delete(digest(name));
    this.blobs.set(digest(name), { at, size, labels: {}, text: "" });
  }

  load(name: string, bytes: number): void {
    this.ingests.set(digest(name), bytes);
  }

  manifest(
    name: string,
    at: number,
    layers: readonly (readonly [name: string, size: number])[],
    text?: string,
  ) {
    const manifest = {
      config: { digest: digest("config"), size: 10 },
      layers: layers.map(([layer, size]) => ({ digest: digest(layer), size })),
    };
    this.blobs.set(digest(name), {
      at,
      size: 500,
      labels: isManifest,
      text: text ?? JSON.stringify(manifest),
    });
  }

  async ofRepository(host: string, path: string) {
    this.repositories.push(`${host} ${path}`);
    return [...this.blobs.keys()].map((key) => this.#blob(key)!);
  }

  async find(key: string) {
    this.finds++;
    return this.#blob(key);
  }

  async read(key: string) {
    return Buffer.from(this.blobs.get(key)?.text ?? "");
  }

  #blob(key: string) {
    const blob = this.blobs.get(key);
    if (!blob) return undefined;
    return {
      digest: key,
      bytes: blob.size,
      labels: blob.labels,
      createdAt: plusMs(startedAt, blob.at * 1000),
    };
  }
}

function pullOf(image = "registry.example:5000/team/app:1") {
  const store = new Store();
  const content = new ImageContent(image, startedAt);
  const find = (taken: readonly string[] = []) =>
    content.findManifest(store, store.ingests, new Set(taken.map(digest)), none);
  const sample = () => content.sample(store, store.ingests, none);
  return { store, content, find, sample };
}

const layers = [
  ["a", 100],
  ["b", 200],
  ["c", 300],
  ["d", 400],
] as const;

test("the labels of a repository name the host of the registry without its port", async () => {
  for (const [image, expected] of [
    ["registry.example:5000/team/app:1", "registry.example team/app"],
    ["nginx:1.29", "docker.io library/nginx"],
    [`quay.io/x/y@sha256:${"1".repeat(64)}`, "quay.io x/y"],
  ] as const) {
    const { store, find } = pullOf(image);
    await find();
    assert.deepEqual(store.repositories, [expected]);
  }
});

test("there is no sample before the manifest is there", async () => {
  const { find, sample, content } = pullOf();
  await find();
  assert.equal(content.manifest, undefined);
  assert.equal(await sample(), undefined);
});

test("bytes of complete blobs and of downloads are counted, missing blobs are of the total", async () => {
  const { store, find, sample } = pullOf();
  store.manifest("m", 1, layers);
  await find();
  store.put("config", 1);
  store.put("a", 2);
  store.load("b", 50);
  store.load("c", 30);
  assert.deepEqual(await sample(), { total: 1010, present: 0, received: 190, layers: { done: 1, total: 4 } });
  store.put("b", 3);
  store.load("c", 60);
  assert.deepEqual(await sample(), { total: 1010, present: 0, received: 370, layers: { done: 2, total: 4 } });
});

test("a layer that is downloaded between two samples counts", async () => {
  const { store, find, sample } = pullOf();
  store.manifest("m", 1, layers);
  await find();
  await sample();
  for (const name of ["config", "a", "b"]) store.put(name, 2);
  store.load("c", 1);
  assert.equal((await sample())?.received, 311);
  for (const name of ["c", "d"]) store.put(name, 3);
  store.ingests.clear();
  assert.deepEqual(await sample(), {
    total: 1010,
    present: 0,
    received: 1010,
    layers: { done: 4, total: 4 },
  });
});

test("blobs from before the pull are present, and not received", async () => {
  const { store, find, sample } = pullOf();
  store.manifest("m", 1, layers);
  for (const name of ["a", "b"]) store.put(name, -60);
  await find();
  store.load("c", 30);
  assert.deepEqual(await sample(), {
    total: 1010,
    present: 300,
    received: 30,
    layers: { done: 2, total: 4 },
  });
});

test("a layer that the runtime has only unpacked is not waited for", async () => {
  const { store, find, sample } = pullOf();
  store.manifest("m", 1, layers);
  await find();
  store.put("config", 1);
  store.load("c", 30);
  assert.equal((await sample())?.present, 0, "it may begin at this moment");
  assert.deepEqual(await sample(), {
    total: 1010,
    present: 300,
    received: 40,
    layers: { done: 2, total: 4 },
  });
});

test("a download that begins again has fewer bytes", async () => {
  const { store, find, sample } = pullOf();
  store.manifest("m", 1, layers);
  await find();
  store.load("a", 90);
  assert.equal((await sample())?.received, 90);
  store.ingests.clear();
  assert.equal((await sample())?.received, 90, "between two attempts");
  store.load("a", 5);
  assert.equal((await sample())?.received, 5);
});

test("layers that wait for their turn are not looked up", async () => {
  const { store, find, sample } = pullOf();
  store.manifest(
    "m",
    1,
    Array.from({ length: 100 }, (_, i) => [`layer ${i}`, 10]),
  );
  await find();
  await sample();
  store.finds = 0;
  store.put("config", 1);
  store.load("layer 0", 5);
  await sample();
  assert.equal(store.finds, 1, "the configuration");
  await sample();
  assert.equal(store.finds, 1);
});

test("an old manifest is of this pull if one of its layers is being downloaded", async () => {
  const { store, find, content } = pullOf();
  store.manifest("old", -3600, layers);
  await find();
  assert.equal(content.manifest, undefined);
  store.load("other", 10);
  await find();
  assert.equal(content.manifest, undefined);
  store.load("b", 10);
  await find();
  assert.equal(content.manifest, digest("old"));
});

test("of two new manifests of a repository, the one that no other pull has comes first", async () => {
  for (const taken of ["first", "second"]) {
    const { store, find, content } = pullOf();
    store.manifest("first", 1, layers);
    store.manifest("second", 2, layers);
    await find([taken]);
    assert.equal(content.manifest, digest(taken === "first" ? "second" : "first"));
  }
});

test("a manifest that cannot be read is ignored", async () => {
  for (const text of [
    "{",
    "[]",
    "{}",
    '{"layers":[{}]}',
    '{"config":{"digest":"x","size":-1},"layers":[]}',
    '{"config":{"digest":"x","size":1e999},"layers":[]}',
  ]) {
    const { store, find, content } = pullOf();
    store.manifest("m", 1, layers, text);
    await find();
    assert.equal(content.manifest, undefined, text);
  }
});

test("a layer that an image has twice is counted once", async () => {
  const { store, find, sample } = pullOf();
  store.manifest("m", 1, [
    ["a", 100],
    ["b", 200],
    ["a", 100],
  ]);
  await find();
  assert.equal((await sample())?.total, 310);
});
