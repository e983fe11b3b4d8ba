import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { FakeObjects } from "../../kinds/pods/fake-objects.ts";
import { ObjectCache } from "../object-cache.ts";
import { collectGarbage } from "./collector.ts";

test("an owner that is not in the cache yet is looked up before its dependents are deleted", async () => {
  const objects = new FakeObjects();
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n", uid: "uid-n" }];
  objects.put("pods", { metadata: { name: "p", ownerReferences } });
  const cache = new ObjectCache({
    objects: {
      list: (resource) => objects.list(resource),
      listAndWatch: (resource, signal) => objects.listAndWatch(resource, signal),
    },
    resources: ["pods", "nodes"],
    clock: new FakeClock(),
    logger: silentLogger,
  });
  const end = new AbortController();
  await cache.start(end.signal);
  // From here on the cache receives nothing.
  end.abort();
  await cache.done;
  const collect = () =>
    collectGarbage({
      objects,
      cache,
      resources: ["pods", "nodes"],
      kindOf: () => ({ resource: "nodes", namespaced: false }),
    });
  const pod = { resource: "pods", namespace: "", name: "p" };
  objects.put("nodes", { metadata: { name: "n", uid: "uid-n" } });
  await collect();
  assert.notEqual(await objects.get(pod), undefined);
  await objects.delete({ resource: "nodes", namespace: "", name: "n" });
  await collect();
  assert.equal(await objects.get(pod), undefined);
});
