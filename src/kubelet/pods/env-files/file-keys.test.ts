import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fakeContainer, fakePod } from "../../../lib/model/fake-pod.ts";
import { readFileKeys } from "./file-keys.ts";

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), "file-keys-"));
});
after(() => rm(dir, { recursive: true }));

const refTo = (path: string, key: string) => ({ volumeName: "v", path, key });
const read = (refs: readonly ReturnType<typeof refTo>[]) => {
  const env = refs.map((fileKeyRef, index) => ({ name: `V${index}`, valueFrom: { fileKeyRef } as object }));
  return readFileKeys(fakePod(), fakeContainer({ env }), () => dir);
};

test("a file with the values of many variables is read once", async () => {
  // Each time, this file takes tens of milliseconds.
  await writeFile(join(dir, "large"), `A='${"\n".repeat(900_000)}'\nB='b'\n`);
  const refs = Array.from({ length: 5000 }, (_, index) => refTo("large", index === 0 ? "B" : `K${index}`));
  const begin = performance.eventLoopUtilization();
  const get = await read(refs);
  const { active } = performance.eventLoopUtilization(begin);
  assert.deepEqual(
    refs.slice(0, 2).map((ref) => get(ref)?.value),
    ["b", undefined],
  );
  assert.ok(active < 30_000, `${active} ms`);
});

test("the files of a container have 8 MiB in total", async () => {
  const paths = Array.from({ length: 10 }, (_, index) => `file-${index}`);
  for (const path of paths)
    await writeFile(join(dir, path), `A='${path}'\n#${`${"x".repeat(60_000)}\n#`.repeat(17)}`);
  const refs = paths.map((path) => refTo(path, "A"));
  const get = await read(refs);
  assert.equal(get(refs[7]!)?.value, "file-7");
  assert.throws(() => get(refs[8]!), {
    code: "CreateContainerConfigError",
    message: "couldn't parse env file: the files of the container have more than 8388608 bytes",
  });
});
