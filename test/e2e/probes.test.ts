import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { containerIdOf, containerOf } from "./agent-pods.ts";
import { describeLifecycle, sh } from "./lifecycle-suite.ts";
import { waitFor } from "./wait-for.ts";

/** A gRPC health service on the host, for a pod on the host network. Status 1 is SERVING, 2 is NOT_SERVING. */
let health: Server;
let healthPort = 0;
/** A port without a listener: reserved by a server that was closed. */
let closedPort = 0;

before(async () => {
  health = new Server();
  const bytes = (value: Buffer) => value;
  const definition = {
    Check: {
      path: "/grpc.health.v1.Health/Check",
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    },
  } as const;
  health.addService(definition, {
    Check: (call: { request: Buffer }, callback: (error: null, value: Buffer) => void) =>
      callback(null, Buffer.from([8, call.request.includes("good") ? 1 : 2])),
  });
  healthPort = await new Promise<number>((resolve, reject) =>
    health.bindAsync("0.0.0.0:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
  const closed = createServer().listen(0, "0.0.0.0");
  await once(closed, "listening");
  closedPort = (closed.address() as { port: number }).port;
  closed.close();
});

after(() => health.forceShutdown());

const everySecond = { periodSeconds: 1, failureThreshold: 1 };
const web = sh("mkdir /tmp/w; echo ok > /tmp/w/good; exec httpd -f -p 8080 -h /tmp/w");
const webPorts = [{ name: "http", containerPort: 8080 }];

describeLifecycle(
  "probes",
  () => ({
    "exec-ready": {
      containers: [
        {
          name: "c",
          readinessProbe: { ...everySecond, exec: { command: ["test", "-e", "/dev/shm/ready"] } },
        },
      ],
    },
    "exec-slow": {
      containers: [{ name: "c", readinessProbe: { ...everySecond, exec: { command: ["sleep", "1000"] } } }],
    },
    "http-good": {
      containers: [
        {
          name: "c",
          command: web,
          ports: webPorts,
          readinessProbe: { ...everySecond, httpGet: { path: "/good", port: "http" } },
        },
      ],
    },
    "http-bad": {
      containers: [
        {
          name: "c",
          command: web,
          ports: webPorts,
          readinessProbe: { ...everySecond, httpGet: { path: "/missing", port: 8080 } },
        },
      ],
    },
    "tcp-good": {
      containers: [
        {
          name: "c",
          command: web,
          ports: webPorts,
          readinessProbe: { ...everySecond, tcpSocket: { port: 8080 } },
        },
      ],
    },
    "tcp-bad": {
      containers: [
        {
          name: "c",
          command: web,
          ports: webPorts,
          readinessProbe: { ...everySecond, tcpSocket: { port: 8081 } },
        },
      ],
    },
    "grpc-good": {
      hostNetwork: true,
      containers: [
        { name: "c", readinessProbe: { ...everySecond, grpc: { port: healthPort, service: "good" } } },
      ],
    },
    "grpc-bad": {
      hostNetwork: true,
      containers: [
        { name: "c", readinessProbe: { ...everySecond, grpc: { port: healthPort, service: "no" } } },
      ],
    },
    "grpc-dead": {
      hostNetwork: true,
      containers: [{ name: "c", readinessProbe: { ...everySecond, grpc: { port: closedPort } } }],
    },
    "not-live": {
      terminationGracePeriodSeconds: 600,
      containers: [
        {
          name: "c",
          // It ignores SIGTERM, so that only the grace period of its probe ends it in time.
          command: sh("rm -f /dev/shm/dead; trap '' TERM; while true; do sleep 1; done"),
          livenessProbe: {
            ...everySecond,
            exec: { command: ["test", "!", "-e", "/dev/shm/dead"] },
            terminationGracePeriodSeconds: 1,
          },
        },
        { name: "other" },
      ],
    },
    "not-live-on-failure": {
      restartPolicy: "OnFailure",
      containers: [
        {
          name: "c",
          // It exits with 0 on SIGTERM, but has not completed.
          command: sh("rm -f /dev/shm/dead; trap 'exit 0' TERM; while true; do sleep 1000 & wait; done"),
          livenessProbe: { ...everySecond, exec: { command: ["test", "!", "-e", "/dev/shm/dead"] } },
        },
      ],
    },
    "slow-to-pass": {
      containers: [
        {
          name: "c",
          command: sh("trap 'exit 0' TERM; sleep 2; touch /tmp/ok; while true; do sleep 1; done"),
          livenessProbe: {
            periodSeconds: 10,
            failureThreshold: 1,
            exec: { command: sh("test -e /tmp/ok && echo passed >> /tmp/passed") },
          },
        },
      ],
    },
    "slow-start": {
      containers: [
        {
          name: "c",
          startupProbe: {
            periodSeconds: 1,
            failureThreshold: 600,
            exec: { command: ["test", "-e", "/dev/shm/up"] },
          },
          livenessProbe: { ...everySecond, exec: { command: ["test", "-e", "/dev/shm/up"] } },
        },
      ],
    },
    "stays-ready": {
      initContainers: [
        {
          name: "side",
          restartPolicy: "Always",
          // It succeeds only once, and must not be probed again after that.
          startupProbe: { ...everySecond, exec: { command: sh("mkdir /tmp/once") } },
        },
      ],
      containers: [
        {
          name: "c",
          readinessProbe: { periodSeconds: 2, exec: { command: sh("echo probed >> /dev/shm/probed") } },
        },
        {
          name: "slow",
          startupProbe: { ...everySecond, exec: { command: sh("mkdir /tmp/once") } },
          readinessProbe: { periodSeconds: 5, exec: { command: ["true"] } },
        },
      ],
    },
    "never-starts": {
      containers: [
        {
          name: "c",
          startupProbe: { ...everySecond, exec: { command: ["false"] } },
        },
      ],
    },
    "sidecar-gate": {
      initContainers: [
        {
          name: "side",
          restartPolicy: "Always",
          startupProbe: {
            periodSeconds: 1,
            failureThreshold: 600,
            exec: { command: ["test", "-e", "/dev/shm/up"] },
          },
        },
      ],
      containers: [{ name: "c" }],
    },
  }),
  (suite) => {
    const ready = (row: PodRow) => row.status?.conditions?.find((c) => c.type === "Ready")?.status;
    const isReady = (name: string) =>
      suite.pods.waitForPod(name, (row) => assert.deepEqual([row.ready, ready(row)], ["1/1", "True"]));
    const isNotReady = (name: string) =>
      suite.pods.waitForPod(name, (row) => {
        assert.ok(containerOf(row).state?.running, row.blockedOn);
        assert.deepEqual([row.phase, row.ready, ready(row)], ["Running", "0/1", "False"]);
      });
    /** A failed probe was reported: the container is not just waiting for its first probe. */
    const failed = (name: string, why: RegExp) =>
      suite.pods.waitForPod(name, (row) => {
        const lines = suite.agent.log().split("\n");
        assert.ok(
          lines.some((l) => l.includes("Unhealthy") && l.includes(row.name) && why.test(l)),
          `no report of a failed probe of ${name}`,
        );
      });

    test("exec: a container is ready while the command succeeds", async () => {
      const row = await isNotReady("exec-ready");
      await failed("exec-ready", /Readiness probe failed/);
      await suite.inside(row, "touch /dev/shm/ready");
      await isReady("exec-ready");
      await suite.inside(row, "rm /dev/shm/ready");
      assert.equal((await isNotReady("exec-ready")).restarts, 0);
    });

    test("exec: a command that exceeds its timeout fails the probe", async () => {
      await isNotReady("exec-slow");
      await failed("exec-slow", /timed out/);
    });

    test("httpGet: a successful response on a named port passes the probe", async () => {
      await isReady("http-good");
    });
    test("httpGet: a response of 404 fails the probe", async () => {
      await isNotReady("http-bad");
      await failed("http-bad", /HTTP probe failed with statuscode: 404/);
    });
    test("tcpSocket: an open port passes the probe", async () => {
      await isReady("tcp-good");
    });
    test("tcpSocket: a closed port fails the probe", async () => {
      await isNotReady("tcp-bad");
      await failed("tcp-bad", /connection refused|ECONNREFUSED/);
    });
    test("grpc: the status SERVING passes the probe", async () => {
      await isReady("grpc-good");
    });
    test("grpc: the status NOT_SERVING, or no server, fails the probe", async () => {
      await isNotReady("grpc-bad");
      await failed("grpc-bad", /NOT_SERVING/);
      await isNotReady("grpc-dead");
      await failed("grpc-dead", /Readiness probe failed|Readiness probe errored/);
    });

    test("liveness: only the failed container is restarted, with the grace period of its probe", async () => {
      const row = await suite.pods.running("not-live");
      const other = containerOf(row, "other").containerID;
      await suite.inside(row, "touch /dev/shm/dead");
      await suite.pods.waitForPod("not-live", (row) => {
        assert.equal(containerOf(row).restartCount, 1);
        assert.ok(containerOf(row).state?.running);
        assert.equal(containerOf(row).lastState?.terminated?.exitCode, 137);
        assert.equal(containerOf(row, "other").containerID, other);
      });
      await failed("not-live", /Liveness probe failed/);
    });

    test("liveness: a container that exits with 0 on SIGTERM is restarted with OnFailure, too", async () => {
      const row = await suite.pods.running("not-live-on-failure");
      await suite.inside(row, "touch /dev/shm/dead");
      const again = await suite.pods.waitForPod("not-live-on-failure", (row) => {
        assert.equal(containerOf(row).restartCount, 1);
        assert.ok(containerOf(row).state?.running);
      });
      assert.equal(containerOf(again).lastState?.terminated?.exitCode, 0);
      await suite.pods.running("not-live-on-failure");
    });

    test("liveness: a container that needs 2 s to start is not restarted with a period of 10 s and failureThreshold 1", async () => {
      const row = await suite.pods.running("slow-to-pass");
      await waitFor(async () => assert.match(await suite.inside(row, "cat /tmp/passed"), /passed/), 30_000);
      await suite.pods.waitForPod("slow-to-pass", (row) => assert.equal(row.restarts, 0));
    });

    test("startup: other probes wait for the startup probe, which does not run again after success", async () => {
      const row = await isNotReady("slow-start");
      assert.equal(containerOf(row).started, false);
      await failed("slow-start", /Startup probe failed/);
      await suite.inside(row, "touch /dev/shm/up");
      const started = await isReady("slow-start");
      assert.equal(containerOf(started).started, true);
      assert.equal(started.restarts, 0, "the liveness probe ran before the startup probe succeeded");
      await suite.inside(row, "rm /dev/shm/up");
      await suite.pods.waitForPod("slow-start", (row) =>
        assert.equal(row.restarts, 1, "the liveness probe does not run after the startup probe"),
      );
    });

    test("a killed and restarted agent keeps started and ready containers", async () => {
      const row = await suite.pods.running("stays-ready");
      const expected = "3/3 ready, 3 started, 0 restarts";
      await suite.pods.waitForPod("stays-ready", () =>
        assert.equal(suite.watched.readyOf(row.name).at(-1), expected),
      );
      // An agent that is killed before it records a result leaves the previous one on disk.
      const recorded = join(suite.node.rootDir, "probe-results.json");
      const isRecorded = async () => {
        const kinds: Record<string, string[]> = JSON.parse(await readFile(recorded, "utf8"));
        for (const name of ["c", "slow"])
          assert.ok(kinds[containerIdOf(row, name)]?.includes("readiness"), name);
      };
      for (const signal of ["SIGKILL", "SIGTERM"] as const) {
        await waitFor(isRecorded);
        await suite.agent.end(signal);
        suite.watched.clearReady();
        suite.agent.start();
        const probeCount = async () => (await suite.inside(row, "cat /dev/shm/probed")).split("\n").length;
        const before = await probeCount();
        await waitFor(async () => assert.ok((await probeCount()) > before + 1));
        assert.deepEqual(suite.watched.readyOf(row.name), [expected]);
      }
    });

    test("startup: a container whose startup probe fails is restarted", async () => {
      await suite.pods.waitForPod("never-starts", (row) => assert.ok(row.restarts >= 1));
      await failed("never-starts", /Startup probe failed/);
    });

    test("startup: the containers after a sidecar wait for its startup probe", async () => {
      const row = await suite.pods.waitForPod("sidecar-gate", (row) => {
        assert.ok(containerOf(row, "side").state?.running);
        assert.match(row.blockedOn, /startup probe of .*side/);
      });
      assert.equal(containerOf(row).state?.waiting?.reason, "PodInitializing");
      assert.equal(row.phase, "Pending");
      await suite.inside(row, "touch /dev/shm/up", "side");
      await suite.pods.running("sidecar-gate");
    });
  },
);
