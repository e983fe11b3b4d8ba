import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { brokenPods, objects, taint } from "./broken-pods.ts";
import { nodeName } from "./cluster-node.ts";
import { explained } from "./explained.ts";
import { NodeWithApi } from "./node-with-api.ts";

// The texts do not depend on the runtime, so one version of it is enough.
const { name: version, available } = containerdVersions().findLast(({ available }) => available === true) ?? {
  name: "2.x" as const,
  available: "no containerd",
};
const withinMs = 180_000;

/** All pods are bound to the node at the same time, without a scheduler. */
describe("the first line of kubelet explain names the cause", {
  skip: available === true ? false : available,
}, () => {
  let apiNode: NodeWithApi;
  /** By pod, the last observed first line. */
  const lines = new Map<string, string>();
  const named = new Set<string>();
  const missingAgain: string[] = [];

  /** Polls all pods until the cause of each has been named. */
  const poll = async () => {
    const text = await explain().run("--all");
    for (const line of text.split("\n").filter((l) => l.startsWith("default/")))
      lines.set(/^default\/(\S+)/.exec(line)?.[1] ?? "", line);
    for (const { name, names } of brokenPods) {
      const line = lines.get(name) ?? "";
      if (names.test(line)) named.add(name);
      else if (named.has(name)) missingAgain.push(line);
    }
    assert.equal(named.size, brokenPods.length);
  };

  before(async () => {
    apiNode = await NodeWithApi.start(version, { flags: () => [`--register-with-taints=${taint}`] });
    for (const { path, body } of objects) await apiNode.admin.request({ method: "POST", path, body });
    const bound = { nodeName, tolerations: [{ operator: "Exists" as const }] };
    await apiNode.addPod("holder", { ports: [{ containerPort: 80, hostPort: 18080 }] }, bound);
    await apiNode.runs("holder", 60_000);
    await Promise.all(
      brokenPods.map(({ name, container, spec }) => apiNode.addPod(name, container, { ...bound, ...spec })),
    );
    // The test of a pod whose cause was not named reports it.
    await waitFor(poll, withinMs).catch(() => {});
  });
  after(() => apiNode?.destroy());

  const explain = () => explained(apiNode.node.rootDir);

  for (const { name, names } of brokenPods)
    test(`of the broken pod ${name}`, () =>
      assert.ok(named.has(name), `${names} is not in: ${lines.get(name)}`));

  test("as long as it lasts, including during retries", () => assert.deepEqual(missingAgain, []));

  test("of exactly the pods that are not ready or failed, if no pod is given", async () => {
    const { pods } = await explain().all();
    assert.deepEqual(
      pods.map(({ name }) => name),
      brokenPods.map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1)),
    );
  });

  test("of a failed pod after it was deleted", async () => {
    await apiNode.deletePod("selector");
    await apiNode.isGone("selector");
    const pod = await explain().waitForPod("selector", ({ goneAt }) => assert.ok(goneAt));
    assert.match(pod.cause ?? "", /^NodeAffinity: .*disk=ssd/);
    assert.ok((await explain().all()).pods.some(({ name }) => name === "selector"));
  });

  test("of failed pods after a restart of the agent", async () => {
    await apiNode.agent.end("SIGTERM");
    apiNode.startAgent();
    const failed = [
      ["size", /^OutOfcpu: .*requested: 4000000/],
      ["deadline", /^DeadlineExceeded: .*activeDeadlineSeconds is 4$/],
      ["failed-job", /^container c exited with code 7 \(Error\): nothing to import$/],
    ] as const;
    for (const [name, cause] of failed)
      await waitFor(async () => {
        const pod = await explain().waitForPod(name, ({ failedAt }) => assert.ok(failedAt), 0);
        assert.match(pod.cause ?? "", cause);
      }, 60_000);
  });
});
