import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import { CheckpointFile, type CheckpointOptions } from "./checkpoint-file.ts";

function setUp(t: TestContext, options: Partial<CheckpointOptions> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "checkpoint-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const state = { text: "a" };
  const errors: boolean[] = [];
  const file = new CheckpointFile({
    path: join(dir, "state"),
    content: () => state.text,
    onError: (_, isRepeated) => errors.push(isRepeated),
    ...options,
  });
  return { dir, state, errors, file };
}

/** Writes that a test completes one at a time. */
function manualWrites() {
  const writes: (PromiseWithResolvers<void> & { text: string })[] = [];
  const write = (_: string, text: string) => {
    const pending = { text, ...Promise.withResolvers<void>() };
    writes.push(pending);
    return pending.promise;
  };
  return { writes, write };
}

describe("checkpoint file", () => {
  it("a state that is saved at any point of an earlier write is in the file, for root only", async (t) => {
    for (let turns = 0; turns < 10; turns++) {
      const { state, file } = setUp(t);
      void file.save();
      await file.flushed();
      state.text = "b";
      void file.save();
      for (let i = 0; i < turns; i++) await Promise.resolve();
      state.text = "c";
      await file.save();
      assert.equal(readFileSync(file.path, "utf8"), "c", `after ${turns} turns`);
      assert.equal(statSync(file.path).mode & 0o777, 0o600);
    }
  });

  it("a save resolves when its state is written, and saves during a write share the next one", async () => {
    const { writes, write } = manualWrites();
    const state = { text: "a" };
    const file = new CheckpointFile({ path: "", content: () => state.text, write });
    const resolved: string[] = [];
    const save = (text: string) => {
      state.text = text;
      return file.save().then(() => resolved.push(text));
    };
    const all = [save("a")];
    await new Promise(setImmediate);
    all.push(save("b"), save("c"));
    await new Promise(setImmediate);
    assert.deepEqual(resolved, []);
    writes[0]?.resolve();
    await new Promise(setImmediate);
    assert.deepEqual(resolved, ["a"]);
    writes[1]?.resolve();
    await Promise.all(all);
    assert.deepEqual(
      writes.map(({ text }) => text),
      ["a", "c"],
    );
  });

  it("a state that is in the file already is not written again", async (t) => {
    const { writes, write } = manualWrites();
    const { file } = setUp(t, { write });
    writeFileSync(file.path, "a");
    assert.equal(await file.read(), "a");
    await file.save();
    assert.equal(writes.length, 0);
  });

  it("a missing file has no content; any other failure to read it is an error", async (t) => {
    const { file } = setUp(t);
    assert.equal(await file.read(), undefined);
    mkdirSync(file.path);
    await assert.rejects(file.read(), { code: "EISDIR" });
  });

  it("a corrupt file is read as it is, and replaced by the next save", async (t) => {
    const { dir, file } = setUp(t);
    writeFileSync(file.path, "{ not JSON");
    writeFileSync(join(dir, "state.new"), "of a write that was interrupted", { mode: 0o644 });
    assert.equal(await file.read(), "{ not JSON");
    await file.save();
    assert.equal(readFileSync(file.path, "utf8"), "a");
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
  });

  it("a reader finds a complete state at any time", async (t) => {
    const { state, file } = setUp(t);
    const texts = ["a".repeat(300_000), "b".repeat(200_000)];
    state.text = texts[0]!;
    await file.save();
    for (let i = 0; i < 20; i++) {
      state.text = texts[i % 2]!;
      let isDone = false;
      const saved = file.save().then(() => {
        isDone = true;
      });
      while (!isDone) {
        const found = readFileSync(file.path, "utf8");
        assert.ok(texts.includes(found), `${found.length} characters`);
        await new Promise(setImmediate);
      }
      await saved;
    }
  });

  it("a failed write rejects its savers, is reported once, and leaves the old state", async (t) => {
    const { dir, state, errors, file } = setUp(t);
    await file.save();
    mkdirSync(join(dir, "state.new", "in the way"), { recursive: true });
    state.text = "b";
    const saves = [file.save(), file.save()];
    for (const save of saves) await assert.rejects(save);
    assert.equal(await file.flushed(), false);
    file.retry();
    assert.equal(await file.flushed(), false);
    assert.deepEqual(errors, [false, true]);
    assert.equal(readFileSync(file.path, "utf8"), "a");
    rmSync(join(dir, "state.new"), { recursive: true });
    file.retry();
    assert.equal(await file.flushed(), true);
    assert.equal(readFileSync(file.path, "utf8"), "b");
  });

  it("the state from before a failed write is written again: the failed one may have replaced the file", async () => {
    const { writes, write } = manualWrites();
    const state = { text: "a" };
    const file = new CheckpointFile({ path: "", content: () => state.text, write });
    const save = async (text: string, how: "resolve" | "reject") => {
      state.text = text;
      const saved = file.save().catch(() => {});
      await new Promise(setImmediate);
      writes.at(-1)?.[how]();
      await saved;
    };
    await save("a", "resolve");
    await save("b", "reject");
    await save("a", "resolve");
    assert.deepEqual(
      writes.map(({ text }) => text),
      ["a", "b", "a"],
    );
  });

  it("after any order of saves, failures and retries, a last successful save is in the file", async () => {
    const step = fc.record({ text: fc.constantFrom("a", "b", "c"), fails: fc.boolean(), turns: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        let stored = "";
        let running = 0;
        const state = { text: "", fails: false };
        const file = new CheckpointFile({
          path: "",
          content: () => state.text,
          write: async (_, text) => {
            assert.equal(running++, 0, "two writes at a time");
            const { fails } = state;
            await Promise.resolve();
            running--;
            if (fails) throw new Error("disk full");
            stored = text;
          },
        });
        for (const { text, fails, turns } of steps) {
          Object.assign(state, { text, fails });
          void file.save();
          for (let i = 0; i < turns; i++) await Promise.resolve();
        }
        state.fails = false;
        await file.flushed();
        file.retry();
        assert.equal(await file.flushed(), true);
        assert.equal(stored, state.text);
      }),
    );
  });
});
