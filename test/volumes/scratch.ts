import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { tmpfsMagic, type VolumeSuite } from "./volume-node.ts";

const pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
const wantedPages = 2;

/**
 * Reserves huge pages while the tests run; returns the reason if the kernel has none. Other tests may reserve some at the
 * same time.
 */
export function reserveHugePages(): { unavailable: string | undefined; release: () => void } {
  const change = (pages: number) => {
    const wanted = Math.max(0, Number(readFileSync(pool, "utf8")) + pages);
    writeFileSync(pool, String(wanted));
    return Number(readFileSync(pool, "utf8")) >= wanted;
  };
  const release = () => void change(-wantedPages);
  try {
    if (change(wantedPages)) return { unavailable: undefined, release };
    release();
    return { unavailable: "the kernel has no huge pages", release: () => {} };
  } catch (error) {
    return { unavailable: `huge pages cannot be reserved: ${error}`, release: () => {} };
  }
}

/** Tests emptyDir volumes. The tests of huge pages run only if the node has some. */
export const scratch = (hugePages: { unavailable: string | undefined }): VolumeSuite => ({
  title: "emptyDir",

  async prepare(n) {
    await n.addPod("scratch", {
      spec: {
        volumes: [
          { name: "disk", emptyDir: {} },
          { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
          { name: "limited", emptyDir: { medium: "Memory" } },
          { name: "not-used", emptyDir: {} },
        ],
        containers: ["c", "other"].map((name) => ({
          name,
          resources: { limits: { memory: "16Mi", cpu: "100m" } },
          volumeMounts: ["disk", "memory", "limited"].map((volume) => ({
            name: volume,
            mountPath: `/v/${volume}`,
          })),
        })),
      },
    });
    if (hugePages.unavailable !== undefined) return;
    await n.addPod("huge", {
      spec: {
        volumes: [{ name: "pages", emptyDir: { medium: "HugePages" } }],
        containers: [
          {
            resources: { limits: { "hugepages-2Mi": "4Mi", memory: "16Mi", cpu: "10m" } },
            volumeMounts: [{ name: "pages", mountPath: "/pages" }],
          },
        ],
      },
    });
  },

  tests(node) {
    // parity: volume emptyDir
    test("an emptyDir is the same directory for all containers of the pod, and writable for all users", async () => {
      const pod = await node().runs("scratch");
      await node().inside("scratch", "echo from c >/v/disk/file");
      assert.equal(await node().inside("scratch", "cat /v/disk/file", "other"), "from c");
      assert.equal(await node().inside("scratch", "stat -c %a /v/disk"), "777");
      const dir = node().volumeDir(pod, "empty-dir", "disk");
      assert.equal(await readFile(join(dir, "file"), "utf8"), "from c\n");
      await assert.rejects(stat(node().volumeDir(pod, "empty-dir", "not-used")), { code: "ENOENT" });
    });

    // parity: volume emptyDir.medium=Memory
    test("an emptyDir in memory is a tmpfs with its sizeLimit, which cannot be exceeded", async () => {
      const pod = await node().runs("scratch");
      const { type, bsize, blocks } = await statfs(node().volumeDir(pod, "empty-dir", "memory"));
      assert.deepEqual([type, bsize * blocks], [tmpfsMagic, 1 << 20]);
      assert.match(await node().inside("scratch", "df -k /v/memory"), /^tmpfs +1024 /m);
      const full = await node().failsInside("scratch", "dd if=/dev/zero of=/v/memory/x bs=1024 count=2048");
      assert.match(full, /No space left on device/);
      assert.equal(
        await node().inside("scratch", "rm /v/memory/x; echo small >/v/memory/y; cat /v/memory/y"),
        "small",
      );
    });

    test("an emptyDir in memory without a sizeLimit is as large as the pod's memory limit", async () => {
      assert.match(await node().inside("scratch", "df -k /v/limited"), /^tmpfs +32768 /m);
    });

    test("an emptyDir outlives the containers of its pod", async () => {
      await node().inside("scratch", "echo still >/v/memory/kept", "other");
      await node().terminateContainer("scratch", "other");
      await waitFor(async () => {
        const { status } = await node().apiNode.pod("scratch");
        const again = status?.containerStatuses?.find(({ name }) => name === "other");
        assert.deepEqual([again?.restartCount, again?.ready], [1, true]);
      });
      const files = "cat /v/disk/file /v/memory/kept";
      assert.equal(await node().inside("scratch", files, "other"), "from c\nstill");
    });

    // parity: volume emptyDir.medium=HugePages
    test("an emptyDir of huge pages is a hugetlbfs of their size", {
      skip: hugePages.unavailable,
    }, async () => {
      const pod = await node().runs("huge");
      const mount = (await node().mountsInside("huge")).find(({ path }) => path === "/pages");
      assert.equal(mount?.fsType, "hugetlbfs");
      assert.ok(mount?.options.includes("pagesize=2M"), mount?.options.join());
      // Files on hugetlbfs are mapped, not written: a shell can only set their size.
      await node().inside("huge", "truncate -s 2097152 /pages/one");
      const { size } = await stat(join(node().volumeDir(pod, "empty-dir", "pages"), "one"));
      assert.equal(size, 2 << 20);
    });
  },
});
