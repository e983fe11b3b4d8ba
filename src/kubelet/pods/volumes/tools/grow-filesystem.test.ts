import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeCommands } from "../../../../lib/host/fake-commands.ts";
import { growFilesystem } from "./grow-filesystem.ts";

const device = "/dev/sdx";
const dir = "/pods/u/volumes/pv";

const rows: [found: string, command: string | undefined, failed?: string][] = [
  [
    "TYPE=ext4",
    `resize2fs -- ${device}`,
    `resize of device ${device} failed: exit status 3. resize2fs output: no`,
  ],
  ["TYPE=ext3", `resize2fs -- ${device}`],
  [
    "TYPE=xfs",
    `xfs_growfs -d -- ${dir}`,
    `resize of device ${dir} failed: exit status 3. xfs_growfs output: no`,
  ],
  ["TYPE=btrfs", `btrfs filesystem resize max ${dir}`],
  ["", undefined],
];

describe("the filesystem of a disk", () => {
  const grow = (commands: FakeCommands) =>
    growFilesystem(commands, device, dir, new AbortController().signal);
  const blkid = (found: string) => (found === "" ? { code: 2 } : { output: `${found}\n` });
  for (const [found, command, failed] of rows) {
    it(`grows with ${command ?? "nothing if it has none"} (${found})`, async () => {
      const commands = new FakeCommands({ blkid: blkid(found) });
      await grow(commands);
      assert.deepEqual(commands.lines.slice(1), command === undefined ? [] : [command]);
    });
    if (command !== undefined && failed !== undefined)
      it(`fails with the output of ${command}`, async () => {
        const commands = new FakeCommands({ blkid: blkid(found), [command]: { code: 3, output: "no" } });
        await assert.rejects(grow(commands), { message: failed });
      });
  }

  for (const format of ["ext2", "vfat"])
    it(`is not grown if it is ${format}`, async () => {
      const commands = new FakeCommands({ blkid: blkid(`TYPE=${format}`) });
      const why = `resize of format ${format} is not supported for device ${device} mounted at ${dir}`;
      await assert.rejects(grow(commands), { message: `ResizeFS.Resize - ${why}` });
      assert.equal(commands.lines.length, 1);
    });
});
