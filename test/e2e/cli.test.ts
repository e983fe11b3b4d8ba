import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { isolationUnavailable, startIsolated } from "../node/isolated-host.ts";
import { leaks, ofNode, snapshot } from "../node/leaks.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { removeDir } from "../node/remove-dir.ts";
import { containerdVersions, startTestNode, type TestNode } from "../node/test-node.ts";
import { podsOf } from "./agent-pods.ts";
import { AgentProcess } from "./agent-process.ts";
import { CliProcess, cli, environmentFor } from "./cli-process.ts";
import type { NodesReport } from "./isolated-nodes.ts";
import { manifest, podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

const sh = (script: string) => ["sh", "-c", script];
const demo = "localhost/kubelet-ts/demo:1";

/** A pod that exits with this status, on the host network, which is faster to create. */
const ends = (name: string, status: number) =>
  podManifest(name, {
    hostNetwork: true,
    containers: [{ name: "c", image: demo, command: sh(`exit ${status}`) }],
  });

describe("commands that start nothing", () => {
  const cases: [what: string, args: string[], status: number, stdout: RegExp, stderr: RegExp][] = [
    [
      "an unknown command is reported",
      ["fly"],
      1,
      /^$/,
      /^kubelet: unknown command: fly \(`kubelet help` lists the commands; without a command: the agent\)$/m,
    ],
    ["an unknown option is named", ["pods", "--nope"], 1, /^$/, /unknown option: --nope/],
    ["an unknown format is rejected", ["pods", "-o", "xml"], 1, /^$/, /-o xml: only json is supported/],
    ["run without a manifest is a usage error", ["run"], 1, /^$/, /must specify -f FILE/],
    [
      "pods without a running kubelet is an error",
      ["pods", "--root-dir=/no/such"],
      1,
      /^$/,
      /cannot connect to the kubelet at \/no\/such\/kubelet\.sock/,
    ],
    ["up has help", ["up", "--help"], 0, /--name NAME/, /^$/],
    ["pods has help", ["pods", "--help"], 0, /-o json/, /^$/],
    ["run has help", ["run", "--help"], 0, /-f FILE/, /^$/],
    ["a missing configuration is reported", ["up", "--config=/no/such"], 1, /^$/, /\/no\/such/],
    ["an invalid node name is rejected", ["up", "--name=A_B"], 1, /^$/, /"A_B" is not a valid node name/],
  ];
  for (const [what, args, status, stdout, stderr] of cases) {
    test(what, async () => {
      const done = await cli(args);
      assert.equal(done.status, status, done.stderr);
      assert.match(done.stdout, stdout);
      assert.match(done.stderr, stderr);
      assert.doesNotMatch(done.stderr, /\n\s+at /, "stderr has a stack trace");
    });
  }

  const preloaded = (file: string) => [process.execPath, "--import", new URL(file, import.meta.url).href];
  for (const command of [["up"], ["run", "-f", "pod.yaml"]]) {
    test(`${command[0]} without root reports that it needs root`, async () => {
      const done = await cli(manifestIn(command), { launcher: preloaded("./not-root.ts") });
      assert.deepEqual([done.status, done.stdout], [1, ""]);
      assert.match(done.stderr, /must be run as root: try again with sudo/);
    });

    test(`${command[0]} elsewhere reports that it needs Linux`, async () => {
      const done = await cli(manifestIn(command), { launcher: preloaded("./not-linux.ts") });
      assert.deepEqual([done.status, done.stdout], [1, ""]);
      assert.match(done.stderr, /requires Linux, this is darwin/);
    });
  }

  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), "kubelet-cli-"));
    writeFileSync(join(dir, "pod.yaml"), ends("p", 0));
  });
  after(() => removeDir(dir));
  const manifestIn = (args: readonly string[]) => args.map((a) => (a === "pod.yaml" ? join(dir, a) : a));
});

describeOnContainerd("kubelet run", (version) => {
  let dir: string;
  const env = environmentFor(version);

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "kubelet-cli-"));
  });
  afterEach(() => removeDir(dir));

  /** Runs manifests in a private containerd, and checks that nothing remains. */
  async function run(files: Record<string, string>) {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
    const first = snapshot();
    const done = await cli(["run", ...Object.keys(files).map((name) => `-f=${join(dir, name)}`)], { env });
    const own = nodeFiles(`run-${done.pid}`);
    assert.deepEqual(leaks(first, snapshot(), ofNode(own)), []);
    assert.equal(existsSync(own.run) || existsSync(own.base), false, "files are left");
    return done;
  }

  test("prints the result of each pod, succeeds if all succeeded, and removes its containerd", async () => {
    const [one, two] = [ends("one", 0), ends("two", 0)];
    const items = [one, two].map((manifest) => JSON.parse(manifest) as object);
    const done = await run({
      "list.json": JSON.stringify({ apiVersion: "v1", kind: "PodList", items }),
      "always.yaml": `${ends("always", 0)}\n---\n${ends("second", 0)}\n`,
    });
    assert.equal(done.status, 0, done.stderr);
    const lines = done.stdout.trimEnd().split("\n").sort();
    assert.equal(lines.length, 4, done.stdout);
    for (const [i, name] of ["always", "one", "second", "two"].entries())
      assert.match(lines[i]!, new RegExp(`^default/${name}-\\S+: Succeeded: c exited 0$`));
  });

  test("exits with status 1 if one failed, and prints all results", async () => {
    const done = await run({ "good.yaml": ends("good", 0), "bad.yaml": ends("bad", 3) });
    assert.equal(done.status, 1);
    assert.match(done.stdout, /^default\/good-\S+: Succeeded: c exited 0$/m);
    assert.match(done.stdout, /^default\/bad-\S+: Failed: c exited 3 \(Error\)$/m);
  });

  test("an invalid manifest is reported with file and line, and nothing is started", async () => {
    const done = await run({
      "good.yaml": ends("good", 0),
      "bad.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: bad\nspec:\n  containers: []\n",
    });
    assert.deepEqual([done.status, done.stdout], [1, ""]);
    assert.match(done.stderr, /bad\.yaml:6: spec\.containers: /);
  });

  test("an interrupted run prints which pods had not terminated, and removes them", async () => {
    writeFileSync(join(dir, "long.yaml"), manifest({ name: "long" }).replace(/image: .*/, `image: ${demo}`));
    const first = snapshot();
    const running = new CliProcess(["run", "-v=2", "-f", join(dir, "long.yaml")], { env });
    await waitFor(() => assert.match(running.stderr, /Container started/));
    const during = snapshot();
    running.child.kill("SIGINT");
    const done = await running.exited();
    assert.equal(done.status, 1);
    assert.match(done.stdout, /^default\/long-\S+: interrupted$/m);
    const own = nodeFiles(`run-${done.pid}`);
    assert.deepEqual(leaks(first, snapshot(), ofNode(own, during)), []);
  });

  test("the resources of a killed run are removed by the next run", async () => {
    writeFileSync(join(dir, "long.yaml"), manifest({ name: "long" }).replace(/image: .*/, `image: ${demo}`));
    const first = snapshot();
    const running = new CliProcess(["run", "-v=2", "-f", join(dir, "long.yaml")], { env });
    await waitFor(() => assert.match(running.stderr, /Container started/));
    const during = snapshot();
    running.child.kill("SIGKILL");
    const { pid } = await running.exited();
    const own = nodeFiles(`run-${pid}`);
    assert.ok(existsSync(own.base), "the killed run left nothing to remove");
    assert.equal((await run({ "next.yaml": ends("next", 0) })).status, 0);
    assert.deepEqual(leaks(first, snapshot(), ofNode(own, during)), []);
    assert.equal(existsSync(own.run) || existsSync(own.base), false, "files are left");
  });
});

describeOnContainerd("kubelet pods, and run alongside other pods", (version) => {
  let node: TestNode;
  let agent: AgentProcess;

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    writeManifest(node.manifests, "a.yaml", manifest({ name: "a" }));
    agent.start();
    await podsOf(agent).running("a");
    await podsOf(agent).waitForPod("a", (row) => assert.equal(row.blockedOn, ""));
  });
  after(() => agent?.destroy());

  test("pods shows a table", async () => {
    const { status, stdout } = await cli(["pods", `--node=${node.name}`]);
    assert.equal(status, 0);
    const [head, row, ...more] = stdout.trimEnd().split("\n");
    assert.equal(head!.trimEnd(), head);
    assert.match(head!, /^NAMESPACE +NAME +PHASE +READY +RESTARTS +IP +AGE +BLOCKED ON$/);
    assert.match(row!, /^default +a-\S+ +Running +1\/1 +0 +\d+\.\d+\.\d+\.\d+ +\d+s +-$/);
    assert.deepEqual(more, []);
  });

  test("pods -o json shows the complete status of each pod", async () => {
    const { status, stdout } = await cli(["pods", "-o", "json", `--root-dir=${node.rootDir}`]);
    assert.equal(status, 0);
    const [row, ...more] = JSON.parse(stdout) as PodRow[];
    assert.deepEqual(more, []);
    assert.equal(row?.phase, "Running");
    assert.ok(row?.status?.containerStatuses?.[0]?.state?.running);
    assert.equal(row?.blockedOn, "");
  });

  test("pods -w ends quietly when its output is closed", async () => {
    const launcher = ["sh", "-c", '"$@" | head -n 1', "sh", process.execPath];
    const watch = new CliProcess(["pods", "-w", `--root-dir=${node.rootDir}`], { launcher });
    await waitFor(() => assert.match(watch.stdout, /^default\/a-/));
    writeManifest(node.manifests, "b.yaml", manifest({ name: "b" })); // something to write
    const done = await watch.exited();
    assert.deepEqual([done.status, done.stderr], [0, ""]);
    rmSync(join(node.manifests, "b.yaml"));
    await podsOf(agent).gone("b");
  });

  test("pods -w prints changes until the agent exits", async () => {
    const watch = new CliProcess(["pods", "-w", `--root-dir=${node.rootDir}`]);
    const json = new CliProcess(["pods", "-w", "-o", "json", `--root-dir=${node.rootDir}`]);
    const counts = () =>
      json.stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as PodRow[]).length);
    const counted = (count: number) => waitFor(() => assert.equal(counts().at(-1), count, String(counts())));
    await waitFor(() => assert.match(watch.stdout, /^default\/a-\S+: Running, 1\/1 ready, 0 restarts \S+$/m));
    await counted(1);
    writeManifest(node.manifests, "b.yaml", manifest({ name: "b" }));
    await waitFor(() => assert.match(watch.stdout, /^default\/b-\S+: Running, 1\/1 ready/m));
    await counted(2);
    rmSync(join(node.manifests, "b.yaml"));
    await waitFor(() => assert.match(watch.stdout, /^default\/b-\S+: gone$/m));
    await counted(1);
    await agent.end("SIGTERM");
    const done = await watch.exited();
    assert.equal(done.status, 1);
    assert.match(done.stderr, /the kubelet at \S+\/kubelet\.sock has exited/);
    assert.equal((await json.exited()).status, 1);
  });

  test("run in a runtime with other pods removes only its own pods", async () => {
    const before = (await node.ctr(["tasks", "list"])).split("\n").sort();
    const dir = mkdtempSync(join(tmpdir(), "kubelet-cli-"));
    try {
      writeFileSync(join(dir, "pod.yaml"), ends("guest", 0));
      const done = await cli([
        "run",
        `-f=${join(dir, "pod.yaml")}`,
        `--config=${agent.configFile}`,
        `--root-dir=${dir}/root`,
      ]);
      assert.equal(done.status, 0, done.stderr);
      assert.match(done.stdout, /^default\/guest-\S+: Succeeded: c exited 0$/m);
      assert.deepEqual((await node.ctr(["tasks", "list"])).split("\n").sort(), before);
      assert.doesNotMatch(await node.ctr(["containers", "list"]), /guest/);
    } finally {
      await removeDir(dir);
    }
  });
});

const available = [isolationUnavailable || true, containerdVersions()[0]!.available].find((a) => a !== true);

test("two nodes of kubelet up run at the same time, and pods and apply select one of them", {
  skip: available ?? false,
}, async () => {
  const script = fileURLToPath(new URL("./isolated-nodes.ts", import.meta.url));
  const host = startIsolated([process.execPath, script, kubeletProgram]);
  const [out, err] = await Promise.all([text(host.child.stdout!), text(host.child.stderr!), host.exited]);
  assert.match(out, /^\{/, err);
  const report = JSON.parse(out) as NodesReport;
  assert.deepEqual([report.none.status, report.none.stdout], [1, ""]);
  assert.match(report.none.stderr, /no kubelet is running on this machine: start one with `kubelet up`/);
  assert.deepEqual(report.one.status, 0, `${report.one.stderr}${report.output}`);
  assert.match(report.one.stdout, /^default +demo-\S+ +Running +1\/1 /m);
  assert.equal(report.sameName.status, 1);
  assert.match(report.sameName.stderr, /process \d+/, "the process that uses the name is not reported");
  assert.equal(report.several.status, 1);
  assert.match(
    report.several.stderr,
    /several kubelets are running on this machine; select one with --root-dir/,
  );
  for (const name of ["default", "other"]) assert.ok(report.several.stderr.includes(`/${name}/kubelet`));
  assert.match(report.chosen.stdout, /^default +demo-\S+ +Running +1\/1 /m);
  assert.equal(report.afterKill.status, 0, "a killed node is still found");
  assert.match(report.afterKill.stdout, /^default +demo-\S+ +Running +1\/1 /m);
  assert.match(report.applied.stdout, /^default\/kept-\S+: created\n$/, report.applied.stderr);
  assert.match(
    report.afterAll.stdout,
    /^default +kept-\S+ +Running +1\/1 /m,
    "applied pods do not run after a restart",
  );
  assert.equal(report.exited, 0);
  assert.deepEqual(report.left, []);
});
