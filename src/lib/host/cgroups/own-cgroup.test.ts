import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseOwnCgroup } from "./own-cgroup.ts";

describe("the cgroup that accounts for a process", () => {
  const rows: [string, 1 | 2, string, string | undefined][] = [
    ["v2: that of its service", 2, "0::/system.slice/kubelet.service\n", "/system.slice/kubelet.service"],
    ["v2: none in the root", 2, "0::/\n", undefined],
    ["v1: CPU and memory agree", 1, "4:memory:/a:b\n3:cpu,cpuacct:/a:b\n0::/\n", "/a:b"],
    ["v1: CPU and memory differ", 1, "4:memory:/a\n3:cpu,cpuacct:/\n0::/a\n", undefined],
    ["v1: one is not mounted", 1, "4:memory:/a\n", undefined],
    ["nothing", 2, "", undefined],
  ];
  for (const [name, version, text, path] of rows)
    it(name, () => assert.equal(parseOwnCgroup(version, text), path));
});
