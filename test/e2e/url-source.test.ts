import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { after, before, test } from "node:test";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, podsOf } from "./agent-pods.ts";
import { AgentProcess } from "./agent-process.ts";
import { manifest, podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

describeOnContainerd("pods from a URL", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  let pods: ReturnType<typeof podsOf>;
  let server: Server;
  let content = { status: 200, body: "" };
  let requestCount = 0;
  let lastHeaders: IncomingHttpHeaders = {};

  const pod = (name: string, note = "0") =>
    JSON.parse(
      podManifest(name, { containers: [{ name: "c", env: [{ name: "NOTE", value: note }] }] }),
    ) as object;
  const list = (...items: object[]) => JSON.stringify({ apiVersion: "v1", kind: "PodList", items });

  before(async () => {
    server = createServer((request, response) => {
      requestCount++;
      lastHeaders = request.headers;
      response.writeHead(content.status, { "content-type": "application/json" }).end(content.body);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node, { httpCheckFrequency: "250ms" });
    pods = podsOf(agent);
    content.body = JSON.stringify(pod("single"));
    writeManifest(node.manifests, "filed.yaml", manifest({ name: "filed" }));
    agent.start([`--manifest-url=http://127.0.0.1:${port}/pods`, "--manifest-url-header=X-Token:abc"]);
  });

  after(async () => {
    await agent?.destroy();
    server?.close();
  });

  /** Changes the content of the URL and waits until the agent has read it. */
  async function serve(body: string, status = 200): Promise<void> {
    content = { status, body };
    const before = requestCount;
    await waitFor(() => assert.ok(requestCount >= before + 2));
  }

  test("a Pod of the URL runs alongside those from files, and the URL is requested with the configured headers", async () => {
    const row = await pods.running("single");
    assert.equal(row.source, "http");
    assert.equal((await pods.running("filed")).source, "file");
    assert.equal(lastHeaders["x-token"], "abc");
  });

  test("a PodList replaces the pods: removed ones are terminated, unchanged ones keep running", async () => {
    await serve(list(pod("one"), pod("two")));
    await pods.gone("single");
    const one = containerIdOf(await pods.running("one"));
    await pods.running("two");
    await serve(list(pod("one"), pod("three")));
    await pods.gone("two");
    await pods.running("three");
    assert.equal(containerIdOf(await pods.running("one")), one);
  });

  test("a pod whose spec changed is replaced", async () => {
    const { uid } = await pods.running("one");
    await serve(list(pod("one", "changed"), pod("three")));
    await waitFor(async () => assert.notEqual((await pods.running("one")).uid, uid));
  });

  const problems: [what: string, status: number, body: string, message: RegExp][] = [
    ["a body that is not a manifest", 200, "<html>sorry</html>", /127\.0\.0\.1:\d+\/pods/],
    ["a list with an invalid pod", 200, list(pod("one"), { kind: "Pod", metadata: { name: "x" } }), /spec/],
    ["a server error", 503, "", /503/],
  ];
  for (const [what, status, body, message] of problems) {
    test(`${what} is reported once and changes nothing`, async () => {
      const containersBefore = await Promise.all(
        ["one", "three", "filed"].map(async (n) => containerIdOf(await pods.running(n))),
      );
      const logStart = agent.log().length;
      await serve(body, status);
      const reported = () =>
        agent
          .log()
          .slice(logStart)
          .split("\n")
          .filter((line) => line.includes("/pods") && message.test(line));
      await waitFor(() => assert.ok(reported().length > 0, agent.log().slice(logStart)));
      await serve(body, status);
      assert.equal(reported().length, 1, reported().join("\n"));
      const containersAfter = await Promise.all(
        ["one", "three", "filed"].map(async (n) => containerIdOf(await pods.running(n))),
      );
      assert.deepEqual(containersAfter, containersBefore);
    });
  }

  test("an empty list terminates the pods of the URL and no others", async () => {
    const filed = containerIdOf(await pods.running("filed"));
    await serve(list());
    await pods.gone("one");
    await pods.gone("three");
    assert.equal(containerIdOf(await pods.running("filed")), filed);
  });
});
