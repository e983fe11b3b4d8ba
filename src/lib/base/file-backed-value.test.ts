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
  const value = new FileBackedValue(parts, (texts) => {
    if (texts.includes("bad")) throw new Error("bad");
    return { texts: [...texts] };
  });
  const write = (index: number, text: string, version: string) =>
    Object.assign(files[index]!, { text, version });
  return { value, reads, write };
}

test("files are re-read only after they were touched", async () => {
  const { value, reads, write } = setUp();
  assert.equal(value.value, undefined);
  assert.equal(await value.reload(), "loaded");
  assert.deepEqual(value.value, { texts: ["a", "b"] });
  assert.equal(await value.reload(), "untouched");
  assert.equal(reads.length, 2);
  write(1, "c", "2");
  assert.equal(await value.reload(), "changed");
  assert.deepEqual(value.value, { texts: ["a", "c"] });
  assert.equal(reads.length, 4);
});

test("the value remains the same object while the content is unchanged", async () => {
  const { value, write } = setUp();
  await value.reload();
  const before = value.value;
  write(0, "a", "2");
  assert.equal(await value.reload(), "same");
  assert.equal(value.value, before);
  assert.equal(await value.reload(), "untouched");
});

test("invalid content does not change the value and is re-read", async () => {
  const { value, write } = setUp();
  await value.reload();
  const before = value.value;
  write(0, "bad", "2");
  await assert.rejects(value.reload(), /bad/);
  await assert.rejects(value.reload(), /bad/);
  assert.equal(value.value, before);
  write(0, "d", "3");
  assert.equal(await value.reload(), "changed");
});

test("a first load that fails is retried", async () => {
  const { value, write } = setUp();
  write(0, "bad", "1");
  await assert.rejects(value.reload(), /bad/);
  assert.equal(value.value, undefined);
  write(0, "a", "1");
  assert.equal(await value.reload(), "loaded");
});
