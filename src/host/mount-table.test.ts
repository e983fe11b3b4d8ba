import assert from "node:assert/strict";
import { test } from "node:test";
import { cgroupMounts, mountsBelow, parseMountinfo } from "./mount-table.ts";

const mounts = parseMountinfo(`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 22 0:27 / /sys/fs/cgroup/memory rw shared:2 master:3 - cgroup cgroup rw,memory
40 22 0:40 / /run/n/shm rw - tmpfs shm rw
41 22 0:41 / /run/n/shm/deeper rw - tmpfs tmpfs rw
42 22 0:42 / /run/n-2/shm rw - tmpfs shm rw
43 22 0:43 net:[4026532] /run/n/with\\040space rw - nsfs nsfs rw
44 22 0:44 / /run/n/shm rw - tmpfs over rw
`);

test("mounts below a folder come in the order in which they can be unmounted", () => {
  assert.deepEqual(mountsBelow(mounts, ["/run/n"]), [
    "/run/n/shm",
    "/run/n/with space",
    "/run/n/shm/deeper",
    "/run/n/shm",
  ]);
});

test("cgroup hierarchies of both versions are found, with optional fields or without", () => {
  assert.deepEqual(cgroupMounts(mounts), ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"]);
});
