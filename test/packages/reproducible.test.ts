import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { long } from "../long.ts";
import { ProjectCopy } from "./project-copy.ts";

test(long("packages of the same sources are the same bytes, in any folder"), async (t) => {
  const sums: Record<string, string>[] = [];
  for (const name of ["a", "another folder"]) {
    const copy = await ProjectCopy.create(name);
    t.after(() => copy.remove());
    const { dir, names } = await copy.makePackages();
    const entries = names.map(async (file) => [file, sha256(await readFile(join(dir, file)))] as const);
    sums.push(Object.fromEntries(await Promise.all(entries)));
    await copy.remove();
    assert.deepEqual(
      names.map((file) => file.replace(/0\.1\.0.*?(?=-linux|_a|\.tgz)/, "VERSION")),
      [
        "SHA256SUMS",
        "kubelet-ts-VERSION-linux-arm64.cdx.json",
        "kubelet-ts-VERSION-linux-arm64.tar.gz",
        "kubelet-ts-VERSION-linux-x64.cdx.json",
        "kubelet-ts-VERSION-linux-x64.tar.gz",
        "kubelet-ts-VERSION.tgz",
        "kubelet-ts_VERSION_amd64.deb",
        "kubelet-ts_VERSION_arm64.deb",
      ],
    );
  }
  assert.deepEqual(sums[1], sums[0]);
});

function sha256(data: Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}
