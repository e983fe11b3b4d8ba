import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { eventually } from "../../test/contracts/eventually.ts";
import { freePort } from "../../test/e2e/agent-process.ts";

const main = new URL("./main.ts", import.meta.url).pathname;

/** Code that runs in the process before its own: one signal causes an unhandled rejection, one an uncaught exception. */
const faults = `data:text/javascript,${encodeURIComponent(`
  process.on("SIGUSR2", () => void Promise.reject(new Error("an unhandled promise")));
  process.on("SIGWINCH", () => { throw new Error("a callback failed"); });
`)}`;

test("an unhandled rejection is logged in one line; an uncaught exception is, too, and exits the process", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "faults-"));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const args = ["--import", faults, main, "api", "--dir", dir, "--port", String(await freePort())];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  await once(child.stdout, "data");
  for (const count of [1, 2]) {
    child.kill("SIGUSR2");
    await eventually(() => (lines.filter(isRejection).length === count ? true : undefined));
  }
  assert.equal(child.exitCode, null);
  child.kill("SIGWINCH");
  assert.deepEqual(await exited, [1, null]);
  await eventually(() => (lines.length >= 3 ? true : undefined));
  assert.equal(lines.length, 3, lines.join("\n"));
  assert.match(
    lines[2]!,
    /^E\d{4} .* "Uncaught exception, exiting" err="a callback failed" stack="Error: a callback failed\\n {4}at /,
  );
});

const isRejection = (line: string) =>
  /^E\d{4} .* "Unhandled promise rejection" err="an unhandled promise" stack="Error: an unhandled promise\\n {4}at /.test(
    line,
  );

test("a log on a full disk does not end the process", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "faults-"));
  const full = await open("/dev/full", "w");
  t.after(async () => {
    await full.close();
    await rm(dir, { recursive: true, force: true });
  });
  const args = ["--import", faults, main, "api", "--dir", dir, "--port", String(await freePort())];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", full.fd] });
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  await once(child.stdout!, "data");
  child.kill("SIGUSR2");
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
});
