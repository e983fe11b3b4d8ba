import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { Objects } from "../definition.ts";
import { FakeObjects } from "../kinds/pods/fake-objects.ts";
import { ObjectCache } from "./object-cache.ts";

function cacheOf(objects: Pick<Objects, "list" | "listAndWatch">): {
  cache: ObjectCache;
  clock: FakeClock;
  end: AbortController;
} {
  const clock = new FakeClock();
  const cache = new ObjectCache({ objects, resources: ["pods"], clock, logger: silentLogger });
  return { cache, clock, end: new AbortController() };
}
const names = (cache: ObjectCache) => cache.all("pods").map(({ metadata }) => metadata.name);
const ref = { resource: "pods", namespace: "", name: "a" };

describe("the object cache", () => {
  test("is ready when it has synced, and follows changes", async () => {
    const objects = new FakeObjects();
    for (const name of ["a", "b", "c"]) objects.put("pods", { metadata: { name } });
    const { cache, end } = cacheOf(objects);
    await cache.start(end.signal);
    assert.deepEqual(names(cache), ["a", "b", "c"]);
    await objects.delete(ref);
    objects.put("pods", { metadata: { name: "d" } });
    await settle();
    assert.deepEqual(names(cache), ["b", "c", "d"]);
    end.abort();
    await cache.done;
  });

  test("contains own writes before the watch delivers them, and never returns to older versions", async () => {
    const objects = new FakeObjects();
    const old = objects.put("pods", { metadata: { name: "a" } });
    const { cache, end } = cacheOf(objects);
    await cache.start(end.signal);
    const newer = { metadata: { ...old.metadata, resourceVersion: "9" }, spec: 1 };
    cache.record("pods", newer);
    assert.equal(cache.get(ref), newer);
    cache.record("pods", old);
    assert.equal(cache.get(ref), newer);
    end.abort();
    await cache.done;
  });

  test("does not add an object again that was deleted in the meantime", async () => {
    const objects = new FakeObjects();
    const old = objects.put("pods", { metadata: { name: "a" } });
    const { cache, end } = cacheOf(objects);
    await cache.start(end.signal);
    await objects.delete(ref);
    objects.put("pods", { metadata: { name: "b" } });
    await settle();
    cache.record("pods", old);
    assert.equal(cache.get(ref), undefined);
    end.abort();
    await cache.done;
  });

  test("lists and watches again after a failure, and is unhealthy until then", async () => {
    const objects = new FakeObjects();
    objects.put("pods", { metadata: { name: "a" } });
    let broken = true;
    const { cache, clock, end } = cacheOf({
      list: (resource) => objects.list(resource),
      listAndWatch: (resource, signal) => {
        if (broken) throw new Error("the store is unavailable");
        return objects.listAndWatch(resource, signal);
      },
    });
    const started = cache.start(end.signal);
    await clock.advance(500);
    assert.deepEqual(cache.health(), { ok: false, reason: "pods: the store is unavailable" });
    broken = false;
    await clock.advance(1_000);
    await started;
    assert.deepEqual(names(cache), ["a"]);
    assert.deepEqual(cache.health(), { ok: true });
    end.abort();
    await cache.done;
  });

  test("watches that fail leave no listener at the signal", async () => {
    const failing = {
      list: async () => [],
      listAndWatch: () => {
        throw new Error("the store is unavailable");
      },
    };
    const { cache, clock, end } = cacheOf(failing);
    void cache.start(end.signal);
    await clock.advance(500);
    const before = getEventListeners(end.signal, "abort").length;
    await clock.advance(60_000);
    assert.equal(getEventListeners(end.signal, "abort").length, before);
    end.abort();
    await cache.done;
  });
});
