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

function begin() {
  const manifests = new FakeManifests();
  const source = new AppliedSource(manifests, "/root/applied");
  const stop = new AbortController();
  const told: string[][] = [];
  const started = source.start(stop.signal, (pods) => told.push(pods.map((p) => p.metadata.name)));
  return { manifests, source, stop, told, started };
}

test("all pods are told when the folder was read, and with every change, until the end", async () => {
  const { manifests, source, stop, told, started } = begin();
  manifests.all = [pod("a")];
  assert.deepEqual(told, []);
  await started;
  assert.deepEqual(told, [["a"]]);
  manifests.change(pod("a"), pod("b"));
  manifests.change();
  assert.deepEqual(told.slice(1), [["a", "b"], []]);
  stop.abort();
  await source.done;
  manifests.change(pod("c"));
  assert.equal(told.length, 3);
});

test("without any manifest it says that there are none: others wait for that word", async () => {
  const { told, started } = begin();
  await started;
  assert.deepEqual(told, [[]]);
});

test("what is wrong is told with the file", () => {
  const { source } = begin();
  assert.deepEqual(source.problems(), [
    { file: "/root/applied/bad", line: 3, field: "spec", message: "is wrong" },
  ]);
});
