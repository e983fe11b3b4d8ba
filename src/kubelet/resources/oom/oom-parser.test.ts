import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { containerIdIn, isSystemOom, type OomKill, systemOomMessage } from "../../../lib/model/oom-kill.ts";
import { OomParser } from "./oom-parser.ts";

const recording = (name: string) =>
  readFileSync(new URL(`../../../../test/fixtures/kernel-log/${name}.txt`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.slice(line.indexOf(";") + 1));

function killsIn(lines: readonly string[]): OomKill[] {
  const parser = new OomParser();
  return lines.flatMap((line) => parser.next(line) ?? []);
}

const pod61 = "/kubepods/burstable/pod5a3d0c1e-6d2f-4a51-9d0f-2c3f6f0b7c11";
const id61 = "0f6c2d1b9e8a7f6054433221100ffeeddccbbaa99887766554433221100aabbc";
const slice310 =
  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0330b2c1_a15b_4cdd_b5e5_72d4a90bee82.slice";
const id310 = "b27201334a41cd0749d053b18378d7ea65617b8e26277197ea25c974da1a5a8a";
const id413 = "ec391272ec599d14b9d3ad22e7b3d37b4e3047eef9ea796e239861e0c209a763";
const pod413 = "/kubepods/burstable/podc2d3e4f5-2206-11e8-a5b0-42010a8401c2";
const full = (kb: number) => ({ bytes: kb * 1024, limit: kb * 1024 });

const recorded: Record<string, OomKill> = {
  "6.18-cgroup-v1": {
    pid: 25216,
    process: "tail",
    residentBytes: (20352 + 1684) * 1024,
    usage: full(20480),
    cgroup: "/po-oom",
    victimCgroup: "/po-oom",
  },
  "6.1-container": {
    pid: 685,
    process: "busybox",
    residentBytes: (8144 + 1216) * 1024,
    usage: full(8192),
    cgroup: `${pod61}/${id61}`,
    victimCgroup: `${pod61}/${id61}`,
  },
  "6.1-pod": {
    pid: 686,
    process: "busybox",
    residentBytes: (12228 + 1220) * 1024,
    usage: full(12288),
    cgroup: pod61,
    victimCgroup: `${pod61}/${id61}`,
  },
  "6.1-node": {
    pid: 687,
    process: "busybox",
    residentBytes: (23168 + 1092) * 1024,
    usage: undefined,
    cgroup: "/",
    victimCgroup: `${pod61}/${id61}`,
  },
  "4.13-container": {
    pid: 4289,
    process: "cp",
    residentBytes: (88 + 76) * 1024,
    usage: full(8192),
    cgroup: `${pod413}/${id413}`,
    victimCgroup: `${pod413}/${id413}`,
  },
  "4.4-node": {
    pid: 15925,
    process: "(resolved)",
    residentBytes: (4064 + 3584) * 1024,
    usage: undefined,
    cgroup: "/",
    victimCgroup: undefined,
  },
  "3.10-pod": {
    pid: 5282,
    process: "java",
    residentBytes: (466160 + 13684) * 1024,
    usage: full(1048576),
    cgroup: slice310,
    victimCgroup: `${slice310}/docker-${id310}.scope`,
  },
};

for (const [name, kill] of Object.entries(recorded))
  test(`the log of kernel ${name} has one OOM kill`, () =>
    assert.deepEqual(killsIn(recording(name)), [kill]));

test("kills that follow one another do not mix", () => {
  const names = ["6.1-container", "6.1-node", "3.10-pod", "4.4-node"];
  assert.deepEqual(
    killsIn(names.flatMap((name) => [...recording(name), "veth1: entered promiscuous mode"])),
    names.map((name) => recorded[name]),
  );
});

test("a kill whose messages are lost in part is not reported, and does not affect the next", () => {
  const parser = new OomParser();
  const container = recording("6.1-container");
  for (const line of container.slice(0, -2)) assert.equal(parser.next(line), undefined);
  parser.reset();
  assert.equal(parser.next(container.at(-1)!), undefined);
  assert.deepEqual(
    recording("6.1-node").flatMap((line) => parser.next(line) ?? []),
    [recorded["6.1-node"]],
  );
});

test("an OOM killer that finds no process to kill reports nothing", () =>
  assert.deepEqual(
    killsIn([
      "stress invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
      "memory: usage 8192kB, limit 8192kB, failcnt 82",
      "Out of memory and no killable processes...",
      ...recording("6.1-node"),
    ]),
    [recorded["6.1-node"]],
  ));

test("names with commas and parentheses are kept whole", () => {
  const [kill] = killsIn([
    "a,pid=1 (b) invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/x,y,task_memcg=/x,y/z,task=a,pid=1 (b),pid=9,uid=0",
    "Memory cgroup out of memory: Killed process 9 (a,pid=1 (b)) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:40kB oom_score_adj:0",
  ]);
  assert.deepEqual([kill?.process, kill?.cgroup, kill?.victimCgroup], ["a,pid=1 (b)", "/x,y", "/x,y/z"]);
});

test("a process ID that no kernel assigns ends no kill", () =>
  assert.deepEqual(
    killsIn([
      "a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
      `Memory cgroup out of memory: Killed process ${"7".repeat(400)} (a) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB`,
    ]),
    [],
  ));

test("only an OOM of the whole machine is a system OOM", () => {
  const system = Object.entries(recorded).filter(([, kill]) => isSystemOom(kill));
  assert.deepEqual(
    system.map(([name, kill]) => [name, systemOomMessage(kill)]),
    [
      ["6.1-node", "System OOM encountered, victim process: busybox, pid: 687"],
      ["4.4-node", "System OOM encountered, victim process: (resolved), pid: 15925"],
    ],
  );
});

test("the container is found in the cgroup of the process, regardless of the driver", () => {
  const rows: [cgroup: string | undefined, id: string | undefined][] = [
    [`${pod61}/${id61}`, id61],
    [`${slice310}/docker-${id310}.scope`, id310],
    [`/kubepods.slice/x.slice/cri-containerd-${id61}.scope/init.scope`, id61],
    [pod61, undefined],
    ["/system.slice/ssh.service", undefined],
    [undefined, undefined],
  ];
  for (const [cgroup, id] of rows) assert.equal(containerIdIn(cgroup), id, cgroup);
});
