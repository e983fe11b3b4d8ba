import assert from "node:assert/strict";
import { link, mkdir, mkdtemp, readFile, rm, stat, statfs, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { errnoOf } from "../base/errors.ts";
import { makeDirsBeneath, openBeneath, openRoot } from "./beneath.ts";
import { diskUsage } from "./disk-usage.ts";
import { mountReferences } from "./mount-table.ts";
import { hostMounts, makeMountsShared } from "./mounts.ts";
import { removeEmptyTree, removeTree } from "./remove-tree.ts";

const mayMount = process.getuid?.() === 0;

describe("on the kernel of this machine", { skip: !mayMount && "needs root" }, () => {
  let dir = "";
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "mounts-"));
  });
  after(async () => {
    for (const mount of hostMounts.list().toReversed())
      if (mount.path.startsWith(`${dir}/`)) await hostMounts.unmount(mount.path);
    await removeTree(dir);
  });
  const directory = async (name: string) => {
    await mkdir(join(dir, name), { recursive: true });
    return join(dir, name);
  };

  test("a tmpfs has the requested size and can be unmounted twice", async () => {
    const at = await directory("memory");
    await hostMounts.mountTmpfs(at, { size: 1n << 20n, noSwap: true });
    const { blocks, bsize } = await statfs(at);
    assert.equal(blocks * bsize, 1 << 20);
    assert.equal((await hostMounts.at(at))?.fsType, "tmpfs");
    await hostMounts.unmount(at);
    assert.equal(await hostMounts.isMountPoint(at), false);
    await hostMounts.unmount(at);
  });

  test("a missing path is not a mount point", async () => {
    assert.equal(await hostMounts.isMountPoint(join(dir, "no/such/folder")), false);
  });

  test("a mount point is found through a symbolic link above it", async () => {
    const at = await directory("real/inner");
    await symlink(join(dir, "real"), join(dir, "alias"));
    await hostMounts.mountTmpfs(at);
    assert.equal(await hostMounts.isMountPoint(join(dir, "alias/inner")), true);
    await hostMounts.unmount(join(dir, "alias/inner"));
    assert.equal(await hostMounts.isMountPoint(at), false);
  });

  test("stacked mounts are all unmounted", async () => {
    const at = await directory("stacked");
    for (let i = 0; i < 3; i++) await hostMounts.mountTmpfs(at);
    await hostMounts.unmount(at);
    assert.equal(await hostMounts.isMountPoint(at), false);
  });

  test("a read-only bind mount cannot be written to, and its source still can", async () => {
    const from = await directory("from");
    const to = await directory("to");
    await hostMounts.mountTmpfs(from);
    await hostMounts.bind(from, to, { readOnly: true });
    await writeFile(join(from, "file"), "x");
    assert.equal(await readFile(join(to, "file"), "utf8"), "x");
    await assert.rejects(writeFile(join(to, "other"), "x"), { code: "EROFS" });
    assert.deepEqual(mountReferences(hostMounts.list(), from), [to]);
    await hostMounts.unmount(to);
    await hostMounts.unmount(from);
  });

  test("a failed system call is an error with the name of its errno and a message that names what failed", async () => {
    await assert.rejects(hostMounts.mountTmpfs(join(dir, "nowhere")), {
      code: "ENOENT",
      message: `mount tmpfs on ${join(dir, "nowhere")}: no such file or directory`,
    });
  });

  test("a text with a NUL character is not read up to it", async () => {
    const at = await directory("nul");
    const einval = { code: "EINVAL", message: /contains a NUL character$/ };
    await assert.rejects(hostMounts.mount("tmpfs", at, "tmpfs\0ext4"), einval);
    await assert.rejects(hostMounts.mount("tmpfs", at, "tmpfs", ["size=1m\0,x"]), einval);
    await assert.rejects(hostMounts.bind(`${dir}\0/nul`, at), einval);
    assert.equal(await hostMounts.isMountPoint(at), false);
    const root = await openRoot(dir);
    try {
      await assert.rejects(openBeneath(root, "nul\0/other"), einval);
    } finally {
      root.close();
    }
  });

  test("mount propagation of a directory is made shared, once", async () => {
    const at = await directory("shared");
    await makeMountsShared(at);
    const parent = hostMounts
      .list()
      .findLast((m) => at === m.path || at.startsWith(`${m.path}/`) || m.path === "/");
    assert.equal(parent?.shared, true);
    const mountsHere = () =>
      hostMounts.list().filter((m) => m.path === parent?.path || m.path.startsWith(`${dir}/`));
    const before = mountsHere();
    await makeMountsShared(at);
    assert.deepEqual(mountsHere(), before);
    await hostMounts.unmount(at);
  });

  test("nothing is deleted through a mount", async () => {
    const tree = await directory("tree/a/b");
    const at = await directory("tree/mounted");
    await hostMounts.mountTmpfs(at);
    await writeFile(join(at, "precious"), "x");
    await assert.rejects(removeTree(join(dir, "tree")), { code: "EBUSY" });
    await assert.rejects(removeEmptyTree(join(dir, "tree")), { code: "EBUSY" });
    assert.equal(await readFile(join(at, "precious"), "utf8"), "x");
    await hostMounts.unmount(at);
    await writeFile(join(tree, "file"), "");
    await assert.rejects(removeEmptyTree(join(dir, "tree")), { code: "ENOTEMPTY" });
    await rm(join(tree, "file"));
    await removeEmptyTree(join(dir, "tree"));
    await removeTree(join(dir, "tree"));
  });

  test("links are followed inside a directory, and none leads out of it", async () => {
    const at = await directory("beneath/in/deep");
    await writeFile(join(at, "file"), "inside");
    const links: [name: string, target: string, code: string | undefined][] = [
      ["ok", "in/deep", undefined],
      ["in/up", "../in/deep", undefined],
      ["absolute", "/etc", "EXDEV"],
      ["out", "../../", "EXDEV"],
      ["in/out", "../../..", "EXDEV"],
      ["dangling", "nothing", "ENOENT"],
      ["loop", "loop", "ELOOP"],
    ];
    const root = await openRoot(join(dir, "beneath"));
    try {
      for (const [name, target, code] of links) {
        await symlink(target, join(dir, "beneath", name));
        const found = await openBeneath(root, name).then(
          (file) => {
            file.close();
            return undefined;
          },
          (error) => errnoOf(error),
        );
        assert.equal(found, code, name);
      }
      const file = await openBeneath(root, "ok/file");
      assert.equal(file.isDirectory, false);
      file.close();
    } finally {
      root.close();
    }
  });

  test("directories are created with the requested mode, regardless of the umask, and not through a link that leads out", async () => {
    await directory("make");
    await symlink("/", join(dir, "make/out"));
    const root = await openRoot(join(dir, "make"));
    try {
      const created = await makeDirsBeneath(root, "a/./b//c", 0o2775);
      created.close();
      for (const name of ["a", "a/b", "a/b/c"])
        assert.equal((await stat(join(dir, "make", name))).mode & 0o7777, 0o2775);
      await assert.rejects(makeDirsBeneath(root, "out/tmp/x", 0o777), { code: "EXDEV" });
      await assert.rejects(makeDirsBeneath(root, ".", 0o777), { code: "EINVAL" });
    } finally {
      root.close();
    }
  });

  test("usage counts blocks and files, each once, without mounts below", async () => {
    const at = await directory("usage");
    await hostMounts.mountTmpfs(at);
    const none = await diskUsage(at);
    await writeFile(join(at, "file"), Buffer.alloc(8192));
    await link(join(at, "file"), join(at, "same"));
    await mkdir(join(at, "sub"));
    await hostMounts.mountTmpfs(join(at, "sub"));
    await writeFile(join(at, "sub/other"), Buffer.alloc(8192));
    assert.deepEqual(await diskUsage(at), { bytes: none.bytes + 8192, inodes: none.inodes + 1 });
    await hostMounts.unmount(join(at, "sub"));
    await hostMounts.unmount(at);
  });
});
