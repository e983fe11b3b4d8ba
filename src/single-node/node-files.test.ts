import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createDirectories, derivedPaths, nodeFiles } from "./node-files.ts";

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

test("other users can read neither logs nor manifests, even those of an earlier version", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "node-files-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const files = nodeFiles("demo", join(dir, "b"), join(dir, "r"));
  mkdirSync(files.manifests, { recursive: true, mode: 0o755 });
  mkdirSync(files.podLogs, { recursive: true, mode: 0o755 });
  createDirectories(files);
  for (const [path, below] of [
    [files.manifests, "."],
    [files.podLogs, ".."],
    [files.containerLogs, ".."],
    [files.containerd.log, ".."],
    [files.api.log, ".."],
    [files.api.dir, "."],
  ] as const)
    assert.equal(statSync(join(path, below)).mode & 0o007, 0, path);
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
