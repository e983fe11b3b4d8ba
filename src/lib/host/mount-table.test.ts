import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cgroupMounts,
  findMount,
  findMountsBelow,
  mountAt,
  mountsBelow,
  parseMountinfo,
} from "./mount-table.ts";

const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 22 0:27 / /sys/fs/cgroup/memory rw shared:2 master:3 - cgroup cgroup rw,memory
40 22 0:40 / /run/n/shm rw - tmpfs shm rw
41 22 0:41 / /run/n/shm/deeper rw - tmpfs tmpfs rw
42 22 0:42 / /run/n-2/shm rw - tmpfs shm rw
43 22 0:43 net:[4026532] /run/n/with\\040space rw - nsfs nsfs rw
44 22 0:44 / /run/n/shm rw - tmpfs over rw
45 22 254:0 /run/n/bound /elsewhere rw shared:9 - ext4 /dev/vda rw
`;
const mounts = parseMountinfo(text);

test("mounts below a directory are in unmount order", () => {
  assert.deepEqual(mountsBelow(mounts, ["/run/n"]), [
    "/run/n/shm",
    "/run/n/with space",
    "/run/n/shm/deeper",
    "/run/n/shm",
  ]);
});

test("cgroup hierarchies of both versions are found, with or without optional fields", () => {
  assert.deepEqual(cgroupMounts(mounts), ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"]);
});

test("a mount is found by its path, the topmost if there are several, and not by its source", () => {
  for (const path of [
    "/run/n/shm",
    "/run/n/with space",
    "/",
    "/run/n/bound",
    "/elsewhere",
    "/run",
    "/nothing",
  ])
    assert.deepEqual(findMount(text, path), mountAt(mounts, path), path);
  assert.equal(findMount(text, "/run/n/shm")?.id, 44);
  assert.equal(findMount(text, "/run/n/bound"), undefined);
});

test("mounts below a directory are found in the text as in the parsed table", () => {
  for (const path of ["/run/n", "/run/n/shm", "/run/n/with space", "/run/n/bound", "/nothing"])
    assert.deepEqual(findMountsBelow(text, path), mountsBelow(mounts, [path]), path);
});

test("a mount has its ID, its parent, its root in the filesystem, and whether it is shared", () => {
  const { id, parentId, device, root, source, shared, mountOptions } = findMount(text, "/elsewhere")!;
  assert.deepEqual(
    [id, parentId, device, root, source, shared, mountOptions],
    [45, 22, "254:0", "/run/n/bound", "/dev/vda", true, ["rw"]],
  );
});
