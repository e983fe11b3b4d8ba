import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { ApplyResult, ImageList, PodYaml } from "../../src/console/protocol.ts";
import { cli } from "../e2e/cli-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { UpNode } from "../kubectl/up-node.ts";
import { long } from "../long.ts";
import { ConsoleClient, useLink } from "./console-client.ts";

const image = "localhost/kubelet-ts/demo:1";
const manifest = (name: string, command: string) => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: IMAGE
      imagePullPolicy: Never
      command: [sh, -c, ${JSON.stringify(command)}]
`;

describe(long("the console of kubelet up"), () => {
  let up: UpNode;
  let client: ConsoleClient;
  let demoImage = image;

  before(async () => {
    up = await UpNode.start("1.6", "-console");
    client = await ConsoleClient.logIn(up.consoleLink);
    await client.watch();
    const { uid } = await client.pod("demo");
    demoImage = (await client.detail(uid)).containers[0]?.image ?? image;
  });
  after(() => up?.stop());
  const apply = (text: string) => client.post("/apply", { manifest: text.replaceAll("IMAGE", demoImage) });

  test("the snapshot has the demo pod, the node and its resources", async () => {
    const pod = await client.pod("demo", ({ ready }) => assert.ok(ready));
    assert.deepEqual([pod.source, pod.status, pod.health, pod.cause], ["file", "Running", "ok", null]);
    const state = await waitFor(() => {
      assert.ok(client.node?.resources.find(({ name }) => name === "cpu")?.used);
      return client.node;
    });
    assert.equal(state.runtime.state, "up");
    assert.equal(state.api.state, "connected");
    assert.ok(state.thresholds.length > 0);
    await waitFor(() => {
      const { certificates = [], conditions = [] } = client.node ?? {};
      assert.deepEqual(
        certificates.map(({ name, health }) => [name, health]),
        [
          ["serving", "ok"],
          ["client", "ok"],
        ],
      );
      assert.ok(conditions.find(({ type }) => type === "Ready")?.since);
    });
    assert.ok((state.agent.memory ?? 0) > 0);
    assert.ok((await client.get<ImageList>("/images")).count > 0);
  });

  test("the detail of a pod has its timeline, containers, events and YAML", async () => {
    const { uid } = await client.pod("demo");
    const detail = await client.detail(uid);
    assert.ok(detail.timeline.some(({ step, endedAt }) => step === "sandbox" && endedAt !== null));
    assert.ok((detail.start?.tookMs ?? 0) > 0);
    const [web] = detail.containers;
    assert.deepEqual([web?.name, web?.state, web?.resources.cpuRequest], ["web", "running", 0.01]);
    assert.ok(detail.events.some(({ reason }) => reason === "Started"));
    assert.equal(detail.mayDelete, false);
    const { yaml } = await client.get<PodYaml>(`/pods/${uid}/yaml`);
    assert.match(yaml, /^ {2}phase: Running$/m);
    const rejected = await client.post(`/pods/${uid}/delete`, {});
    assert.deepEqual([rejected.status, rejected.body.error?.code], [409, "conflict"]);
  });

  test("a pod is applied, shows its log, runs a command, restarts and is deleted", async () => {
    const applied = await apply(manifest("one", "echo started; trap exit TERM; while :; do sleep 1; done"));
    assert.equal(applied.status, 200, JSON.stringify(applied.body));
    const [result] = (applied.body as ApplyResult).results;
    assert.equal(result?.result, "created");
    const { uid } = await client.pod("one", ({ ready }) => assert.ok(ready));
    await waitFor(async () => assert.match(await client.text(`/pods/${uid}/logs/main`), /^started\n/));
    assert.match(
      await client.text(`/pods/${uid}/logs/main?timestamps=true&tailLines=1`),
      /^\d{4}-\d\d-\d\dT\S+ started\n$/,
    );
    assert.match(await exec(client, uid, ["echo", "hello"]), /hello/);
    const restarted = await client.post(`/pods/${uid}/containers/main/restart`, {});
    assert.equal(restarted.status, 200, JSON.stringify(restarted.body));
    await client.pod("one", ({ restarts, ready }) => assert.deepEqual([restarts, ready], [1, true]));
    assert.match(await client.text(`/pods/${uid}/logs/main?previous=true`), /started/);
    const removed = await client.post(`/pods/${uid}/delete`, {});
    assert.equal(removed.status, 200, JSON.stringify(removed.body));
    await waitFor(() => assert.equal(client.pods.has(uid), false));
  });

  test("errors of a manifest have line, column and field, and change nothing", async () => {
    const broken = await apply(
      `${manifest("good", "sleep 9")}---\n${manifest("bad", "sleep 9").replace("image:", "imgae:")}`,
    );
    assert.equal(broken.status, 422, JSON.stringify(broken.body));
    const problems = broken.body.error?.problems ?? [];
    assert.ok(
      problems.some(
        ({ line, column, field }) => line === 20 && column === 7 && field === "spec.containers[0].image",
      ),
      JSON.stringify(problems),
    );
    const syntax = await apply("kind: Pod\nmetadata: [\n");
    assert.equal(syntax.status, 422);
    assert.ok(syntax.body.error?.problems?.[0]?.line);
    assert.deepEqual(
      [...client.pods.values()].filter(({ name }) => /good|bad/.test(name)),
      [],
    );
  });

  test("a crash is explained with the next thing to try", async () => {
    await apply(manifest("crash", "echo broken; exit 3"));
    const { uid } = await client.pod("crash", ({ status, health }) =>
      assert.deepEqual([status, health], ["CrashLoopBackOff", "error"]),
    );
    const { explanation, events } = await client.detail(uid);
    assert.match(explanation.cause ?? "", /exit/i);
    assert.match(explanation.next ?? "", /^read its last output: crictl logs .*'\^main'/);
    assert.ok(events.some(({ type, reason }) => type === "Warning" && reason === "BackOff"));
    await client.post(`/pods/${uid}/delete`, { graceSeconds: 0 });
  });

  test("kubelet console prints a new link, valid once", async () => {
    const { stdout, stderr } = await cli(["console", "--root-dir", up.files.kubelet], { env: process.env });
    assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/console\/#login=\S+\n$/, stderr);
    const link = stdout.trim();
    await ConsoleClient.logIn(link);
    for (const used of [link, up.consoleLink]) assert.equal((await useLink(used)).status, 401);
  });

  test("a session continues after the kubelet was killed, and its file is for root only", async () => {
    const file = join(up.files.base, "console-sessions.json");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await up.kill();
    up = await UpNode.start("1.6", "-console");
    await client.resume();
    client.pods.clear();
    await client.watch();
    await client.pod("demo", ({ ready }) => assert.ok(ready));
    assert.equal((await apply("kind: Pod\n")).status, 422);
  });
});

/** The output of a command, by WebSocket as the page runs it. */
function exec(client: ConsoleClient, uid: string, command: readonly string[]): Promise<string> {
  const query = command.map((part) => `command=${encodeURIComponent(part)}`).join("&");
  const url = `${client.origin.replace("http", "ws")}/console/api/pods/${uid}/exec/main?${query}&stdout=true`;
  // Node.js's own client accepts headers; its types do not have them.
  const options = { protocols: client.protocols, headers: { origin: client.origin } } as unknown as string;
  const socket = new WebSocket(url, options);
  socket.binaryType = "arraybuffer";
  let output = "";
  return new Promise((resolve, reject) => {
    socket.onmessage = ({ data }) => {
      const bytes = Buffer.from(data as ArrayBuffer);
      if (bytes[0] === 1) output += bytes.subarray(1).toString();
    };
    socket.onerror = () => reject(new Error(`exec failed after ${JSON.stringify(output)}`));
    socket.onclose = () => resolve(output);
  });
}
