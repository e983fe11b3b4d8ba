import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { AppliedSource } from "./applied-source.ts";

class FakeManifests {
  all: Pod[] = [];
  opened = Promise.resolve();
  readonly listeners = new Set<() => void>();
  open() {
    return this.opened;
  }
  pods() {
    return this.all;
  }
  list() {
    return [{ name: "bad", problems: [{ line: 3, field: "spec", message: "is wrong" }] }];
  }
  onChange(listener: () => void) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
  change(...pods: Pod[]) {
    this.all = pods;
    for (const listener of this.listeners) listener();
  }
}

const pod = (name: string) => fakePod({ metadata: { name } });

function startSource() {
  const manifests = new FakeManifests();
  const source = new AppliedSource(manifests, "/root/applied");
  const stop = new AbortController();
  const emitted: string[][] = [];
  const started = source.start(stop.signal, (pods) => emitted.push(pods.map((p) => p.metadata.name)));
  return { manifests, source, stop, emitted, started };
}

test("all pods are emitted when the directory was read, and with every change, until the stop", async () => {
  const { manifests, source, stop, emitted, started } = startSource();
  manifests.all = [pod("a")];
  assert.deepEqual(emitted, []);
  await started;
  assert.deepEqual(emitted, [["a"]]);
  manifests.change(pod("a"), pod("b"));
  manifests.change();
  assert.deepEqual(emitted.slice(1), [["a", "b"], []]);
  stop.abort();
  await source.done;
  manifests.change(pod("c"));
  assert.equal(emitted.length, 3);
});

test("an empty set is emitted if there are no manifests: the initial sync waits for it", async () => {
  const { emitted, started } = startSource();
  await started;
  assert.deepEqual(emitted, [[]]);
});

test("problems are reported with the file", () => {
  const { source } = startSource();
  assert.deepEqual(source.problems(), [
    { file: "/root/applied/bad", line: 3, field: "spec", message: "is wrong" },
  ]);
});
