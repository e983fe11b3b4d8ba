import assert from "node:assert/strict";
import { test } from "node:test";
import { derivedPaths, nodeFiles } from "./node-files.ts";

for (const name of ["a", "demo", "node-1", "0", "a".repeat(32)]) {
  test(`"${name}" is a name for a node`, () => {
    assert.equal(nodeFiles(name).name, name);
  });
}

for (const name of ["", "A", "-a", "a-", "a.b", "a/b", "..", "a b", "a".repeat(33), "ä"]) {
  test(`"${name}" is not a valid node name`, () => {
    assert.throws(() => nodeFiles(name), { code: "NodeName" });
  });
}

test("bridge names fit the kernel's 15 characters and differ", () => {
  const names = ["demo", "twelve-chars", "twelve-charz", "a".repeat(32)];
  const bridges = names.map((name) => nodeFiles(name).bridge);
  for (const bridge of bridges) assert.ok(bridge.length <= 15, bridge);
  assert.equal(new Set(bridges).size, names.length);
});

test("a run directory too long for a socket is rejected", () => {
  assert.throws(() => nodeFiles("demo", "/var/lib/x", `/run/${"x".repeat(100)}`), /too long for a socket/);
});

test("manifests and logs are not derived", () => {
  const files = nodeFiles("demo", "/b", "/r");
  for (const kept of [
    files.manifests,
    files.applied,
    files.objects,
    files.podLogs,
    files.containerLogs,
    files.containerd.log,
  ]) {
    assert.ok(!derivedPaths(files).some((path) => kept === path || kept.startsWith(`${path}/`)), kept);
  }
});
