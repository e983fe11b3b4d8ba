import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, mapsPath, type TestApi, testApi, widget, widgetsPath } from "./fixtures.ts";

interface WatchLine {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came.
  object: any;
}

/** The lines of a watch as they are received. */
async function openWatch(api: TestApi, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(api.url + path, { headers });
  assert.equal(response.status, 200);
  const lines = linesOf(response.body!);
  return {
    response,
    async next(): Promise<WatchLine | undefined> {
      const { value, done } = await lines.next();
      return done ? undefined : (JSON.parse(value) as WatchLine);
    },
    cancel: () => lines.return(undefined),
  };
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
  assert.equal(rest, "", "a watch ends between two lines");
}

const brief = (line: WatchLine | undefined) =>
  line && `${line.type} ${line.object.metadata?.name ?? ""}`.trim();

test("a watch sends the existing objects, and then the changes", async (t) => {
  const api = await testApi(t);
  await api.send("POST", mapsPath, configMap("a"));
  const watch = await openWatch(api, `${mapsPath}?watch=1`);
  assert.equal(brief(await watch.next()), "ADDED a");
  await api.send("PUT", `${mapsPath}/a`, configMap("a", { k: "v" }));
  const changed = await watch.next();
  assert.equal(brief(changed), "MODIFIED a");
  assert.equal(changed?.object.kind, "ConfigMap");
  await api.send("DELETE", `${mapsPath}/a`);
  const deleted = await watch.next();
  assert.equal(brief(deleted), "DELETED a");
  assert.ok(
    Number(deleted?.object.metadata.resourceVersion) > Number(changed?.object.metadata.resourceVersion),
  );
  await watch.cancel();
});

test("a watch continues from the version of a list", async (t) => {
  const api = await testApi(t);
  await api.send("POST", mapsPath, configMap("a"));
  const { resourceVersion } = (await api.send("GET", mapsPath)).body.metadata;
  await api.send("POST", mapsPath, configMap("b"));
  const watch = await openWatch(api, `${mapsPath}?watch=true&resourceVersion=${resourceVersion}`);
  assert.equal(brief(await watch.next()), "ADDED b");
  await watch.cancel();
});

test("a streamed list ends with a bookmark that marks its end", async (t) => {
  const api = await testApi(t);
  await api.send("POST", mapsPath, configMap("a"));
  const query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
  const watch = await openWatch(api, `${mapsPath}?${query}`);
  assert.equal(brief(await watch.next()), "ADDED a");
  const bookmark = await watch.next();
  assert.equal(bookmark?.type, "BOOKMARK");
  assert.equal(bookmark?.object.kind, "ConfigMap");
  assert.deepEqual(bookmark?.object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
  assert.equal(bookmark?.object.metadata.resourceVersion, String(api.store.currentVersion));
  await watch.cancel();
});

test("an object that starts or stops matching is added or deleted for the watcher", async (t) => {
  const api = await testApi(t);
  const labeled = (on: string) => configMap("a", {}, { labels: { on } });
  const watch = await openWatch(api, `${mapsPath}?watch=1&labelSelector=on%3Dyes`);
  await api.send("POST", mapsPath, labeled("no"));
  await api.send("PUT", `${mapsPath}/a`, labeled("yes"));
  await api.send("PUT", `${mapsPath}/a`, labeled("no"));
  assert.equal(brief(await watch.next()), "ADDED a");
  assert.equal(brief(await watch.next()), "DELETED a");
  await watch.cancel();
});

test("a single object is watched by a field selector, and by its path", async (t) => {
  const api = await testApi(t);
  for (const path of [`${mapsPath}?watch=1&fieldSelector=metadata.name%3Db`, `${mapsPath}/b?watch=1`]) {
    const watch = await openWatch(api, path);
    await api.send("POST", mapsPath, configMap("a"));
    await api.send("POST", mapsPath, configMap("b"));
    assert.equal(brief(await watch.next()), "ADDED b");
    await watch.cancel();
    await api.send("DELETE", mapsPath);
  }
});

test("a compacted version is an ERROR event of a watch, and a Status for a list", async (t) => {
  const api = await testApi(t, { storeOptions: { recentEvents: 1 } });
  await api.send("POST", mapsPath, configMap("a"));
  const { resourceVersion } = (await api.send("GET", mapsPath)).body.metadata;
  await api.send("POST", mapsPath, configMap("b"));
  await api.send("POST", mapsPath, configMap("c"));
  api.store.compact();
  const watch = await openWatch(api, `${mapsPath}?watch=1&resourceVersion=${resourceVersion}`);
  const line = await watch.next();
  assert.equal(line?.type, "ERROR");
  assert.deepEqual([line?.object.code, line?.object.reason], [410, "Expired"]);
  assert.equal(await watch.next(), undefined);
  const list = await api.send(
    "GET",
    `${mapsPath}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
  );
  assert.deepEqual([list.status, list.body.reason], [410, "Expired"]);
});

test("a watch ends after the requested time, with a bookmark", async (t) => {
  const api = await testApi(t);
  const watch = await openWatch(api, `${mapsPath}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1`);
  assert.equal((await watch.next())?.type, "BOOKMARK");
  assert.equal(await watch.next(), undefined);
});

test("all pages of a list show the same version", async (t) => {
  const api = await testApi(t);
  for (const name of ["a", "b", "c"]) await api.send("POST", mapsPath, configMap(name));
  const first = (await api.send("GET", `${mapsPath}?limit=2`)).body;
  assert.deepEqual([first.items.length, first.metadata.remainingItemCount], [2, 1]);
  await api.send("DELETE", `${mapsPath}/c`);
  const second = (await api.send("GET", `${mapsPath}?limit=2&continue=${first.metadata.continue}`)).body;
  assert.deepEqual([second.items.length, second.metadata.continue], [1, undefined]);
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
});

test("items of a list have no apiVersion and kind; an empty list has no items", async (t) => {
  const api = await testApi(t);
  assert.deepEqual((await api.send("GET", "/apis/things.example/v1/widgets")).body.items, []);
  await api.send("POST", widgetsPath, widget("w"));
  const { kind, apiVersion, items } = (await api.send("GET", "/apis/things.example/v1/widgets")).body;
  assert.deepEqual([kind, apiVersion], ["WidgetList", "things.example/v1"]);
  assert.deepEqual([items[0].kind, items[0].metadata.name], [undefined, "w"]);
});

const wrong = [
  ["labelSelector=a%20b%20c", 400],
  ["fieldSelector=spec.nothing%3Dx", 400],
  ["limit=many", 400],
  ["resourceVersion=x", 400],
  ["watch=1&resourceVersionMatch=NotOlderThan", 400],
  ["resourceVersion=999999999999999", 504],
] as const;
for (const [query, status] of wrong)
  test(`an invalid list: ${query}`, async (t) => {
    const api = await testApi(t, { storeOptions: { freshnessMs: 1 } });
    const response = await api.send("GET", `${mapsPath}?${query}`);
    assert.equal(response.status, status);
    assert.equal(response.body.kind, "Status");
  });

const tables = (
  _: unknown,
  objects: readonly { metadata: { name: string } }[],
  options: { withHeaders: boolean },
) => ({
  columnDefinitions: options.withHeaders ? [{ name: "Name" }] : [],
  rows: objects.map(({ metadata }) => ({ cells: [metadata.name] })),
});

test("objects, lists and watches are tables for clients that request them", async (t) => {
  const api = await testApi(t, { tables });
  const accept = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" };
  await api.send("POST", mapsPath, configMap("a"));
  const one = (await api.send("GET", `${mapsPath}/a`, undefined, accept)).body;
  assert.deepEqual([one.kind, one.apiVersion, one.rows], ["Table", "meta.k8s.io/v1", [{ cells: ["a"] }]]);
  const list = (await api.send("GET", mapsPath, undefined, accept)).body;
  assert.equal(list.metadata.resourceVersion, String(api.store.currentVersion));
  const watch = await openWatch(api, `${mapsPath}?watch=1`, accept);
  assert.equal((await watch.next())?.object.columnDefinitions.length, 1);
  await api.send("PUT", `${mapsPath}/a`, configMap("a", { k: "v" }));
  const second = await watch.next();
  assert.deepEqual([second?.object.columnDefinitions, second?.object.rows.length], [[], 1]);
  await watch.cancel();
});

test("only the metadata is sent to clients that request PartialObjectMetadata", async (t) => {
  const api = await testApi(t);
  await api.send("POST", mapsPath, configMap("a", { k: "v" }));
  const one = await api.send("GET", `${mapsPath}/a`, undefined, {
    accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  });
  assert.deepEqual(
    [one.body.kind, one.body.metadata.name, one.body.data],
    ["PartialObjectMetadata", "a", undefined],
  );
  const many = await api.send("GET", mapsPath, undefined, {
    accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  });
  assert.deepEqual([many.body.kind, many.body.items.length], ["PartialObjectMetadataList", 1]);
  const html = await api.send("GET", mapsPath, undefined, { accept: "text/html" });
  assert.deepEqual([html.status, html.body.reason], [406, "NotAcceptable"]);
});
