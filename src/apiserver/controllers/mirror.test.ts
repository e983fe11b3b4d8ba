import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { Objects } from "../definition.ts";
import { FakeObjects } from "../kinds/pods/fake-objects.ts";
import { Mirror } from "./mirror.ts";

function mirrorOf(objects: Pick<Objects, "list" | "follow">): {
  mirror: Mirror;
  clock: FakeClock;
  end: AbortController;
} {
  const clock = new FakeClock();
  const mirror = new Mirror({ objects, resources: ["pods"], clock, logger: silentLogger });
  return { mirror, clock, end: new AbortController() };
}
const names = (mirror: Mirror) => mirror.all("pods").map(({ metadata }) => metadata.name);
const ref = { resource: "pods", namespace: "", name: "a" };

describe("the mirror", () => {
  test("is ready when all is here, and follows from there", async () => {
    const objects = new FakeObjects();
    for (const name of ["a", "b", "c"]) objects.put("pods", { metadata: { name } });
    const { mirror, end } = mirrorOf(objects);
    await mirror.start(end.signal);
    assert.deepEqual(names(mirror), ["a", "b", "c"]);
    await objects.delete(ref);
    objects.put("pods", { metadata: { name: "d" } });
    await settle();
    assert.deepEqual(names(mirror), ["b", "c", "d"]);
    end.abort();
    await mirror.done;
  });

  test("knows its own writes before it receives them, and does not go back", async () => {
    const objects = new FakeObjects();
    const old = objects.put("pods", { metadata: { name: "a" } });
    const { mirror, end } = mirrorOf(objects);
    await mirror.start(end.signal);
    const newer = { metadata: { ...old.metadata, resourceVersion: "9" }, spec: 1 };
    mirror.note("pods", newer);
    assert.equal(mirror.get(ref), newer);
    mirror.note("pods", old);
    assert.equal(mirror.get(ref), newer);
    end.abort();
    await mirror.done;
  });

  test("does not bring back what was deleted meanwhile", async () => {
    const objects = new FakeObjects();
    const old = objects.put("pods", { metadata: { name: "a" } });
    const { mirror, end } = mirrorOf(objects);
    await mirror.start(end.signal);
    await objects.delete(ref);
    objects.put("pods", { metadata: { name: "b" } });
    await settle();
    mirror.note("pods", old);
    assert.equal(mirror.get(ref), undefined);
    end.abort();
    await mirror.done;
  });

  test("starts again after a failure, and reports that it is unhealthy until then", async () => {
    const objects = new FakeObjects();
    objects.put("pods", { metadata: { name: "a" } });
    let broken = true;
    const { mirror, clock, end } = mirrorOf({
      list: (resource) => objects.list(resource),
      follow: (resource, signal) => {
        if (broken) throw new Error("the store is away");
        return objects.follow(resource, signal);
      },
    });
    const started = mirror.start(end.signal);
    await clock.advance(500);
    assert.deepEqual(mirror.health(), { ok: false, reason: "pods: the store is away" });
    broken = false;
    await clock.advance(1_000);
    await started;
    assert.deepEqual(names(mirror), ["a"]);
    assert.deepEqual(mirror.health(), { ok: true });
    end.abort();
    await mirror.done;
  });
});
