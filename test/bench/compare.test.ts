import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { built, launcherFile } from "../e2e/built.ts";
import { long } from "../long.ts";
import { containerdVersions } from "../node/test-node.ts";
import * as compare from "./compare.ts";
import { type FigureKey, figureKeys, figures, type Row } from "./figures.ts";
import { parseOptions, UsageError } from "./options.ts";

const containerd = containerdVersions().find(({ name }) => name === "2.x")!.available;
const skip = containerd !== true ? containerd : built !== true && built;

async function bench(t: TestContext, ...args: string[]) {
  const child = spawn(process.execPath, [`${import.meta.dirname}/main.ts`, ...args]);
  t.after(() => child.kill());
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { out, err, code: code as number | null };
}

/** These exist without a kubelet. */
const floorKeys: FigureKey[] = [
  ...(["onePod", "burstMedian", "burstLast", "deleteOne", "deleteAll", "killedToRunning"] as const),
];

test(long("a run reports every figure of the runtime and of each kubelet"), { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "bench-report-"));
  t.after(() => rm(dir, { recursive: true }));
  const [json, svg] = [join(dir, "bench.json"), join(dir, "bench.svg")];
  const sizes = ["--pods", "2", "--rounds", "1", "--seconds", "1", "--samples", "1"];
  const { out, err, code } = await bench(
    t,
    ...[...sizes, "--reference", launcherFile, "--json", json, "--svg", svg],
  );
  assert.equal(code, 0, out + err);
  const report = JSON.parse(await readFile(json, "utf8")) as {
    columns: { name: string }[];
    rows: Row[];
    kubelets: { name: string; version: string }[];
    options: object;
  };
  assert.deepEqual(
    report.columns.map(({ name }) => name),
    ["runtime", "kubelet-ts", "reference"],
  );
  assert.deepEqual(report.options, { pods: 2, rounds: 1, seconds: 1, samples: 1 });
  assert.match(report.kubelets[1]!.version, /^v1\.\d+/);
  assert.deepEqual(
    report.rows.map(({ key }) => key),
    figureKeys,
  );
  for (const { key, cells } of report.rows) {
    assert.equal(cells[0]?.values.length, floorKeys.includes(key) ? 1 : undefined, key);
    for (const cell of cells.slice(1)) {
      assert.equal(cell?.values.length, 1, key);
      // CPU times of less than 10 ms are 0.
      assert.ok(cell.median >= 0 && Number.isFinite(cell.median), `${key}: ${cell.median}`);
    }
    assert.ok(out.includes(figures[key].label), key);
  }
  const ours = (key: FigureKey) => report.rows.find((row) => row.key === key)!.cells[1]!.median;
  // One or two statuses and three events of each pod; at most as many again for the node.
  assert.ok(ours("burstRequests") >= 8 && ours("burstRequests") <= 30, `${ours("burstRequests")} requests`);
  assert.ok(ours("burstLast") >= ours("burstMedian"));
  assert.ok(ours("startCpu") > 0 && ours("startToReady") > 0);
  assert.ok(ours("idleMemory") > 20 && ours("podsMemory") < 1000);
  assert.match(await readFile(svg, "utf8"), /^<svg [\s\S]*<\/svg>\n$/);
});

for (const [args, message] of [
  [["--reference", "/dev/null"], /^\/dev\/null is not a kubelet/],
  [["--reference", process.execPath], /node is not a kubelet: --version prints "v24/],
  [["--json", "/does/not/exist.json"], /its directory does not exist or is not writable$/],
  [["--kubeconfig", "/does/not/exist"], /^\/does\/not\/exist does not exist or is not readable$/],
] as const)
  test(`${args.join(" ")} is rejected before anything is started`, {
    skip: built !== true && built,
  }, async () => {
    const rejected = (error: unknown) => error instanceof UsageError && message.test(error.message);
    await assert.rejects(compare.run(parseOptions(compare.options, args)), rejected);
  });

test("an unknown mode is reported with the known ones, and the exit status is 2", async (t) => {
  const { out, err, code } = await bench(t, "burst");
  assert.match(err, /^npm run bench: unknown mode "burst"; known: cold-start, compare, console, idle/);
  assert.deepEqual([out, code], ["", 2]);
});
