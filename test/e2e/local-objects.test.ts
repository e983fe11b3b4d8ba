import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, containerOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, runtimeClient } from "./agent-process.ts";
import { cli } from "./cli-process.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

const configMap = (name: string, data: Record<string, string>) =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
const secret = (name: string, stringData: Record<string, string>, type = "Opaque") =>
  JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata: { name }, type, stringData });

describeOnContainerd("ConfigMaps and Secrets from a directory", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: CriClient;
  let pods: ReturnType<typeof podsOf>;
  let objects: string;

  const pod = (name: string, settings: string) =>
    podManifest(name, {
      hostNetwork: true,
      containers: [
        {
          name: "c",
          envFrom: [{ configMapRef: { name: settings } }],
          env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "login", key: "password" } } }],
          volumeMounts: [
            { name: "settings", mountPath: "/settings" },
            { name: "login", mountPath: "/login" },
          ],
        },
      ],
      volumes: [
        { name: "settings", configMap: { name: settings } },
        { name: "login", secret: { secretName: "login", defaultMode: 0o400 } },
      ],
    });
  const inside = async (name: string, script: string) => {
    const id = containerIdOf(await pods.running(name)) as ContainerId;
    const { stdout, stderr } = await runtime.execSync(id, ["sh", "-c", script], 10);
    return Buffer.concat([stdout, stderr]).toString();
  };

  before(async () => {
    node = await startTestNode({ containerd: version });
    objects = join(node.rootDir, "..", "objects");
    mkdirSync(objects, { mode: 0o700 });
    writeManifest(objects, "settings.json", configMap("settings", { MODE: "first" }));
    writeManifest(objects, "login.json", secret("login", { password: "hunter2" }));
    agent = await AgentProcess.create(node);
    pods = podsOf(agent);
    runtime = runtimeClient(node.endpoint);
    writeManifest(node.manifests, "web.json", pod("web", "settings"));
    agent.start([`--local-objects=${objects}`]);
    await pods.running("web", 120_000);
  });

  after(async () => {
    runtime?.close();
    await agent?.destroy();
  });

  test("a static pod has ConfigMaps and Secrets as variables and volumes, and Secrets are in memory only", async () => {
    assert.equal(
      await inside("web", "echo $MODE $PASSWORD; cat /settings/MODE /login/password"),
      "first hunter2\nfirsthunter2",
    );
    assert.match(await inside("web", "grep ' /login ' /proc/mounts"), /^tmpfs \/login tmpfs /);
    assert.equal(await inside("web", "stat -L -c %a /login/password"), "400\n");
  });

  test("a change to a file appears in the container without a restart", async () => {
    const { uid } = await pods.running("web");
    const before = containerIdOf(await pods.running("web"));
    writeManifest(objects, "settings.json", configMap("settings", { MODE: "second" }));
    writeManifest(objects, "login.json", secret("login", { password: "changed" }));
    await waitFor(async () =>
      assert.equal(await inside("web", "cat /settings/MODE /login/password"), "secondchanged"),
    );
    const row = await pods.running("web");
    assert.deepEqual([row.uid, containerIdOf(row), containerOf(row).restartCount], [uid, before, 0]);
  });

  test("an invalid file is reported once with line and field, without its content, and changes nothing", async () => {
    const bad = "apiVersion: v1\nkind: Secret\nmetadata: { name: login }\ndata:\n  password: top!secret\n";
    writeManifest(objects, "login.json", bad);
    const reported = () =>
      agent
        .log()
        .split("\n")
        .filter((line) => line.includes("login.json:5: data.password is not base64"));
    await waitFor(() => assert.equal(reported().length, 1));
    writeManifest(objects, "settings.json", configMap("settings", { MODE: "third" }));
    await waitFor(async () =>
      assert.equal(await inside("web", "cat /settings/MODE /login/password"), "thirdchanged"),
    );
    assert.equal(reported().length, 1);
    assert.doesNotMatch(agent.log(), /top!secret/);
    writeManifest(objects, "login.json", secret("login", { password: "good" }));
    await waitFor(async () => assert.equal(await inside("web", "cat /login/password"), "good"));
  });

  test("a pod waits for a missing object, and names it", async () => {
    writeManifest(node.manifests, "late.json", pod("late", "later"));
    await pods.waitForPod("late", (row) => assert.match(row.blockedOn, /configmap "later" not found/));
    writeManifest(objects, "later.json", configMap("later", { MODE: "late" }));
    assert.equal(await inside("late", "echo $MODE"), "late\n");
  });

  test("a removed object remains in existing volumes", async () => {
    rmSync(join(objects, "settings.json"));
    writeManifest(objects, "login.json", secret("login", { password: "last" }));
    await waitFor(async () => assert.equal(await inside("web", "cat /login/password"), "last"));
    assert.equal(await inside("web", "cat /settings/MODE"), "third");
    writeManifest(objects, "settings.json", configMap("settings", { MODE: "third" }));
  });

  test("a container keeps running after kill -9 of the agent, and still gets changes", async () => {
    const before = containerIdOf(await pods.running("web"));
    await agent.end("SIGKILL");
    writeManifest(objects, "settings.json", configMap("settings", { MODE: "fourth" }));
    agent.start([`--local-objects=${objects}`]);
    await waitFor(async () => assert.equal(await inside("web", "cat /settings/MODE"), "fourth"), 60_000);
    assert.equal(containerIdOf(await pods.running("web")), before);
  });
});

test("an image is pulled with a pull secret from the directory", async (t) => {
  const image = "registry.example.test/private/app:1";
  const agent = await StandaloneAgent.create({ [image]: { pullMs: 0 } });
  t.after(() => agent.destroy());
  const objects = join(agent.dir, "objects");
  mkdirSync(objects);
  const auths = { "registry.example.test": { username: "puller", password: "let me in" } };
  const type = "kubernetes.io/dockerconfigjson";
  writeManifest(
    objects,
    "pull.json",
    secret("pull", { ".dockerconfigjson": JSON.stringify({ auths }) }, type),
  );
  agent.start([`--local-objects=${objects}`]);
  await agent.ready();
  const container = { name: "c", image, imagePullPolicy: "Always" };
  const pod = podManifest("app", {
    hostNetwork: true,
    imagePullSecrets: [{ name: "pull" }],
    containers: [container],
  });
  assert.equal((await agent.request("PUT", "/manifests/app", pod)).status, 201);
  await waitFor(() => assert.equal(agent.running().length, 1));
  const requests = agent.runtime
    .callsOf("PullImage")
    .map(({ request }) => (request as { auth?: unknown }).auth);
  assert.deepEqual(requests, [{ username: "puller", password: "let me in" }]);
});

test("a pull secret whose keys have many wildcards delays nothing", async (t) => {
  const image = `${"a".repeat(60)}.example.test/app:1`;
  const agent = await StandaloneAgent.create({ [image]: { pullMs: 0 } });
  t.after(() => agent.destroy());
  const objects = join(agent.dir, "objects");
  mkdirSync(objects);
  const auths = { [`${"*a".repeat(28)}b.example.test`]: { username: "puller", password: "let me in" } };
  const data = { ".dockerconfigjson": JSON.stringify({ auths }) };
  writeManifest(objects, "pull.json", secret("pull", data, "kubernetes.io/dockerconfigjson"));
  agent.start([`--local-objects=${objects}`]);
  await agent.ready();
  const pod = podManifest("app", {
    hostNetwork: true,
    imagePullSecrets: [{ name: "pull" }],
    containers: [{ name: "c", image, imagePullPolicy: "Always" }],
  });
  assert.equal((await agent.request("PUT", "/manifests/app", pod)).status, 201);
  await waitFor(() => assert.equal(agent.running().length, 1));
  const [pull] = agent.runtime.callsOf("PullImage");
  assert.equal((pull!.request as { auth?: unknown }).auth, undefined);
});

test("a pod may not refer to objects without the directory, which is not allowed with a cluster", async (t) => {
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  agent.start();
  await agent.ready();
  const volumes = [{ name: "v", configMap: { name: "x" } }];
  const rejected = await agent.request(
    "PUT",
    "/manifests/app",
    podManifest("app", { containers: [{ name: "c" }], volumes }),
  );
  assert.equal(rejected.status, 422);
  assert.match(
    rejected.body,
    /spec\.volumes\[0\]\.configMap: Forbidden: static pods may not reference configmaps/,
  );
  const both = [`--root-dir=${agent.rootDir}`, "--local-objects=/x", "--kubeconfig=/x"];
  const done = await cli(both);
  assert.equal(done.status, 1);
  assert.match(done.stderr, /--local-objects is for a node without an API server/);
});
