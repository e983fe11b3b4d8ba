import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type BuildOptions, build } from "esbuild";
import { repoDir } from "./agent-process.ts";
import { built, builtFile, launcherFile } from "./built.ts";

const skip = built !== true && built;
let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), "bundles-"));
});
after(() => rmSync(dir, { recursive: true, force: true }));

test("a bundle contains its product and the libraries, and no other product", async () => {
  const { bundleOptions } = (await import(join(repoDir, "scripts/lib/bundle.mjs"))) as {
    bundleOptions(): BuildOptions;
  };
  const { metafile } = await build({ ...bundleOptions(), write: false, metafile: true });
  const bundleOf = (name: string) => Object.keys(metafile.outputs[`dist/${name}.cjs`]!.inputs);
  const below = (name: string, directory: string) =>
    bundleOf(name).filter((file) => file.startsWith(`src/${directory}/`));
  assert.ok(below("agent", "kubelet").length > 100);
  assert.deepEqual([...below("agent", "apiserver"), ...below("agent", "single-node")], []);
  // The agent knows only the API types of pods and nodes.
  const groups = (name: string) =>
    new Set(below(name, "lib/schema/types").map((file) => file.split("/")[4]!.replace(/\.ts$/, "")));
  assert.deepEqual(groups("agent"), new Set(["core", "meta"]));
  assert.ok(groups("api").size > 10);
  assert.ok(below("api", "apiserver").length > 100);
  assert.deepEqual([...below("api", "kubelet"), ...below("api", "single-node")], []);
  for (const name of ["up", "run"]) assert.deepEqual(below(name, "apiserver"), [], name);
  // Pure functions of the agent may be in a command that explains a pod; code that runs pods may not.
  for (const name of ["main", "help", "pods", "apply", "delete", "explain"]) {
    assert.deepEqual(below(name, "apiserver"), [], name);
    assert.deepEqual(
      bundleOf(name).filter((file) => /node_modules\/(@grpc|@bufbuild|prom-client)\//.test(file)),
      [],
      name,
    );
  }
  for (const name of ["main", "help", "pods"])
    assert.deepEqual([...below(name, "kubelet"), ...bundleOf(name).filter(isPackage)], [], name);
});

const isPackage = (file: string) => file.startsWith("node_modules/");

interface Run {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mib: number;
}

/** The time, CPU time and memory of a program and all processes that it starts, from start to exit. */
function run(program: string, args: readonly string[]): Run {
  const peak = join(dir, "peak");
  // The process writes its own peak: the peak that wait4 returns includes the process that started it.
  const NODE_OPTIONS = `--require=${join(dir, "peak.cjs")}`;
  const env = { PATH: process.env.PATH, KUBELET_NODE: process.execPath, PEAK: peak, NODE_OPTIONS };
  const [startedAt, cpuBefore] = [performance.now(), childrenCpuMs()];
  const { status, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
  const [ms, cpuMs] = [performance.now() - startedAt, childrenCpuMs() - cpuBefore];
  assert.equal(status, 0, stderr);
  return { ms, cpuMs, mib: Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(peak, "utf8"))?.[1]) / 1024 };
}

/** The CPU time of all exited children and their children, in steps of 10 ms. */
function childrenCpuMs(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

test("`kubelet --version` takes at most 3 times as long as Node.js alone, and uses 25 MB more", {
  skip,
}, (t) => {
  writeFileSync(
    join(dir, "peak.cjs"),
    `const fs = require("node:fs");
    process.on("exit", () => fs.writeFileSync(process.env.PEAK, fs.readFileSync("/proc/self/status")));`,
  );
  run(launcherFile, ["--version"]); // writes the compile cache
  // They alternate, so that other load affects both.
  const pairs = Array.from({ length: 12 }, () => ({
    node: run(process.execPath, ["-e", "0"]),
    kubelet: run(launcherFile, ["--version"]),
  }));
  const total = (name: "node" | "kubelet", key: keyof Run) =>
    pairs.reduce((sum, pair) => sum + pair[name][key], 0) / pairs.length;
  const text = (["node", "kubelet"] as const)
    .map((name) => {
      const [ms, cpuMs, mib] = (["ms", "cpuMs", "mib"] as const).map((key) => total(name, key).toFixed(0));
      return `${name} ${ms} ms, ${cpuMs} ms of CPU, ${mib} MiB`;
    })
    .join("; ");
  t.diagnostic(text);
  // CPU time does not include waiting for a CPU; of the wall times, the best pair is used.
  assert.ok(total("kubelet", "cpuMs") <= 3 * total("node", "cpuMs"), text);
  assert.ok(Math.min(...pairs.map(({ node, kubelet }) => kubelet.ms / node.ms)) <= 3, text);
  assert.ok(total("kubelet", "mib") - total("node", "mib") <= 25, text);
});

for (const [what, connect, statement] of [
  ["a promise", "() => { broken(); }", "connect("],
  [
    "a callback",
    "() => ({ on: (event, callback) => event === 'connect' && process.nextTick(callback), destroy: broken })",
    "socket.destroy()",
  ],
] as const)
  test(`an error in ${what} is printed with its source positions`, { skip }, () => {
    const preload = join(dir, "fault.cjs");
    writeFileSync(
      preload,
      `const broken = () => { throw new TypeError("broken"); };\nrequire("node:net").connect = ${connect};`,
    );
    const args = ["--require", preload, builtFile, "pods"];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(status, 1);
    const [first, ...frames] = stderr.trimEnd().split("\n");
    assert.equal(first, "kubelet: TypeError: broken");
    const lines = [...stderr.matchAll(/(src\/cli\/agent-socket\.ts):(\d+):\d+/g)].map(
      ([, file, line]) => readFileSync(join(repoDir, file!), "utf8").split("\n")[Number(line) - 1],
    );
    assert.ok(
      lines.some((line) => line?.includes(statement)),
      stderr,
    );
    assert.deepEqual(
      frames.filter((frame) => frame.includes("/dist/")),
      [],
    );
  });
