import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { aptGet, aptProgress, heldLock } from "./apt-get.mjs";

const skip = !existsSync("/usr/bin/apt-get") && "this is not Debian: apt-get is missing";

/** An apt-get with directories of its own and no sources: an update only takes the lock. */
function ownApt(t) {
  const dir = mkdtempSync(join(tmpdir(), "kubelet-ts-apt-"));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "lists/partial"), { recursive: true });
  mkdirSync(join(dir, "archives/partial"), { recursive: true });
  writeFileSync(join(dir, "status"), "");
  const settings = {
    "Dir::State": dir,
    "Dir::State::status": join(dir, "status"),
    "Dir::Cache": dir,
    "Dir::Etc::SourceList": "/dev/null",
    "Dir::Etc::SourceParts": "/dev/null",
  };
  return { dir, options: Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]) };
}

/** Locks as apt does, until its input ends. Perl is part of every Debian. */
async function lockHolder(file) {
  const program = `use Fcntl; open(my $f, ">", $ARGV[0]) or die; my $l = pack("s s x4 q q l x4", F_WRLCK, 0, 0, 0, 0);
    fcntl($f, F_SETLK, $l) or die "$!"; $| = 1; print "locked\\n"; <STDIN>;`;
  const holder = spawn("perl", ["-e", program, file], { stdio: ["pipe", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  return holder;
}

test("apt-get waits visibly until another package manager is done", { skip }, async (t) => {
  const { dir, options } = ownApt(t);
  const holder = await lockHolder(join(dir, "lists/lock"));
  t.after(() => holder.kill());
  const printed = [];
  const printLine = (line) => {
    printed.push(line);
    holder.stdin.end(); // the other package manager is done once the wait is visible
  };
  assert.equal(await aptGet([...options, "update"], { retryMs: 10, printLine }), undefined);
  assert.deepEqual(printed, [
    `  waiting until another package manager is done: perl (process ${holder.pid}) holds ${dir}/lists/lock`,
  ]);
});

test("apt-get gives up after the time limit and names the holder of the lock", { skip }, async (t) => {
  const { dir, options } = ownApt(t);
  const holder = await lockHolder(join(dir, "lists/lock"));
  t.after(() => holder.kill());
  const problem = await aptGet([...options, "update"], { limitMs: 0, retryMs: 1, printLine: () => {} });
  assert.match(
    problem,
    /^Another package manager is still at work after [\d.]+ s: perl \(process \d+\) holds /,
  );
});

test("other failures of apt-get are reported at once", { skip }, async (t) => {
  const { options } = ownApt(t);
  const problem = await aptGet([...options, "install", "no-such-package-here"], { printLine: assert.fail });
  assert.match(problem, /Unable to locate package no-such-package-here/);
});

test("only a held lock is waited for", () => {
  const lists = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1234 (apt-get)\n";
  assert.equal(heldLock(lists), "apt-get (process 1234) holds /var/lib/apt/lists/lock");
  const dpkg =
    "E: Could not get lock /var/lib/dpkg/lock-frontend - open (11: Resource temporarily unavailable)";
  assert.equal(heldLock(dpkg), "/var/lib/dpkg/lock-frontend is locked");
  assert.equal(
    heldLock("E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)"),
    undefined,
  );
});

test("the progress of apt-get is what it reports", () => {
  assert.equal(aptProgress("dlstatus:1:20.51:Retrieving file 1 of 5 (2s remaining)"), "downloaded 20 %");
  assert.equal(
    aptProgress("pmstatus:containerd:40.0:Unpacking containerd (amd64)"),
    "40 %, Unpacking containerd (amd64)",
  );
  assert.equal(aptProgress("media-change: CD:/cdrom"), undefined);
});
