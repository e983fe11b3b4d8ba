import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { OomParser } from "../../../src/kubelet/resources/oom/oom-parser.ts";
import { type KernelMessage, openKernelLog } from "../../../src/lib/host/kernel-log.ts";
import type { FuzzTarget } from "../target.ts";

const recorded = (name: string) =>
  readFileSync(new URL(`../../fixtures/kernel-log/${name}`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => /oom|killed|Killed/.test(line))
    .map((line, i) => `6,${i + 1},5140900,-;${line}`)
    .join("\n\n");

/** Records of /dev/kmsg, with an empty line between them. */
export default {
  seeds: [
    "6,339,5140900,-;text\n SUBSYSTEM=x",
    "3,1,1,-;p invoked oom-killer: a\n\n3,2,1,-;memory: usage 1024kB, limit 1024kB, failcnt 1\n\n3,3,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=p,pid=7,uid=0\n\n3,4,1,-;Memory cgroup out of memory: Killed process 7 (p) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:4kB, UID:0",
    ...["4.13-container.txt", "6.1-pod.txt", "6.18-cgroup-v1.txt"].map(recorded),
  ],
  maxLength: 2000,
  async run(input) {
    const records = input.toString("utf8").split("\n\n");
    let at = 0;
    const log = await openKernelLog(async () => ({
      read: () => {
        const record = records[at++];
        if (record === undefined) throw Object.assign(new Error("none"), { code: "EAGAIN" });
        return record;
      },
      close: () => {},
    }));
    const messages: KernelMessage[] = log.read();
    assert.ok(messages.length <= records.length);
    const parser = new OomParser();
    for (const { text, afterGap } of messages) {
      assert.ok(!text.includes("\n"));
      if (afterGap) parser.reset();
      const kill = parser.next(text);
      if (kill === undefined) continue;
      assert.match(text, /Killed process \d/);
      assert.ok(Number.isFinite(kill.pid) && kill.process.length > 0 && text.includes(kill.process));
      assert.ok(kill.residentBytes === undefined || kill.residentBytes >= 0);
    }
  },
} satisfies FuzzTarget;
