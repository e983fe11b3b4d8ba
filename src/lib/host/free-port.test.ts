import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { persistentPort } from "./free-port.ts";

const host = "127.0.0.1";

function ownDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "ports-"));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** A port that is free now. */
async function anyPort(): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

/** Another process that requests it, reports its port, and runs until the test ends. */
async function request(t: TestContext, file: string, usual: number): Promise<number> {
  const module = import.meta.resolve("./free-port.ts");
  const code = `const { persistentPort } = await import(${JSON.stringify(module)});
    console.log(await persistentPort(...${JSON.stringify([file, host, usual])})); process.stdin.resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return Number(line);
}

test("the port of the last run, or the preferred one, or any free one", async (t) => {
  const taken = createServer().listen(0, host);
  await once(taken, "listening");
  t.after(() => taken.close());
  const busy = (taken.address() as { port: number }).port;
  const file = join(ownDir(t), "port");
  const first = await persistentPort(file, host, busy);
  assert.notEqual(first, busy);
  assert.equal(readFileSync(file, "utf8"), `${first}\n`);
  assert.equal(await persistentPort(file, host, busy), first);
  writeFileSync(file, "what?");
  assert.notEqual(await persistentPort(file, host, busy), busy);
  const usual = await anyPort();
  assert.equal(await persistentPort(join(ownDir(t), "port"), host, usual), usual);
});

test("only one of several processes that request a port concurrently gets it, even before it listens", async (t) => {
  const dir = ownDir(t);
  const usual = await anyPort();
  const ports = await Promise.all(["a", "b", "c"].map((name) => request(t, join(dir, name), usual)));
  assert.equal(ports.filter((port) => port === usual).length, 1, ports.join(" "));
  assert.equal(new Set(ports).size, 3, ports.join(" "));
});
