import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pauseElf } from "./pause-elf.ts";
import { debianPackages, findRequirements, isStatic, type ProgramFinder } from "./requirements.ts";

const debian = [
  "/usr/bin/containerd",
  "/usr/bin/ctr",
  "/usr/bin/containerd-shim-runc-v2",
  "/usr/sbin/runc",
  "/usr/sbin/iptables",
  "/bin/busybox",
  ...["bridge", "host-local", "loopback", "portmap"].map((plugin) => `/usr/lib/cni/${plugin}`),
];

function finder(files: readonly string[], statically = true): ProgramFinder {
  return {
    path: ["/usr/sbin", "/usr/bin", "/bin"],
    isProgram: (file) => files.includes(file),
    isStatic: () => statically,
  };
}

test("Debian's packages are sufficient", () => {
  const found = findRequirements({ finder: finder(debian) });
  assert.ok(found.ok);
  assert.equal(found.binaries.cniDir, "/usr/lib/cni");
  assert.equal(found.binaries.runc, "/usr/sbin/runc");
});

test("an empty machine lacks everything, each with its package, named once", () => {
  const found = findRequirements({ finder: finder([]) });
  assert.ok(!found.ok);
  assert.deepEqual(debianPackages(found.missing), [
    "containerd",
    "runc",
    "iptables",
    "busybox-static",
    "containernetworking-plugins",
  ]);
});

const lacking: [string, string, string][] = [
  ["containerd", "/usr/bin/containerd", "containerd"],
  ["a shim", "/usr/bin/containerd-shim-runc-v2", "containerd"],
  ["runc", "/usr/sbin/runc", "runc"],
  ["one CNI plugin", "/usr/lib/cni/portmap", "containernetworking-plugins"],
  ["busybox", "/bin/busybox", "busybox-static"],
];
for (const [rule, file, pkg] of lacking) {
  test(`without ${rule}, ${pkg} is named and nothing else`, () => {
    const found = findRequirements({ finder: finder(debian.filter((f) => f !== file)) });
    assert.ok(!found.ok);
    assert.deepEqual(debianPackages(found.missing), [pkg]);
  });
}

test("a dynamically linked busybox is not accepted", () => {
  const found = findRequirements({ finder: finder(debian, false) });
  assert.ok(!found.ok);
  assert.deepEqual(debianPackages(found.missing), ["busybox-static"]);
});

test("a separate directory has containerd, ctr and shim together, never mixed with the system's", () => {
  const own = ["containerd", "ctr", "containerd-shim-runc-v2"].map((name) => `/cache/${name}`);
  const found = findRequirements({ containerdDir: "/cache", finder: finder([...debian, ...own]) });
  assert.ok(found.ok);
  assert.deepEqual([found.binaries.containerd, found.binaries.ctr, found.binaries.shim], own);
  const partial = findRequirements({ containerdDir: "/cache", finder: finder([...debian, own[0]!]) });
  assert.ok(!partial.ok);
});

test("static means an ELF program without a loader", () => {
  const dir = mkdtempSync(join(tmpdir(), "static-"));
  try {
    const [program, script] = [join(dir, "program"), join(dir, "script")];
    writeFileSync(program, pauseElf("x64"));
    writeFileSync(script, `#!/bin/sh\n${"#".repeat(100)}\n`);
    chmodSync(script, 0o755);
    assert.equal(isStatic(program), true);
    assert.equal(isStatic(script), false);
    assert.equal(isStatic(process.execPath), false);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
