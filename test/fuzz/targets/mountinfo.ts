import assert from "node:assert/strict";
import { parseLayout } from "../../../src/lib/host/cgroups/layout.ts";
import {
  findMount,
  findMountsBelow,
  mountAt,
  mountReferences,
  mountsBelow,
  parseMountinfo,
} from "../../../src/lib/host/mount-table.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const hybrid = `30 23 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`;

/** /proc/self/mountinfo; users choose the paths and sources of mounts. */
export default {
  seeds: [
    "36 35 98:0 /mnt1 /mnt2\\040x rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue",
    `22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n23 22 0:5 / /var rw - tmpfs tmpfs rw\n24 23 0:5 /a /var/b\\134c rw - tmpfs tmpfs rw`,
    hybrid,
  ],
  dictionary: ["\\040", "\\012", "\\134", " - ", "/var", "/var/", "cgroup2", "shared:1"],
  maxLength: 600,
  run(input) {
    const text = input.toString("utf8");
    const mounts = parseMountinfo(text);
    assert.ok(mounts.length <= text.split("\n").length);
    const paths = [...mounts.map(({ path }) => path), "/var"];
    for (const path of paths) {
      // The fast search finds the same as reading the whole table.
      if (isWritten(text, path)) assert.deepEqual(findMount(text, path), mountAt(mounts, path), path);
      if (isWritten(text, path))
        assert.deepEqual(findMountsBelow(text, path), mountsBelow(mounts, [path]), path);
      assert.ok(mountReferences(mounts, path).length <= mounts.length);
    }
    const layout = accepted(() => parseLayout(text));
    if (layout?.version === 2) assert.ok(mounts.some(({ path }) => path === layout.root));
  },
} satisfies FuzzTarget;

/** The kernel escapes exactly these characters: other escapes, which it never writes, are found in the whole table only. */
function isWritten(text: string, path: string): boolean {
  return path !== "" && !/\\(?!040|011|012|134)/.test(text) && !text.includes("\t");
}
