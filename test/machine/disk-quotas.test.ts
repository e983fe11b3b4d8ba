import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { DiskUsage } from "../../src/lib/host/disk-usage.ts";
import { Machine } from "./machine.ts";
import { describeOnMachine } from "./on-machine.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const mib = 1 << 20;

interface Report {
  readonly reserved: readonly string[];
  readonly written: { readonly kernel: DiskUsage; readonly walk: DiskUsage; readonly neighbor: DiskUsage };
  readonly deleted: { readonly kernel: DiskUsage; readonly walk: DiskUsage };
  readonly restarted: { readonly kernel: DiskUsage; readonly walk: DiskUsage };
  readonly withoutQuota?: DiskUsage;
  readonly released: readonly string[];
  readonly warnings: readonly unknown[];
}

describeOnMachine("disk usage by project quotas", () => {
  let machine: Machine;
  let report: Report;

  before(async () => {
    machine = await Machine.boot();
    await machine.mountHost(project, "/project");
    await machine.sh(`set -e
      modprobe loop
      modprobe quota_v2
      truncate -s 64M /disk
      mkfs.ext4 -q -O quota,project -E quotatype=prjquota /disk
      mkdir -p /counted /other
      mount -o loop,prjquota /disk /counted
      echo 7:/data > /etc/projects
      echo data:7 > /etc/projid`);
    const node = "/project/node_modules/.bin/node";
    report = JSON.parse(await machine.sh(`${node} /project/test/machine/quota-program.ts /counted /other`));
  });
  after(() => machine?.powerOff());

  test("each volume has a project of its own, and the projects of the administrator are kept", () => {
    assert.deepEqual(report.reserved, [
      "7:/data\n1048577:/counted/a\n1048578:/counted/b\n",
      "data:7\nvolume1048577:1048577\nvolume1048578:1048578\n",
    ]);
    assert.deepEqual(report.warnings, []);
  });
  test("the kernel counts what the directories show", () => {
    assert.deepEqual(report.written.kernel, report.written.walk);
    assert.equal(report.written.kernel.inodes, 24);
    assert.ok(report.written.kernel.bytes >= 3 * mib + 20 * 50_000, JSON.stringify(report.written));
  });
  test("the files of a volume do not count for another", () => {
    const { bytes, inodes } = report.written.neighbor;
    assert.equal(inodes, 2);
    assert.ok(bytes >= mib && bytes < 2 * mib, String(bytes));
  });
  test("a file that is deleted and still open is counted", () => {
    const { kernel, walk } = report.deleted;
    assert.deepEqual([kernel.bytes - walk.bytes, kernel.inodes - walk.inodes], [mib, 1]);
  });
  test("a restarted agent continues with the same project", () => {
    assert.deepEqual(report.restarted.kernel, report.restarted.walk);
  });
  test("a volume on a filesystem without project quotas is measured by its directories", () => {
    assert.equal(report.withoutQuota, undefined);
  });
  test("nothing of a removed volume is reserved", () => {
    assert.deepEqual(report.released, ["7:/data\n", "data:7\n"]);
  });
});
