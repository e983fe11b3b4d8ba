import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { containerOf } from "./agent-pods.ts";
import { describeLifecycle, type LifecycleSuite, sh } from "./lifecycle-suite.ts";

/** HTTP requests of hooks. */
const requests: string[] = [];
const hookServer = createServer((request: IncomingMessage, response) => {
  requests.push(`${request.method} ${request.url} ${request.headers["x-who"] ?? ""}`);
  response.end("ok");
});
let port = 0;

before(async () => {
  hookServer.listen(0, "0.0.0.0");
  await once(hookServer, "listening");
  port = (hookServer.address() as { port: number }).port;
});

after(() => {
  hookServer.closeAllConnections();
  hookServer.close();
});

const never = { restartPolicy: "Never" };
/** Exits on SIGTERM with this code. */
const exitsOnTerm = (code: number) => sh(`trap 'exit ${code}' TERM; while true; do sleep 1000 & wait; done`);

describeLifecycle(
  "hooks and termination of containers",
  (suite: LifecycleSuite) => ({
    "post-start": {
      containers: [
        { name: "c", lifecycle: { postStart: { exec: { command: sh("touch /dev/shm/begun") } } } },
      ],
    },
    "post-start-fails": {
      ...never,
      containers: [
        {
          name: "c",
          command: exitsOnTerm(7),
          lifecycle: { postStart: { exec: { command: sh("echo no way >&2; exit 5") } } },
        },
      ],
    },
    "post-start-slow": {
      containers: [
        {
          name: "c",
          lifecycle: {
            postStart: { exec: { command: sh("until test -e /dev/shm/go; do sleep 0.1; done") } },
          },
        },
        { name: "after" },
      ],
    },
    "http-hooks": {
      hostNetwork: true,
      containers: [
        {
          name: "c",
          lifecycle: {
            postStart: {
              httpGet: {
                port,
                path: `/post-start-${suite.node.name}`,
                httpHeaders: [{ name: "X-Who", value: "me" }],
              },
            },
            preStop: { httpGet: { port, path: `/pre-stop-${suite.node.name}` } },
          },
        },
      ],
    },
    sidecars: {
      ...never,
      terminationGracePeriodSeconds: 30,
      initContainers: [
        { name: "one", restartPolicy: "Always", command: exitsOnTerm(0) },
        { name: "two", restartPolicy: "Always", command: exitsOnTerm(0) },
        { name: "plain", command: sh("exit 0") },
      ],
      containers: [{ name: "c", command: exitsOnTerm(0) }],
    },
    stubborn: {
      terminationGracePeriodSeconds: 3,
      containers: [{ name: "c", command: sh("trap '' TERM; while true; do sleep 1; done") }],
    },
    "pre-stop": {
      terminationGracePeriodSeconds: 60,
      hostNetwork: true,
      containers: [
        {
          name: "c",
          command: sh(
            `trap 'wget -q -O /dev/null http://127.0.0.1:${port}/term-${suite.node.name}; exit 0' TERM; while true; do sleep 1000 & wait; done`,
          ),
          lifecycle: {
            preStop: {
              exec: {
                command: sh(
                  `wget -q -O /dev/null http://127.0.0.1:${port}/hook-begins-${suite.node.name}; sleep 1; wget -q -O /dev/null http://127.0.0.1:${port}/hook-ends-${suite.node.name}`,
                ),
              },
            },
          },
        },
      ],
    },
    "pre-stop-sleep": {
      terminationGracePeriodSeconds: 60,
      containers: [{ name: "c", lifecycle: { preStop: { sleep: { seconds: 1 } } } }],
    },
    "pre-stop-hangs": {
      terminationGracePeriodSeconds: 3,
      containers: [
        {
          name: "c",
          lifecycle: { preStop: { exec: { command: sh("sleep 1000") } } },
          command: exitsOnTerm(0),
        },
      ],
    },
    message: {
      ...never,
      containers: [
        { name: "c", command: sh("printf 'all is lost' > /dev/termination-log; exit 1") },
        {
          name: "own-path",
          terminationMessagePath: "/tmp/termination-message",
          command: sh("printf 'here' > /tmp/termination-message; exit 0"),
        },
        {
          name: "long",
          command: sh("yes abcdefghi | head -c 9000 > /dev/termination-log; exit 1"),
        },
        {
          name: "logs",
          terminationMessagePolicy: "FallbackToLogsOnError",
          command: sh("for i in $(seq 1 100); do echo line $i; done; exit 1"),
        },
        {
          name: "good-logs",
          terminationMessagePolicy: "FallbackToLogsOnError",
          command: sh("echo nothing to see; exit 0"),
        },
      ],
    },
  }),
  (suite) => {
    const log = () => suite.agent.log();
    const remove = (name: string) => rmSync(join(suite.node.manifests, `${name}.json`));
    const eventOf = (row: PodRow, reason: string) =>
      log()
        .split("\n")
        .find((line) => line.includes(`${reason}`) && line.includes(row.name));

    test("postStart: the hook runs in the container, and delays the container and those after it until it is done", async () => {
      const row = await suite.pods.running("post-start");
      assert.equal((await suite.inside(row, "ls /dev/shm")).trim(), "begun");
      const slow = await suite.pods.waitForPod("post-start-slow", (row) =>
        assert.match(row.blockedOn, /postStart hook of c/),
      );
      assert.equal(slow.phase, "Pending");
      assert.deepEqual(containerOf(slow).state, { waiting: { reason: "ContainerCreating" } });
      assert.deepEqual(containerOf(slow, "after").state, { waiting: { reason: "ContainerCreating" } });
      const [first] = (await suite.runtime.listContainers()).filter(
        (c) => c.labels["io.kubernetes.pod.uid"] === slow.uid,
      );
      await suite.runtime.execSync(first!.id as never, sh("touch /dev/shm/go"), 10);
      await suite.pods.running("post-start-slow");
    });

    // parity: event FailedPostStartHook
    test("postStart: a failing hook kills its container", async () => {
      const row = await suite.pods.inPhase("post-start-fails", "Failed");
      assert.ok(eventOf(row, "FailedPostStartHook"), "there is no event");
      assert.equal(containerOf(row).state?.terminated?.exitCode, 7);
    });

    test("httpGet: postStart and preStop send requests with their headers", async () => {
      const row = await suite.pods.running("http-hooks");
      assert.ok(requests.includes(`GET /post-start-${suite.node.name} me`), requests.join());
      remove("http-hooks");
      await suite.pods.gone("http-hooks");
      assert.ok(requests.includes(`GET /pre-stop-${suite.node.name} `), requests.join());
      assert.ok(row);
    });

    test("sidecars start in order before other containers, and stop after them in reverse order", async () => {
      const row = await suite.pods.running("sidecars");
      const names = ["one", "two", "c"];
      const started = await Promise.all(names.map((name) => suite.inRuntime(row, name)));
      assert.ok(
        started[0]!.startedAt < started[1]!.startedAt && started[1]!.startedAt < started[2]!.startedAt,
      );
      process.kill(await suite.pidOf(row, "c"), "SIGTERM");
      const pod = await suite.pods.inPhase("sidecars", "Succeeded");
      const [one, two, main] = await Promise.all(names.map((name) => suite.inRuntime(pod, name)));
      assert.ok(main!.finishedAt < two!.finishedAt, "a sidecar terminated before the main container");
      assert.ok(two!.finishedAt < one!.finishedAt, "the sidecars did not terminate in reverse order");
      for (const status of pod.status?.initContainerStatuses ?? []) assert.ok(status.state?.terminated);
    });

    test("a container that ignores SIGTERM is killed after its grace period, not before", async () => {
      await suite.pods.running("stubborn");
      const started = Date.now();
      remove("stubborn");
      await suite.pods.gone("stubborn");
      const took = Date.now() - started;
      assert.ok(took >= 3000, `killed after ${took} ms of 3000`);
    });

    test("preStop: the hook completes before SIGTERM is sent", async () => {
      await suite.pods.running("pre-stop");
      remove("pre-stop");
      await suite.pods.gone("pre-stop");
      const received = requests.filter(
        (line) => /\/(term|hook)/.test(line) && line.includes(`-${suite.node.name} `),
      );
      assert.deepEqual(
        received.map((line) => line.replace(/^GET \/(.*)-t-.*$/, "$1")),
        ["hook-begins", "hook-ends", "term"],
      );
    });

    test("preStop: sleep delays stopping, and a hook that hangs is limited to the grace period", async () => {
      await suite.pods.running("pre-stop-sleep");
      await suite.pods.running("pre-stop-hangs");
      const started = Date.now();
      remove("pre-stop-sleep");
      await suite.pods.gone("pre-stop-sleep");
      assert.ok(Date.now() - started >= 1000, "the hook did not sleep");
      remove("pre-stop-hangs");
      await suite.pods.gone("pre-stop-hangs");
    });

    test("a termination message is read from its file or, on errors, from the log, and truncated", async () => {
      const row = await suite.pods.inPhase("message", "Failed");
      const terminationMessage = (name: string) => containerOf(row, name).state?.terminated?.message;
      assert.equal(terminationMessage("c"), "all is lost");
      assert.equal(terminationMessage("own-path"), "here");
      // A message has the last 4 KiB of its file; five containers share 12 KiB.
      const last = "abcdefghi\n".repeat(900).slice(-4096);
      assert.equal(terminationMessage("long"), last.slice(0, Math.floor(12_288 / 5)));
      const tail = terminationMessage("logs")?.trimEnd().split("\n") ?? [];
      assert.deepEqual([tail.length, tail[0], tail.at(-1)], [80, "line 21", "line 100"]);
      assert.equal(terminationMessage("good-logs"), undefined);
    });
  },
);
