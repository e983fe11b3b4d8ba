import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { restartsByLogs } from "./restart-logs.ts";

const table: [rule: string, files: string[], restarts: number][] = [
  ["no logs", [], 0],
  ["the first run", ["0.log"], 1],
  ["the highest is used", ["0.log", "10.log", "9.log"], 11],
  ["rotated and compressed ones count", ["2.log", "3.log.20260101-000000.gz"], 4],
  ["a file that is not a log of a run is omitted", ["a.log", "7.txt", "x7.log", ".log", "-1.log"], 0],
  ["numbers that no run can have are omitted", ["99999999999999999999.log", "1.log"], 2],
  ["a directory is not a log", ["5.log/"], 0],
];
async function directory(t: TestContext, files: string[]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "restart-logs-"));
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (const file of files)
    await (file.endsWith("/") ? mkdir(join(dir, file)) : writeFile(join(dir, file), ""));
  return dir;
}
for (const [rule, files, restarts] of table)
  test(`restarts by logs: ${rule}`, async (t) =>
    assert.equal(await restartsByLogs(await directory(t, files)), restarts));

test("restarts by logs: no directory", async (t) => {
  assert.equal(await restartsByLogs(join(await directory(t, []), "none")), 0);
});
