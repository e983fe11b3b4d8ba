import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { ar } from "./ar.mjs";
import { gzip, zstd } from "./compress.mjs";
import { debianPackage } from "./debian-package.mjs";
import { archive, below, file, link, merge } from "./file-tree.mjs";

const root = new URL("../../../", import.meta.url).pathname;
const seconds = Date.UTC(2026, 0, 2, 3, 4, 5) / 1000;
let dir;

before(() => {
  dir = mkdtempSync(join(tmpdir(), "archives-"));
});
after(() => rmSync(dir, { recursive: true, force: true }));

test("an archive has each directory once, before its content, in the order of paths, with one time", () => {
  const tree = merge(
    below("b", new Map([["z", file("1", 0o755)]])),
    new Map([
      ["b/a/x", file("22")],
      ["a", link("b/z")],
      [`${"long/".repeat(30)}name`, file("")],
    ]),
  );
  const path = join(dir, "t.tar");
  writeFileSync(path, archive(tree, { seconds, prefix: "top/", emptyDirs: ["b/empty"] }));
  const listed = execFileSync("tar", ["--utc", "--numeric-owner", "-tvf", path], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.replace(/\s+/g, " "));
  assert.deepEqual(
    listed.filter((line) => !/\/long\//.test(line)),
    [
      "drwxr-xr-x 0/0 0 2026-01-02 03:04 top/",
      "lrwxrwxrwx 0/0 0 2026-01-02 03:04 top/a -> b/z",
      "drwxr-xr-x 0/0 0 2026-01-02 03:04 top/b/",
      "drwxr-xr-x 0/0 0 2026-01-02 03:04 top/b/a/",
      "-rw-r--r-- 0/0 2 2026-01-02 03:04 top/b/a/x",
      "drwxr-xr-x 0/0 0 2026-01-02 03:04 top/b/empty/",
      "-rwxr-xr-x 0/0 1 2026-01-02 03:04 top/b/z",
    ],
  );
  assert.equal(listed.filter((line) => /\/long\//.test(line)).length, 31);
  assert.equal(listed.at(-1), `-rw-r--r-- 0/0 0 2026-01-02 03:04 top/${"long/".repeat(30)}name`);
});

test("members of an ar archive start at even offsets", () => {
  const members = [
    { name: "odd", data: Buffer.from("123") },
    { name: "even", data: Buffer.from("1234") },
  ];
  assert.equal(
    ar(members, 7).toString(),
    "!<arch>\nodd             7           0     0     100644  3         `\n123\neven            7           0     0     100644  4         `\n1234",
  );
  assert.throws(() => ar([{ name: "a-name-of-17-char", data: Buffer.alloc(0) }], 7), RangeError);
});

test("compressed data depends on its input only, and can be restored", () => {
  const data = readFileSync(`${root}package-lock.json`);
  assert.deepEqual(gunzipSync(gzip(data)), data);
  assert.deepEqual(zstdDecompressSync(zstd(data)), data);
  // Flags, time and operating system of the header.
  assert.equal(gzip(data).subarray(3, 10).toString("hex"), "000000000000ff");
  assert.deepEqual(gzip(data), gzip(Buffer.from(data)));
});

const hasDpkg = (() => {
  try {
    // Older versions cannot read zstd.
    const [, major, minor, patch] = /version (\d+)\.(\d+)\.(\d+)/.exec(
      execFileSync("dpkg-deb", ["--version"], { encoding: "utf8" }),
    );
    return Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch) >= 1_021_018;
  } catch {
    return false;
  }
})();

test("dpkg-deb reads a package", { skip: hasDpkg ? false : "needs dpkg 1.21.18 or newer" }, () => {
  const tree = new Map([
    ["etc/default/kubelet", file("x\n")],
    ["etc/kubernetes/kubelet.yaml", file("y\n")],
    ["usr/bin/kubelet", link("../lib/kubelet-ts/bin/kubelet")],
    ["usr/lib/kubelet-ts/bin/kubelet", file("#!/bin/sh\n", 0o755)],
  ]);
  const release = { seconds, debianVersion: "0.1.0~git1" };
  const deb = debianPackage({
    root,
    tree,
    arch: "arm64",
    release,
    kubernetesVersion: "1.36.4",
    maintainer: "a <b@c>",
  });
  const path = join(dir, "t.deb");
  writeFileSync(path, deb);
  const field = (name) => execFileSync("dpkg-deb", ["-f", path, name], { encoding: "utf8" }).trim();
  assert.deepEqual(
    ["Package", "Version", "Architecture", "Provides", "Conflicts", "Installed-Size"].map(field),
    ["kubelet-ts", "0.1.0~git1", "arm64", "kubelet (= 1.36.4)", "kubelet", "3"],
  );
  const info = (name) => execFileSync("dpkg-deb", ["-I", path, name], { encoding: "utf8" });
  assert.equal(info("conffiles"), "/etc/default/kubelet\n/etc/kubernetes/kubelet.yaml\n");
  assert.equal(info("md5sums"), "3e2b31c72181b87149ff995e7202c0e3  usr/lib/kubelet-ts/bin/kubelet\n");
  for (const script of ["postinst", "prerm", "postrm"]) execFileSync("sh", ["-n"], { input: info(script) });
  execFileSync("dpkg-deb", ["-x", path, join(dir, "x")]);
  assert.equal(readFileSync(join(dir, "x/etc/default/kubelet"), "utf8"), "x\n");
});
