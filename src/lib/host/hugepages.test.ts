import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { filesystemBytes } from "./disk-usage.ts";
import { readHugepagePools } from "./hugepages.ts";

describe("the size of a machine", () => {
  it("huge pages are counted by size, smallest first; other directories are ignored", async () => {
    const dir = await mkdtemp(join(tmpdir(), "hugepages-"));
    try {
      for (const [name, count] of [
        ["hugepages-1048576kB", "3\n"],
        ["hugepages-2048kB", "0\n"],
        ["other", "9\n"],
      ] as const) {
        await mkdir(join(dir, name));
        await writeFile(join(dir, name, "nr_hugepages"), count);
      }
      const pools = [
        { pageBytes: 2n << 20n, pages: 0n },
        { pageBytes: 1n << 30n, pages: 3n },
      ];
      assert.deepEqual(await readHugepagePools(dir), pools);
      assert.deepEqual(await readHugepagePools(join(dir, "none")), []);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("a filesystem holds all of its blocks", async () => {
    const { blocks, bsize } = await statfs("/");
    assert.equal(await filesystemBytes("/"), BigInt(blocks) * BigInt(bsize));
    await assert.rejects(filesystemBytes("/does/not/exist"), { code: "ENOENT" });
  });
});
