import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodSpec } from "../../../lib/model/pod.ts";
import { forbiddenSysctl, safeSysctls, sysctlAllowlist } from "./sysctls.ts";

describe("safeSysctls", () => {
  const rows: [rule: string, release: string, name: string, safe: boolean][] = [
    ["some are safe on every kernel", "2.6.32", "kernel.shm_rmid_forced", true],
    ["others since the kernel that namespaced them", "4.15.0-20-generic", "net.ipv4.tcp_rmem", true],
    ["and not before it", "4.14.9", "net.ipv4.tcp_rmem", false],
    ["a higher major version has them all", "6.1.0", "net.ipv4.tcp_wmem", true],
    ["a minor version is a number", "4.9.1", "net.ipv4.tcp_fin_timeout", true],
    ["an unknown release has only those of every kernel", "custom", "net.ipv4.tcp_keepalive_time", false],
  ];
  for (const [rule, release, name, safe] of rows)
    it(rule, () => assert.equal(safeSysctls(release).includes(name), safe));
});

describe("sysctlAllowlist", () => {
  for (const pattern of ["kernel.msg*", "net.core.somaxconn", "net.*", "net/ipv4/route/min_pmtu"])
    it(`accepts ${pattern}`, () => assert.doesNotThrow(() => sysctlAllowlist([pattern])));
  for (const [pattern, message] of [
    ["vm.swappiness", /^the sysctls "vm.swappiness" are not known to be namespaced$/],
    ["*", /^the sysctls "" are not known to be namespaced$/],
    ["net..core", /is not a sysctl/],
    ["net.*.core", /is not a sysctl/],
    ["", /is not a sysctl/],
  ] as const)
    it(`rejects "${pattern}"`, () => assert.throws(() => sysctlAllowlist([pattern]), { message }));
});

describe("forbiddenSysctl", () => {
  const allowed = sysctlAllowlist([...safeSysctls("6.1.0"), "kernel.msg*", "net.core.somaxconn"]);
  const of = (name: string, spec: Partial<PodSpec> = {}) =>
    forbiddenSysctl(
      fakePod({ spec: { ...(spec as object), securityContext: { sysctls: [{ name, value: "1" }] } } }),
      allowed,
    );
  const rows: [rule: string, name: string, spec: Partial<PodSpec>, expected: string | undefined][] = [
    ["a safe sysctl may be set", "net.ipv4.tcp_syncookies", {}, undefined],
    ["also when spelled with slashes", "net/ipv4/tcp_syncookies", {}, undefined],
    ["so may an allowed one", "net.core.somaxconn", {}, undefined],
    ["and one of an allowed pattern", "kernel.msgmax", {}, undefined],
    ["no other", "net.core.rmem_max", {}, 'forbidden sysctl: "net.core.rmem_max" not allowlisted'],
    [
      "none of the network on the host's network",
      "net.ipv4.tcp_syncookies",
      { hostNetwork: true },
      'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    ],
    [
      "none of IPC in the host's IPC, by pattern too",
      "kernel.msgmax",
      { hostIPC: true },
      'forbidden sysctl: "kernel.msgmax" not allowed with host IPC enabled',
    ],
    ["IPC ones on the host's network", "kernel.shm_rmid_forced", { hostNetwork: true }, undefined],
  ];
  for (const [rule, name, spec, expected] of rows) it(rule, () => assert.equal(of(name, spec), expected));
  it("a pod without sysctls sets none", () => assert.equal(forbiddenSysctl(fakePod(), allowed), undefined));
});
