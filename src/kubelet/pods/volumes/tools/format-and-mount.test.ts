import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeCommands } from "../../../../lib/host/fake-commands.ts";
import { filesystemMismatch, formatAndMount } from "./format-and-mount.ts";

const device = "/dev/sdx";
const blkid = `blkid -p -s TYPE -s PTTYPE -o export -- ${device}`;
const fsck = `fsck -a ${device}`;

interface Row {
  readonly title: string;
  readonly fsType: string | undefined;
  readonly found?: string;
  readonly options?: readonly string[];
  /** After blkid. */
  readonly lines?: readonly string[];
  readonly mounted?: string;
  readonly error?: string;
}

const rows: Row[] = [
  {
    title: "an empty disk gets ext4",
    fsType: undefined,
    lines: [`mkfs.ext4 -F -m 0 -- ${device}`],
    mounted: "ext4",
  },
  { title: "an empty type is none", fsType: "", lines: [`mkfs.ext4 -F -m 0 -- ${device}`], mounted: "ext4" },
  ...["ext2", "btrfs"].map((fsType) => ({
    title: `an empty disk is formatted as ${fsType}`,
    fsType,
    lines: [`mkfs.${fsType} -- ${device}`],
    mounted: fsType,
  })),
  {
    title: "an empty disk is formatted as ext3",
    fsType: "ext3",
    lines: [`mkfs.ext3 -F -m 0 -- ${device}`],
    mounted: "ext3",
  },
  {
    title: "an empty disk is formatted as xfs",
    fsType: "xfs",
    lines: [`mkfs.xfs -f -- ${device}`],
    mounted: "xfs",
  },
  ...["proc", "sysfs", "overlay", "vfat", "../../bin/sh", "ext4 x", "-V", "constructor"].map((fsType) => ({
    title: `an empty disk is not formatted as ${fsType}`,
    fsType,
    error: `failed to mount the volume as ${fsType}, disk ${device} is not formatted with it`,
  })),
  {
    title: "an empty disk is not formatted for reading",
    fsType: "ext4",
    options: ["ro"],
    error: `failed to mount the volume as ext4, cannot mount unformatted disk ${device} in read-only mode`,
  },
  { title: "existing data is checked", fsType: "xfs", found: "TYPE=xfs", lines: [fsck], mounted: "xfs" },
  {
    title: "existing data is not checked for reading",
    fsType: "xfs",
    found: "TYPE=xfs",
    options: ["ro"],
    mounted: "xfs",
  },
  {
    title: "data of another kind is mounted as what it is",
    fsType: "vfat",
    found: "TYPE=vfat",
    lines: [fsck],
    mounted: "vfat",
  },
  {
    title: "older ext data is mounted as ext4",
    fsType: "ext4",
    found: "TYPE=ext2",
    lines: [fsck],
    mounted: "ext4",
  },
  ...["proc", "xfs", "ext4", ""].map((fsType) => ({
    title: `data is not mounted as ${JSON.stringify(fsType)} if it is of another type`,
    fsType,
    found: "TYPE=vfat",
    error: `failed to mount the volume as ${fsType || "ext4"}, it already contains vfat`,
  })),
  {
    title: "a partition table is not overwritten",
    fsType: "ext4",
    found: "PTTYPE=dos",
    error: "failed to mount the volume as ext4, it already contains unknown data, probably partitions",
  },
];

describe("a disk that is mounted", () => {
  for (const { title, fsType, found, options = [], lines = [], mounted, error } of rows)
    it(title, async () => {
      const commands = new FakeCommands({ blkid: found ? { output: `${found}\n` } : { code: 2 } });
      let type: string | undefined;
      const mounts = {
        mount: async (_source: string, _dir: string, fsType: string) => {
          type = fsType;
        },
      };
      const { signal } = new AbortController();
      const done = formatAndMount({ commands, mounts }, device, "/dir", fsType, options, signal);
      if (error === undefined) await done;
      else
        await assert.rejects(done, {
          message: error,
          code: /contains/.test(error) ? filesystemMismatch : "Volume",
        });
      assert.deepEqual([commands.lines, type], [[blkid, ...lines], mounted]);
    });

  it("has an absolute path", async () => {
    const commands = new FakeCommands();
    const mounts = { mount: () => assert.fail("mounted") };
    const { signal } = new AbortController();
    await assert.rejects(formatAndMount({ commands, mounts }, "LABEL=x", "/dir", "ext4", [], signal), {
      message: 'the path of device "LABEL=x" is not absolute',
    });
    assert.deepEqual(commands.calls, []);
  });
});
