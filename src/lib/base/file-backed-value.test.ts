import assert from "node:assert/strict";
import { test } from "node:test";
import { FileBackedValue } from "./file-backed-value.ts";

function setUp() {
  const files = [
    { version: "1", text: "a" },
    { version: "1", text: "b" },
  ];
  const reads: number[] = [];
  const parts = files.map((file, index) => ({
    version: async () => file.version,
    read: async () => {
      reads.push(index);
      return file.text;
    },
  }));
  const made = new FileBackedValue(parts, (texts) => {
    if (texts.includes("bad")) throw new Error("bad");
    return { texts: [...texts] };
  });
  const write = (index: number, text: string, version: string) =>
    Object.assign(files[index]!, { text, version });
  return { made, reads, write };
}

test("files are read again only after they were touched", async () => {
  const { made, reads, write } = setUp();
  assert.equal(made.value, undefined);
  assert.equal(await made.reload(), "loaded");
  assert.deepEqual(made.value, { texts: ["a", "b"] });
  assert.equal(await made.reload(), "untouched");
  assert.equal(reads.length, 2);
  write(1, "c", "2");
  assert.equal(await made.reload(), "changed");
  assert.deepEqual(made.value, { texts: ["a", "c"] });
  assert.equal(reads.length, 4);
});

test("the value is the same object while the content is", async () => {
  const { made, write } = setUp();
  await made.reload();
  const before = made.value;
  write(0, "a", "2");
  assert.equal(await made.reload(), "same");
  assert.equal(made.value, before);
  assert.equal(await made.reload(), "untouched");
});

test("invalid content keeps the value and is read again", async () => {
  const { made, write } = setUp();
  await made.reload();
  const before = made.value;
  write(0, "bad", "2");
  await assert.rejects(made.reload(), /bad/);
  await assert.rejects(made.reload(), /bad/);
  assert.equal(made.value, before);
  write(0, "d", "3");
  assert.equal(await made.reload(), "changed");
});

test("a first load that fails is retried", async () => {
  const { made, write } = setUp();
  write(0, "bad", "1");
  await assert.rejects(made.reload(), /bad/);
  assert.equal(made.value, undefined);
  write(0, "a", "1");
  assert.equal(await made.reload(), "loaded");
});
