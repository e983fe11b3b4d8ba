import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { kernelOptions } from "./mount-options.ts";
import { hostMounts } from "./mounts.ts";
import { removeTree } from "./remove-tree.ts";

test("options of mount(8) become flags, and the rest is passed to the filesystem; the last of two opposites wins", () => {
  const label = 'context="system_u:object_r:container_file_t:s0:c1,c2"';
  const table: [string[], number, string][] = [
    [[], 0, ""],
    [["ro"], 1, ""],
    [["ro", "rw"], 0, ""],
    [["nosuid", "nodev", "noexec"], 14, ""],
    [["rbind"], 4096 | 16384, ""],
    [["size=1000", "noatime", "mode=700"], 1024, "size=1000,mode=700"],
    [["defaults", ""], 0, ""],
    [["_netdev", "nofail", "x-systemd.automount", "comment=a", "errors=remount-ro"], 0, "errors=remount-ro"],
    [["user", "exec"], 2 | 4, ""],
    [["_netdev,noatime,size=1k"], 1024, "size=1k"],
    [[`ro,${label},nouuid`], 1, `${label},nouuid`],
    // Options with a value are the filesystem's.
    [["sync=disabled", "group=7"], 0, "sync=disabled,group=7"],
  ];
  for (const [options, flags, data] of table)
    assert.deepEqual(kernelOptions(options, true), { flags, data }, options.join());
});

test("labels are omitted on a machine without SELinux, as mount(8) does", () => {
  const options = ["context=a", "fscontext=a", "defcontext=a", "rootcontext=a", "seclabel", "discard"];
  assert.equal(kernelOptions(options, false).data, "discard");
  assert.equal(kernelOptions(options, true).data, options.join());
});

describe("a volume is mounted with the same options as by mount(8)", {
  skip: process.getuid?.() !== 0 && "needs root",
}, () => {
  const all = [
    "_netdev,nofail,auto,noauto,nouser,comment=a",
    "x-systemd.requires=network.target,X-mount.example,helper=a,uhelper=b,encryption=c",
    "user",
    "users,suid",
    "owner",
    "group,dev",
    "user=root,exec,dev,suid",
    "exec,user",
    "diratime,nolazytime,noiversion,nomand,loud,symfollow",
    "lazytime,mand",
    "iversion,silent",
    "nosymfollow",
    "norelatime,nostrictatime",
    "strictatime,nodiratime",
    "noatime,atime",
    "sync,dirsync",
    "ro,size=1m",
    ...(hasSELinux() ? [] : ["context=system_u:object_r:container_file_t:s0,seclabel"]),
  ];
  for (const options of all)
    it(options, async () => {
      const dir = await mkdtemp(join(tmpdir(), "mount-options-"));
      const [byProgram, byCall] = [join(dir, "a"), join(dir, "b")];
      try {
        for (const at of [byProgram, byCall]) await mkdir(at);
        execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", byProgram]);
        await hostMounts.mount("tmpfs", byCall, "tmpfs", options.split(","));
        const [expected, actual] = [await hostMounts.at(byProgram), await hostMounts.at(byCall)];
        assert.deepEqual(
          [actual?.mountOptions, actual?.options],
          [expected?.mountOptions, expected?.options],
        );
      } finally {
        for (const at of [byProgram, byCall]) await hostMounts.unmount(at);
        await removeTree(dir);
      }
    });
});

function hasSELinux(): boolean {
  return hostMounts.list().some(({ fsType }) => fsType === "selinuxfs");
}
