import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { long } from "../long.ts";

const scripts: string = new URL("../../scripts/lib/arm64-emulation.mjs", import.meta.url).href;
const { noArm64Emulation, provideArm64Node } = await import(scripts);

/**
 * Unit tests that make system calls or read what the kernel reports. The emulator translates system calls, so arm64's numbers, flags and
 * layouts are used. Not these: program-pages (unmaps pages that the emulator needs), hang-guard (its calls would block the emulator), quotas
 * and memory thresholds (quotactl_fd is not translated; cgroup v1 only), entries (only takes long).
 */
const files = [
  "lib/base/linux",
  ...["checkpoint-file", "container-log", "device-size", "file-lock", "host-addresses", "hugepages"].map(
    host,
  ),
  ...["kernel-log.host", "make-dirs", "mounts", "netlink", "node-info", "open-dir", "sd-notify"].map(host),
  "lib/clients/dbus/connection",
  "kubelet/pods/volumes/mounts/ownership",
  "kubelet/pods/volumes/mounts/sub-paths",
];
/** Races that need many rounds, and millions of lines: the emulator is slow. */
const slow = "/in \\d+ (rounds|walks)|in search of entries/";

function host(name: string): string {
  return `lib/host/${name}`;
}

const why = process.getuid?.() === 0 ? noArm64Emulation() : "needs root";

test(long("unit tests that make system calls pass on an emulated arm64"), {
  skip: why ?? false,
}, async (t) => {
  const program = await provideArm64Node();
  const paths = files.map((name) => fileURLToPath(new URL(`../../src/${name}.test.ts`, import.meta.url)));
  const options = [
    "--test-isolation=none",
    "--test-reporter=tap",
    "--test-timeout=110000",
    `--test-skip-pattern=${slow}`,
  ];
  // Without the context of this test run, to which it would report.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(program, [...options, "--test", ...paths], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.equal(code, 0, output);
  const [passed = 0] = [/^# pass (\d+)$/m.exec(output)?.[1]].map(Number);
  assert.ok(passed > 90, `${passed} tests passed`);
});
