import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { poolThreads, widenThreadPool } from "./thread-pool.ts";

for (const [setting, threads] of [
  [undefined, 4],
  ["16", 16],
  ["0", 1],
  ["-3", 1],
  ["5000", 1024],
  ["many", 1],
] as const)
  test(`the pool has ${threads} threads if the environment is ${setting}`, () => {
    assert.equal(poolThreads(setting === undefined ? {} : { UV_THREADPOOL_SIZE: setting }), threads);
  });

test("a value in the environment is kept", () => {
  const env = { UV_THREADPOOL_SIZE: "5" };
  widenThreadPool(env);
  assert.equal(env.UV_THREADPOOL_SIZE, "5");
});

test("the process has as many threads as set, if that is set before its first file call", () => {
  const url = new URL("./thread-pool.ts", import.meta.url).href;
  const script = (widen: string) => `
    import { readdirSync } from "node:fs";
    import { stat } from "node:fs/promises";
    import { poolThreads, widenThreadPool } from "${url}";
    ${widen}
    const before = readdirSync("/proc/self/task").length;
    await stat("/");
    console.log(readdirSync("/proc/self/task").length - before, poolThreads());`;
  const { UV_THREADPOOL_SIZE: _, ...env } = process.env;
  const run = (widen: string) =>
    execFileSync(process.execPath, ["--input-type=module", "-e", script(widen)], { env, encoding: "utf8" });
  assert.equal(run("").trim(), "4 4");
  assert.equal(run("widenThreadPool();").trim(), "8 8");
});
