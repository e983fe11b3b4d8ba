import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { abortable, orAbort, whenAborted } from "./abort.ts";

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;
const aborted = { name: "AbortError" };

describe("whenAborted", () => {
  it("the callback runs once, after the abort or immediately", () => {
    const controller = new AbortController();
    const calls: string[] = [];
    whenAborted(controller.signal, () => calls.push("later"));
    assert.equal(calls.length, 0);
    controller.abort();
    controller.abort();
    whenAborted(controller.signal, () => calls.push("immediately"));
    assert.deepEqual(calls, ["later", "immediately"]);
  });

  it("a callback that is disposed of does not run and leaves no listener", () => {
    const controller = new AbortController();
    const calls: string[] = [];
    {
      using _ = whenAborted(controller.signal, () => calls.push("called"));
      assert.equal(listeners(controller.signal), 1);
    }
    assert.equal(listeners(controller.signal), 0);
    controller.abort();
    assert.deepEqual(calls, []);
  });
});

describe("abortable", () => {
  it("an aborted signal starts nothing", async () => {
    const start = () => assert.fail("started");
    await assert.rejects(abortable(AbortSignal.abort("why"), start), { ...aborted, cause: "why" });
  });

  for (const [end, expected] of [
    ["resolve", "done"],
    ["reject", "failed"],
    ["abort", "aborted"],
  ] as const)
    it(`what was acquired is released once on ${end}, before the caller resumes, and no listener remains`, async () => {
      const controller = new AbortController();
      const log: string[] = [];
      let settle = (_: typeof end) => {};
      const result = abortable<string>(controller.signal, (resolve, reject) => {
        settle = (how) => {
          if (how === "abort") controller.abort();
          else if (how === "resolve") resolve("done");
          else reject(new Error("failed"));
        };
        return () => log.push("released");
      });
      assert.equal(listeners(controller.signal), 1);
      settle(end);
      for (const how of ["resolve", "reject", "abort"] as const) settle(how);
      log.push(await result.catch((error: Error) => error.message));
      assert.deepEqual(log, ["released", expected]);
      assert.equal(listeners(controller.signal), 0);
    });

  it("a start that settles before it returns is released, too", async () => {
    const { signal } = new AbortController();
    let released = 0;
    const start = (resolve: (value: number) => void) => {
      resolve(1);
      return () => released++;
    };
    assert.equal(await abortable(signal, start), 1);
    assert.equal(released, 1);
    assert.equal(listeners(signal), 0);
  });

  it("a start that throws rejects and leaves no listener", async () => {
    const { signal } = new AbortController();
    const start = () => {
      throw new Error("failed");
    };
    await assert.rejects(abortable(signal, start), /failed/);
    assert.equal(listeners(signal), 0);
  });
});

test("no other file listens to aborts, and only commands and the page use AbortSignal.timeout", () => {
  const src = join(import.meta.dirname, "../..");
  const isExempt = (file: string) => /\.test\.ts$|^lib\/base\/abort\.ts$|^cli\/|^console\/page\//.test(file);
  const files = globSync("**/*.ts", { cwd: src }).filter((file) => !isExempt(file));
  assert.ok(files.length > 1000);
  const found = files.filter((file) =>
    /EventListener\("abort"|\.onabort\b|AbortSignal\.timeout/.test(readFileSync(join(src, file), "utf8")),
  );
  assert.deepEqual(found, []);
});

describe("orAbort", () => {
  it("an abort before, during and after the work ends only the wait", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const [during, after] = [new AbortController(), new AbortController()];
    const waits = [AbortSignal.abort(), during.signal, after.signal, undefined].map((signal) =>
      orAbort(promise, signal).catch((error: Error) => error.name),
    );
    during.abort();
    resolve("done");
    const results = await Promise.all(waits);
    after.abort();
    assert.deepEqual(results, ["AbortError", "AbortError", "done", "done"]);
  });

  it("many waits on one signal leave no listener, and a later failure of the work is not unhandled", async (t) => {
    const { signal } = new AbortController();
    for (let i = 0; i < 100; i++) await orAbort(Promise.resolve(i), signal);
    assert.equal(listeners(signal), 0);
    let unhandled = 0;
    const count = () => unhandled++;
    process.on("unhandledRejection", count);
    t.after(() => process.off("unhandledRejection", count));
    const work = Promise.withResolvers<void>();
    const abort = new AbortController();
    const waits = [orAbort(work.promise, abort.signal), orAbort(work.promise, AbortSignal.abort())];
    abort.abort();
    for (const wait of waits) await assert.rejects(wait, aborted);
    work.reject(new Error("too late"));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unhandled, 0);
  });
});
