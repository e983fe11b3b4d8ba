import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseOwnCgroup } from "./own-cgroup.ts";

describe("the cgroup that accounts for a process", () => {
  const rows: [string, 1 | 2, string, string | undefined][] = [
    [
      "on v2 it is that of the service",
      2,
      "0::/system.slice/kubelet.service\n",
      "/system.slice/kubelet.service",
    ],
    ["on v2 it is unknown in the root", 2, "0::/\n", undefined],
    ["on v1 it is known if CPU and memory agree", 1, "4:memory:/a:b\n3:cpu,cpuacct:/a:b\n0::/\n", "/a:b"],
    ["on v1 it is unknown if CPU and memory differ", 1, "4:memory:/a\n3:cpu,cpuacct:/\n0::/a\n", undefined],
    ["on v1 it is unknown if one controller is not mounted", 1, "4:memory:/a\n", undefined],
    ["it is unknown without any entry", 2, "", undefined],
  ];
  for (const [name, version, text, path] of rows)
    it(name, () => assert.equal(parseOwnCgroup(version, text), path));
});
