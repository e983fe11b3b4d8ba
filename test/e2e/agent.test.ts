import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, freePort } from "./agent-process.ts";
import { cli } from "./cli-process.ts";
import { logLines } from "./log-lines.ts";
import { manifest, writeManifest } from "./manifests.ts";
import { NotifySocket } from "./notify-socket.ts";
import { waitFor } from "./wait-for.ts";

describeOnContainerd("the agent", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  let pods: ReturnType<typeof podsOf>;

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    pods = podsOf(agent);
    writeManifest(node.manifests, "a.yaml", manifest({ name: "a" }));
    writeManifest(node.manifests, "b.yaml", manifest({ name: "b", hostNetwork: true }));
  });

  after(() => agent?.destroy());
  afterEach(() => agent.end("SIGTERM"));

  const healthy = () => waitFor(async () => assert.equal((await agent.health())?.status, 200));

  const ids = async () => [containerIdOf(await pods.running("a")), containerIdOf(await pods.running("b"))];

  // parity: endpoint 10248 GET /healthz
  test("serves /healthz with ok, and the state of its components with ?verbose", async () => {
    agent.start();
    await healthy();
    assert.deepEqual(await agent.health(), { status: 200, body: "ok" });
    assert.deepEqual(await agent.health("/healthz/ping"), { status: 200, body: "ok" });
    const verbose = await waitFor(async () => {
      const response = await agent.health("/healthz?verbose");
      assert.match(response?.body ?? "", /^\[\+\]ping ok\n\[i\]log ok\n/);
      for (const name of ["syncloop", "device-plugin", "pleg", "runtime-connection"])
        assert.match(response?.body ?? "", new RegExp(`^\\[i\\]${name} ok$`, "m"));
      return response;
    });
    assert.match(verbose?.body ?? "", /healthz check passed\n$/);
    assert.equal((await agent.health("/healthz/nonsense"))?.status, 404);
  });

  // parity: field enableServer, field readOnlyPort, flag enable-server, flag read-only-port
  test("with enableServer: false the read-only port is served, if it is set", async () => {
    const port = await freePort();
    agent.start([`--read-only-port=${port}`, "--address=127.0.0.1"]);
    await healthy();
    // Not later: clients that wait for a healthy kubelet read its metrics next.
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.equal(response.status, 200);
    assert.match(await response.text(), /^kubelet_node_name\{/m);
    assert.doesNotMatch(agent.log(), /kubelet-api/);
  });

  // parity: field maxOpenFiles, flag max-open-files
  test("the limit of open files is that of the configuration", async () => {
    agent.start(["--max-open-files=4321"]);
    await healthy();
    const limits = readFileSync(`/proc/${agent.pid}/limits`, "utf8");
    assert.match(limits, /^Max open files +4321 +4321 /m);
  });

  for (const [signal, exitCode] of [
    ["SIGTERM", 0],
    ["SIGINT", 0],
    ["SIGKILL", null],
  ] as const) {
    test(`exits on ${signal} and leaves its pods running, and adopts them when it is restarted`, async () => {
      agent.start();
      const ran = await ids();
      assert.equal(readFileSync(`/proc/${agent.pid}/comm`, "utf8").trim(), "kubelet");
      assert.equal(await agent.end(signal), exitCode);
      assert.doesNotMatch(agent.log(), /Component did not stop in time/);
      const tasks = await node.ctr(["tasks", "list"]);
      for (const id of ran) assert.match(tasks, new RegExp(`${id}\\s+\\d+\\s+RUNNING`));
      agent.start();
      assert.deepEqual(await ids(), ran);
      for (const row of (await agent.pods()) ?? []) assert.equal(row.restarts, 0);
    });
  }

  test("notifies the service manager: READY=1, WATCHDOG=1 periodically, and STOPPING=1", async (t) => {
    const socket = new NotifySocket(join(node.rootDir, "..", "notify"));
    t.after(() => socket.close());
    agent.start([], { ...process.env, NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "1001000" });
    const count = (message: string) => socket.received().filter((m) => m === message).length;
    await waitFor(() => assert.equal(count("READY=1"), 1));
    assert.equal((await agent.health())?.status, 200, "the agent does not respond after READY=1");
    await waitFor(() => assert.ok(count("WATCHDOG=1") >= 3));
    assert.equal(count("STOPPING=1"), 0);
    await agent.end("SIGTERM");
    assert.deepEqual([count("READY=1"), count("STOPPING=1")], [1, 1]);
    assert.equal(socket.received().at(-1), "STOPPING=1", "a message was sent after STOPPING=1");
  });

  test("sends no watchdog messages if they are expected of another process", async (t) => {
    const socket = new NotifySocket(join(node.rootDir, "..", "notify"));
    t.after(() => socket.close());
    const env = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "1001000", WATCHDOG_PID: String(process.pid) };
    agent.start([], { ...process.env, ...env });
    await waitFor(() => assert.ok(socket.received().includes("READY=1")));
    await agent.end("SIGTERM");
    assert.deepEqual(socket.received(), ["READY=1", "STOPPING=1"]);
  });

  test("a second agent with the same root directory fails to start and changes nothing", async () => {
    agent.start();
    const ran = await ids();
    const same = [`--config=${agent.configFile}`, `--root-dir=${node.rootDir}`];
    const second = await cli([...same, "--healthz-port=0"]);
    assert.equal(second.status, 1);
    assert.match(second.stderr, /root directory \S+ is in use by another kubelet \(process \d+\)/);
    assert.doesNotMatch(second.stderr, /\n\s+at /, "stderr has a stack trace");
    assert.deepEqual(await ids(), ran);
    assert.equal((await agent.health())?.status, 200);
  });

  test("names accepted settings that are not implemented in one warning", async () => {
    const mark = agent.log().length;
    agent.start(["--kube-api-content-type=application/json", "--application-metrics-count-limit=90"]);
    await healthy();
    const lines = agent.log().slice(mark).split("\n");
    const warnings = lines.filter((line) => line.includes("accepted but not implemented yet"));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /^W.*--kube-api-content-type, --application-metrics-count-limit/);
  });

  test("writes one JSON object per line and nothing else with --logging-format=json", async () => {
    const mark = agent.log().length;
    agent.start(["--logging-format=json"]);
    await ids();
    writeManifest(node.manifests, "bad.yaml", "kind: [");
    await waitFor(() => assert.match(agent.log().slice(mark), /bad\.yaml/));
    rmSync(join(node.manifests, "bad.yaml"));
    await agent.end("SIGTERM");
    const lines = logLines(agent.log().slice(mark));
    assert.ok(lines.length > 5);
    for (const line of lines) {
      const entry = JSON.parse(line) as { ts: unknown; msg: unknown };
      assert.equal(typeof entry.ts, "number");
      assert.equal(typeof entry.msg, "string");
    }
  });
});

describe("an agent that cannot start", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "kubelet-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test("--version prints the version of the kubelet", async () => {
    const { status, stdout, stderr } = await cli(["--version"]);
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /^Kubernetes v1\.36\.\d+\n$/);
  });

  test("--help shows the flags", async () => {
    const { status, stdout } = await cli(["--help"]);
    assert.equal(status, 0);
    assert.match(stdout, /--container-runtime-endpoint/);
  });

  const rejected: [what: string, args: (dir: string) => string[], config: string, message: RegExp][] = [
    ["an unknown flag", () => ["--no-such-flag=1"], "", /unknown flag: --no-such-flag/],
    ["an invalid value with its flag", () => ["--max-pods=many"], "", /--max-pods.*many/],
    [
      "a missing configuration file with its path",
      (dir) => [`--config=${dir}/missing.yaml`],
      "",
      /missing\.yaml: cannot be read: /,
    ],
    [
      "an invalid quantity in the configuration with file, line and path",
      (dir) => [`--config=${dir}/config.yaml`],
      'evictionHard:\n  memory.available: "1QQ"\n',
      /config\.yaml:4: evictionHard\.memory\.available: "1QQ" is not a quantity/,
    ],
    [
      "an unknown field in the configuration with file, line and path",
      (dir) => [`--config=${dir}/config.yaml`],
      "maxPods: 10\nmaxPodz: 10\n",
      /config\.yaml:4: maxPodz: /,
    ],
    [
      "a field of the wrong type with file, line and path",
      (dir) => [`--config=${dir}/config.yaml`],
      "maxPods: [1]\n",
      /config\.yaml:3: maxPods: /,
    ],
  ];
  for (const [what, args, config, message] of rejected) {
    test(`names ${what}, and starts nothing`, async () => {
      const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
      writeFileSync(join(dir, "config.yaml"), head + config);
      const { status, stdout, stderr } = await cli([...args(dir), `--root-dir=${dir}/root`]);
      assert.deepEqual([status, stdout], [1, ""]);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /\n\s+at /, "stderr has a stack trace");
      assert.equal(existsSync(join(dir, "root")), false);
    });
  }
});
