import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMountinfo } from "../../lib/host/mount-table.ts";
import { readDisks, tmpfsPaths } from "./disks.ts";

const mounts = parseMountinfo(`20 1 0:20 / /run rw - tmpfs tmpfs rw
21 1 0:21 / /dev/shm rw - tmpfs shm rw
22 1 0:21 / /dev/shm rw - tmpfs shm rw
23 1 0:22 / /var/lib/kubelet rw - tmpfs state rw
24 1 0:23 / /var/lib/kubelet/pods/1/volumes/kubernetes.io~secret/a rw - tmpfs tmpfs rw
25 1 0:24 / /proc rw - proc proc rw
`);

test("a tmpfs of the machine counts once, one of a pod does not", () => {
  assert.deepEqual(tmpfsPaths("/var/lib/kubelet", mounts), ["/run", "/dev/shm", "/var/lib/kubelet"]);
});

test("a tmpfs is a disk without I/O whose device is its path, and one that is gone is none", async () => {
  const { disks } = await readDisks(["/dev", "/gone"], []);
  assert.deepEqual(
    disks.map(({ device, counts }) => [device, counts?.reads, counts?.weightedIoMs]),
    [["/dev", 0, 0]],
  );
});
