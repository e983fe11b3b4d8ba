import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { normalizeSysctl, sysctlNamespace } from "./sysctl.ts";

describe("normalizeSysctl", () => {
  const rows: [rule: string, name: string, want: string][] = [
    ["dots are kept", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_port_range"],
    ["slashes become dots", "net/ipv4/tcp_syncookies", "net.ipv4.tcp_syncookies"],
    [
      "the first separator decides: a dot after slashes is a slash",
      "net/ipv4/conf/eno2.100/rp_filter",
      "net.ipv4.conf.eno2/100.rp_filter",
    ],
    ["a slash after dots is kept", "net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter"],
    ["a name without parts is kept", "kernel", "kernel"],
  ];
  for (const [rule, name, want] of rows) it(rule, () => assert.equal(normalizeSysctl(name), want));
});

describe("sysctlNamespace", () => {
  for (const [name, want] of [
    ["kernel.sem", "IPC"],
    ["kernel.shm_rmid_forced", "IPC"],
    ["kernel.msgmax", "IPC"],
    ["fs.mqueue.queues_max", "IPC"],
    ["net.core.somaxconn", "Net"],
    ["kernel.semaphores", undefined],
    ["vm.swappiness", undefined],
  ] as const)
    it(`of ${name} is ${want ?? "not known"}`, () => assert.equal(sysctlNamespace(name), want));
});
