import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";
import { containerIdOf, containerOf } from "./agent-pods.ts";
import { describeLifecycle, sh } from "./lifecycle-suite.ts";
import { waitFor } from "./wait-for.ts";

/** A gRPC health service on the host, for a pod on the host network: 1 is SERVING, 2 is not. */
let health: Server;
let healthPort = 0;
/** A port without a listener: reserved by a server that was closed. */
let deadPort = 0;

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
  deadPort = (closed.address() as { port: number }).port;
  closed.close();
});

after(() => health.forceShutdown());

const often = { periodSeconds: 1, failureThreshold: 1 };
const web = sh("mkdir /tmp/w; echo ok > /tmp/w/good; exec httpd -f -p 8080 -h /tmp/w");
const webPorts = [{ name: "http", containerPort: 8080 }];

describeLifecycle(
  "probes",
  () => ({
    "exec-ready": {
      containers: [
        { name: "c", readinessProbe: { ...often, exec: { command: ["test", "-e", "/dev/shm/ready"] } } },
      ],
    },
    "exec-slow": {
      containers: [{ name: "c", readinessProbe: { ...often, exec: { command: ["sleep", "1000"] } } }],
    },
    "http-good": {
      containers: [
        {
          name: "c",
          command: web,
          ports: webPorts,
          readinessProbe: { ...often, httpGet: { path: "/good", port: "http" } },
        },
      ],
    },
    "http-bad": {
      containers: [
        {
          name: "c",
          command: web,
          ports: webPorts,
          readinessProbe: { ...often, httpGet: { path: "/missing", port: 8080 } },
        },
      ],
    },
    "tcp-good": {
      containers: [
        { name: "c", command: web, ports: webPorts, readinessProbe: { ...often, tcpSocket: { port: 8080 } } },
      ],
    },
    "tcp-bad": {
      containers: [
        { name: "c", command: web, ports: webPorts, readinessProbe: { ...often, tcpSocket: { port: 8081 } } },
      ],
    },
    "grpc-good": {
      hostNetwork: true,
      containers: [{ name: "c", readinessProbe: { ...often, grpc: { port: healthPort, service: "good" } } }],
    },
    "grpc-bad": {
      hostNetwork: true,
      containers: [{ name: "c", readinessProbe: { ...often, grpc: { port: healthPort, service: "no" } } }],
    },
    "grpc-dead": {
      hostNetwork: true,
      containers: [{ name: "c", readinessProbe: { ...often, grpc: { port: deadPort } } }],
    },
    "no-life": {
      terminationGracePeriodSeconds: 600,
      containers: [
        {
          name: "c",
          // Ignores SIGTERM: only the grace period of its probe ends it in time.
          command: sh("rm -f /dev/shm/dead; trap '' TERM; while true; do sleep 1; done"),
          livenessProbe: {
            ...often,
            exec: { command: ["test", "!", "-e", "/dev/shm/dead"] },
            terminationGracePeriodSeconds: 1,
          },
        },
        { name: "other" },
      ],
    },
    "no-life-on-failure": {
      restartPolicy: "OnFailure",
      containers: [
        {
          name: "c",
          // Exits with 0 on SIGTERM, which does not mean that it was done.
          command: sh("rm -f /dev/shm/dead; trap 'exit 0' TERM; while true; do sleep 1000 & wait; done"),
          livenessProbe: { ...often, exec: { command: ["test", "!", "-e", "/dev/shm/dead"] } },
        },
      ],
    },
    "slow-to-live": {
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
          livenessProbe: { ...often, exec: { command: ["test", "-e", "/dev/shm/up"] } },
        },
      ],
    },
    "stays-ready": {
      initContainers: [
        {
          name: "side",
          restartPolicy: "Always",
          // Succeeds once, then never again: it must not be probed a second time.
          startupProbe: { ...often, exec: { command: sh("mkdir /tmp/once") } },
        },
      ],
      containers: [
        {
          name: "c",
          readinessProbe: { periodSeconds: 2, exec: { command: sh("echo probed >> /dev/shm/probed") } },
        },
        {
          name: "slow",
          startupProbe: { ...often, exec: { command: sh("mkdir /tmp/once") } },
          readinessProbe: { periodSeconds: 5, exec: { command: ["true"] } },
        },
      ],
    },
    "never-starts": {
      containers: [
        {
          name: "c",
          startupProbe: { ...often, exec: { command: ["false"] } },
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
  (life) => {
    const ready = (row: PodRow) => row.status?.conditions?.find((c) => c.type === "Ready")?.status;
    const isReady = (name: string) =>
      life.pods.is(name, (row) => assert.deepEqual([row.ready, ready(row)], ["1/1", "True"]));
    const isNot = (name: string) =>
      life.pods.is(name, (row) => {
        assert.ok(containerOf(row).state?.running, row.blockedOn);
        assert.deepEqual([row.phase, row.ready, ready(row)], ["Running", "0/1", "False"]);
      });
    /** A probe has failed and was reported, so the container is not merely not yet probed. */
    const failed = (name: string, why: RegExp) =>
      life.pods.is(name, (row) => {
        const lines = life.agent.log().split("\n");
        assert.ok(
          lines.some((l) => l.includes("Unhealthy") && l.includes(row.name) && why.test(l)),
          `no report of a failed probe of ${name}`,
        );
      });

    test("exec: readiness follows the command, both ways", async () => {
      const row = await isNot("exec-ready");
      await failed("exec-ready", /Readiness probe failed/);
      await life.inside(row, "touch /dev/shm/ready");
      await isReady("exec-ready");
      await life.inside(row, "rm /dev/shm/ready");
      assert.equal((await isNot("exec-ready")).restarts, 0);
    });

    test("exec: a command that exceeds its timeout has failed", async () => {
      await isNot("exec-slow");
      await failed("exec-slow", /timed out/);
    });

    test("httpGet: a successful response on a named port", async () => {
      await isReady("http-good");
    });
    test("httpGet: 404 has failed", async () => {
      await isNot("http-bad");
      await failed("http-bad", /HTTP probe failed with statuscode: 404/);
    });
    test("tcpSocket: a port that is open", async () => {
      await isReady("tcp-good");
    });
    test("tcpSocket: a port that is closed", async () => {
      await isNot("tcp-bad");
      await failed("tcp-bad", /connection refused|ECONNREFUSED/);
    });
    test("grpc: serving", async () => {
      await isReady("grpc-good");
    });
    test("grpc: not serving, or no server", async () => {
      await isNot("grpc-bad");
      await failed("grpc-bad", /NOT_SERVING/);
      await isNot("grpc-dead");
      await failed("grpc-dead", /Readiness probe failed|Readiness probe errored/);
    });

    test("liveness: one that fails is restarted alone, with the grace period of its probe", async () => {
      const row = await life.pods.running("no-life");
      const other = containerOf(row, "other").containerID;
      await life.inside(row, "touch /dev/shm/dead");
      await life.pods.is("no-life", (row) => {
        assert.equal(containerOf(row).restartCount, 1);
        assert.ok(containerOf(row).state?.running);
        assert.equal(containerOf(row).lastState?.terminated?.exitCode, 137);
        assert.equal(containerOf(row, "other").containerID, other);
      });
      await failed("no-life", /Liveness probe failed/);
    });

    test("liveness: one that exits with 0 on SIGTERM is restarted with OnFailure, too", async () => {
      const row = await life.pods.running("no-life-on-failure");
      await life.inside(row, "touch /dev/shm/dead");
      const again = await life.pods.is("no-life-on-failure", (row) => {
        assert.equal(containerOf(row).restartCount, 1);
        assert.ok(containerOf(row).state?.running);
      });
      assert.equal(containerOf(again).lastState?.terminated?.exitCode, 0);
      await life.pods.running("no-life-on-failure");
    });

    test("liveness: one that needs 2 s to start is not restarted, with a period of 10 s and failureThreshold 1", async () => {
      const row = await life.pods.running("slow-to-live");
      await waitFor(async () => assert.match(await life.inside(row, "cat /tmp/passed"), /passed/), 30_000);
      await life.pods.is("slow-to-live", (row) => assert.equal(row.restarts, 0));
    });

    test("startup: the others wait for it, and it is not probed again after success", async () => {
      const row = await isNot("slow-start");
      assert.equal(containerOf(row).started, false);
      await failed("slow-start", /Startup probe failed/);
      await life.inside(row, "touch /dev/shm/up");
      const started = await isReady("slow-start");
      assert.equal(containerOf(started).started, true);
      assert.equal(started.restarts, 0, "liveness has not probed before startup was good");
      await life.inside(row, "rm /dev/shm/up");
      await life.pods.is("slow-start", (row) => assert.equal(row.restarts, 1, "liveness probes now"));
    });

    test("a killed and restarted agent keeps started and ready containers", async () => {
      const row = await life.pods.running("stays-ready");
      const as = "3/3 ready, 3 started, 0 restarts";
      await life.pods.is("stays-ready", () => assert.equal(life.watched.readyOf(row.name).at(-1), as));
      // An agent that is killed between a result and its record leaves the state before it.
      const recorded = join(life.node.rootDir, "probe-results.json");
      const isRecorded = async () => {
        const kinds: Record<string, string[]> = JSON.parse(await readFile(recorded, "utf8"));
        for (const name of ["c", "slow"])
          assert.ok(kinds[containerIdOf(row, name)]?.includes("readiness"), name);
      };
      for (const signal of ["SIGKILL", "SIGTERM"] as const) {
        await waitFor(isRecorded);
        await life.agent.end(signal);
        life.watched.forgetReady();
        life.agent.start();
        const questions = async () => (await life.inside(row, "cat /dev/shm/probed")).split("\n").length;
        const before = await questions();
        await waitFor(async () => assert.ok((await questions()) > before + 1));
        assert.deepEqual(life.watched.readyOf(row.name), [as]);
      }
    });

    test("startup: one that fails is restarted", async () => {
      await life.pods.is("never-starts", (row) => assert.ok(row.restarts >= 1));
      await failed("never-starts", /Startup probe failed/);
    });

    test("startup of a sidecar: the containers after it wait", async () => {
      const row = await life.pods.is("sidecar-gate", (row) => {
        assert.ok(containerOf(row, "side").state?.running);
        assert.match(row.blockedOn, /startup probe of .*side/);
      });
      assert.equal(containerOf(row).state?.waiting?.reason, "PodInitializing");
      assert.equal(row.phase, "Pending");
      await life.inside(row, "touch /dev/shm/up", "side");
      await life.pods.running("sidecar-gate");
    });
  },
);
