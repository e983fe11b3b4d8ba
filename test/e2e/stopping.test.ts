import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";
import { containerOf } from "./agent-pods.ts";
import { describeLifecycle, type Life, sh } from "./lifecycle-suite.ts";

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
/** Exits on SIGTERM, and shows when by its log and exit code. */
const obedient = (code: number) => sh(`trap 'exit ${code}' TERM; while true; do sleep 1000 & wait; done`);

describeLifecycle(
  "hooks and the end of containers",
  (life: Life) => ({
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
          command: obedient(7),
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
                path: `/post-start-${life.node.name}`,
                httpHeaders: [{ name: "X-Who", value: "me" }],
              },
            },
            preStop: { httpGet: { port, path: `/pre-stop-${life.node.name}` } },
          },
        },
      ],
    },
    sidecars: {
      ...never,
      terminationGracePeriodSeconds: 30,
      initContainers: [
        { name: "one", restartPolicy: "Always", command: obedient(0) },
        { name: "two", restartPolicy: "Always", command: obedient(0) },
        { name: "plain", command: sh("exit 0") },
      ],
      containers: [{ name: "c", command: obedient(0) }],
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
            `trap 'wget -q -O /dev/null http://127.0.0.1:${port}/term-${life.node.name}; exit 0' TERM; while true; do sleep 1000 & wait; done`,
          ),
          lifecycle: {
            preStop: {
              exec: {
                command: sh(
                  `wget -q -O /dev/null http://127.0.0.1:${port}/hook-begins-${life.node.name}; sleep 1; wget -q -O /dev/null http://127.0.0.1:${port}/hook-ends-${life.node.name}`,
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
        { name: "c", lifecycle: { preStop: { exec: { command: sh("sleep 1000") } } }, command: obedient(0) },
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
  (life) => {
    const log = () => life.agent.log();
    const remove = (name: string) => rmSync(join(life.node.manifests, `${name}.json`));
    const eventOf = (row: PodRow, reason: string) =>
      log()
        .split("\n")
        .find((line) => line.includes(`${reason}`) && line.includes(row.name));

    test("postStart: runs in the container; an unfinished hook delays its container and those after it", async () => {
      const row = await life.pods.running("post-start");
      assert.equal((await life.inside(row, "ls /dev/shm")).trim(), "begun");
      const slow = await life.pods.is("post-start-slow", (row) =>
        assert.match(row.blockedOn, /postStart hook of c/),
      );
      assert.equal(slow.phase, "Pending");
      assert.deepEqual(containerOf(slow).state, { waiting: { reason: "ContainerCreating" } });
      assert.deepEqual(containerOf(slow, "after").state, { waiting: { reason: "ContainerCreating" } });
      const [first] = (await life.runtime.listContainers()).filter(
        (c) => c.labels["io.kubernetes.pod.uid"] === slow.uid,
      );
      await life.runtime.execSync(first!.id as never, sh("touch /dev/shm/go"), 10);
      await life.pods.running("post-start-slow");
    });

    test("postStart: a failing hook kills its container", async () => {
      const row = await life.pods.inPhase("post-start-fails", "Failed");
      assert.ok(eventOf(row, "FailedPostStartHook"), "there was no event");
      assert.equal(containerOf(row).state?.terminated?.exitCode, 7);
    });

    test("httpGet: postStart and preStop send requests, with their headers", async () => {
      const row = await life.pods.running("http-hooks");
      assert.ok(requests.includes(`GET /post-start-${life.node.name} me`), requests.join());
      remove("http-hooks");
      await life.pods.gone("http-hooks");
      assert.ok(requests.includes(`GET /pre-stop-${life.node.name} `), requests.join());
      assert.ok(row);
    });

    test("sidecars: start in order before the others, and stop last in reverse order", async () => {
      const row = await life.pods.running("sidecars");
      const names = ["one", "two", "c"];
      const begun = await Promise.all(names.map((name) => life.inRuntime(row, name)));
      assert.ok(begun[0]!.startedAt < begun[1]!.startedAt && begun[1]!.startedAt < begun[2]!.startedAt);
      process.kill(await life.pidOf(row, "c"), "SIGTERM");
      const pod = await life.pods.inPhase("sidecars", "Succeeded");
      const [one, two, main] = await Promise.all(names.map((name) => life.inRuntime(pod, name)));
      assert.ok(main!.finishedAt < two!.finishedAt, "the sidecars outlive the others");
      assert.ok(two!.finishedAt < one!.finishedAt, "last started, first terminated");
      for (const status of pod.status?.initContainerStatuses ?? []) assert.ok(status.state?.terminated);
    });

    test("a container that ignores SIGTERM is killed after its grace period, not before", async () => {
      await life.pods.running("stubborn");
      const started = Date.now();
      remove("stubborn");
      await life.pods.gone("stubborn");
      const took = Date.now() - started;
      assert.ok(took >= 3000, `killed after ${took} ms of 3000`);
    });

    test("preStop: completes before the signal", async () => {
      await life.pods.running("pre-stop");
      remove("pre-stop");
      await life.pods.gone("pre-stop");
      const seen = requests.filter(
        (line) => /\/(term|hook)/.test(line) && line.includes(`-${life.node.name} `),
      );
      assert.deepEqual(
        seen.map((line) => line.replace(/^GET \/(.*)-t-.*$/, "$1")),
        ["hook-begins", "hook-ends", "term"],
      );
    });

    test("preStop: sleep, and a hook that hangs gets no more than the grace period", async () => {
      await life.pods.running("pre-stop-sleep");
      await life.pods.running("pre-stop-hangs");
      const started = Date.now();
      remove("pre-stop-sleep");
      await life.pods.gone("pre-stop-sleep");
      assert.ok(Date.now() - started >= 1000, "it did not sleep");
      remove("pre-stop-hangs");
      await life.pods.gone("pre-stop-hangs");
    });

    test("termination messages: file, custom path, limit, and FallbackToLogsOnError", async () => {
      const row = await life.pods.inPhase("message", "Failed");
      const terminationMessage = (name: string) => containerOf(row, name).state?.terminated?.message;
      assert.equal(terminationMessage("c"), "all is lost");
      assert.equal(terminationMessage("own-path"), "here");
      // Of each the last 4 KiB, and five containers share 12 KiB.
      const last = "abcdefghi\n".repeat(900).slice(-4096);
      assert.equal(terminationMessage("long"), last.slice(0, Math.floor(12_288 / 5)));
      const tail = terminationMessage("logs")?.trimEnd().split("\n") ?? [];
      assert.deepEqual([tail.length, tail[0], tail.at(-1)], [80, "line 21", "line 100"]);
      assert.equal(terminationMessage("good-logs"), undefined);
    });
  },
);
