import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { NodeDockerConfig, searchPath } from "./node-docker-config.ts";

test("files of the newer format come first", () => {
  const paths = searchPath({ rootDir: "/root-dir", workingDir: "/cwd", homeDir: "/home/x" }).map(
    (f) => f.path,
  );
  assert.deepEqual(paths, [
    "/root-dir/config.json",
    "/cwd/config.json",
    "/home/x/.docker/config.json",
    "/.docker/config.json",
    "/root-dir/.dockercfg",
    "/cwd/.dockercfg",
    "/home/x/.dockercfg",
    "/.dockercfg",
  ]);
});

function setUp(t: { after: (work: () => void) => void }) {
  const dir = mkdtempSync(join(tmpdir(), "docker-config-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const at = (name: string) => join(dir, name);
  for (const name of ["root", "cwd", "home/.docker"]) mkdirSync(at(name), { recursive: true });
  const clock = new FakeClock();
  const warned: unknown[] = [];
  const config = new NodeDockerConfig({
    rootDir: at("root"),
    workingDir: at("cwd"),
    homeDir: at("home"),
    clock,
    logger: { ...silentLogger, warn: (_message, fields) => warned.push(fields?.path) },
  });
  const write = (name: string, value: unknown) => writeFileSync(at(name), JSON.stringify(value));
  const users = async () => (await config.read()).map(([, c]) => c.username);
  return { clock, warned, write, users, at };
}

test("only the first valid file is used; an invalid one is logged and skipped", async (t) => {
  const { users, write, warned, at } = setUp(t);
  write("root/config.json", []);
  write("home/.docker/config.json", { auths: { "r.io": { username: "home" } } });
  write("root/.dockercfg", { "r.io": { username: "older" } });
  assert.deepEqual(await users(), ["home"]);
  assert.deepEqual(warned, [at("root/config.json")]);
});

test("the older format is used if there is no newer file", async (t) => {
  const { users, write } = setUp(t);
  write("cwd/.dockercfg", { "r.io": { username: "older" } });
  assert.deepEqual(await users(), ["older"]);
});

test("the files are read again after 5 minutes", async (t) => {
  const { users, write, clock } = setUp(t);
  write("root/config.json", { auths: { "r.io": { username: "first" } } });
  assert.deepEqual(await users(), ["first"]);
  write("root/config.json", { auths: { "r.io": { username: "second" } } });
  await clock.advance(299_999);
  assert.deepEqual(await users(), ["first"]);
  await clock.advance(1);
  assert.deepEqual(await users(), ["second"]);
});
