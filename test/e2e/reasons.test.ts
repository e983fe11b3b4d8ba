import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { explained } from "../cluster/explained.ts";
import { containerOf } from "./agent-pods.ts";
import { describeLifecycle, sh } from "./lifecycle-suite.ts";

/** A registry that accepts the connection and never responds, and a port without a listener. */
let unresponsive: Server;
let unresponsivePort = 0;
const calls = new Set<Socket>();

before(async () => {
  unresponsive = createServer((socket) => calls.add(socket.on("error", () => {})));
  unresponsive.listen(0, "127.0.0.1");
  await once(unresponsive, "listening");
  unresponsivePort = (unresponsive.address() as { port: number }).port;
});

after(() => {
  for (const socket of calls) socket.destroy();
  unresponsive.close();
});

const never = { restartPolicy: "Never" };

describeLifecycle(
  "reasons of waiting and terminated containers",
  () => ({
    "never-pull": { containers: [{ name: "c", image: "localhost/no/such:1" }] },
    "bad-name": { containers: [{ name: "c", image: "Not/A/Name", imagePullPolicy: "IfNotPresent" }] },
    "no-registry": {
      containers: [{ name: "c", image: "127.0.0.1:1/no/such:1", imagePullPolicy: "IfNotPresent" }],
    },
    pulling: {
      containers: [
        { name: "c", image: `127.0.0.1:${unresponsivePort}/a/b:1`, imagePullPolicy: "IfNotPresent" },
      ],
    },
    "as-root": { containers: [{ name: "c", securityContext: { runAsNonRoot: true } }] },
    profile: {
      containers: [
        {
          name: "c",
          securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "no-such.json" } },
        },
      ],
    },
    "no-command": { containers: [{ name: "c", command: ["/no/such/command"] }] },
    "once-without-command": { ...never, containers: [{ name: "c", command: ["/no/such/command"] }] },
    initializing: { initContainers: [{ name: "first" }], containers: [{ name: "c" }] },
    completes: { ...never, containers: [{ name: "c", command: sh("exit 0") }] },
    fails: { ...never, containers: [{ name: "c", command: sh("exit 42") }] },
    killed: { ...never, containers: [{ name: "c" }] },
    greedy: {
      ...never,
      containers: [
        { name: "c", command: sh("exec tail /dev/zero"), resources: { limits: { memory: "16Mi" } } },
      ],
    },
    "greedy-pod": {
      ...never,
      resources: { limits: { memory: "20Mi" } },
      containers: [{ name: "c", command: sh("exec tail /dev/zero") }],
    },
    crashes: { containers: [{ name: "c", command: sh("exit 3") }] },
    "no-volume-image": {
      volumes: [{ name: "image", image: { reference: "127.0.0.1:1/no/volume:1" } }] as never,
      containers: [{ name: "c", volumeMounts: [{ name: "image", mountPath: "/image" }] }],
    },
    "out-of-time": { activeDeadlineSeconds: 1, containers: [{ name: "c" }] },
  }),
  (suite) => {
    const waits = async (name: string, reason: string, message: RegExp, withinMs?: number) =>
      suite.pods.waitForPod(
        name,
        (row) => {
          const { waiting } = containerOf(row).state ?? {};
          assert.equal(waiting?.reason, reason, JSON.stringify(containerOf(row).state));
          assert.match(waiting?.message ?? "", message);
        },
        withinMs,
      );
    const terminated = async (name: string, phase: string) => {
      const row = await suite.pods.inPhase(name, phase, 60_000);
      return { row, ...containerOf(row).state?.terminated };
    };
    /** The process that the kernel killed is in its log, which is read every second. */
    const oomCause = (name: string, why: string) =>
      explained(suite.node.rootDir).waitForPod(name, ({ cause }) =>
        assert.match(
          cause ?? "",
          new RegExp(`^container c exited with code 137 \\(\\w+\\): ${why} \\(process tail\\)$`),
        ),
      );

    test("a failed pull has reason ErrImagePull, and ImagePullBackOff during the back-off", async () => {
      await waits("no-registry", "ImagePullBackOff", /^Back-off pulling image "127\.0\.0\.1:1\/no\/such:1"/);
      const row = await suite.pods.inPhase("no-registry", "Pending");
      assert.ok(
        suite.watched.reasonsOf(row.name).has("ErrImagePull"),
        "the reason for the failure was never reported",
      );
    });

    test("a failed pull of an image volume has reasons ErrImagePull and ImagePullBackOff", async () => {
      await waits(
        "no-volume-image",
        "ImagePullBackOff",
        /^Back-off pulling image "127\.0\.0\.1:1\/no\/volume:1"/,
      );
      const row = await suite.pods.inPhase("no-volume-image", "Pending");
      assert.ok(
        suite.watched.reasonsOf(row.name).has("ErrImagePull"),
        "the reason for the failure was never reported",
      );
    });

    test("a container waits with ContainerCreating while its image is pulled", async () => {
      const row = await suite.pods.waitForPod("pulling", (row) => assert.match(row.blockedOn, /^pulling /));
      assert.deepEqual(containerOf(row).state, { waiting: { reason: "ContainerCreating" } });
    });

    test("ErrImageNeverPull", async () => {
      await waits("never-pull", "ErrImageNeverPull", /pull policy of Never/);
    });

    test("InvalidImageName", async () => {
      await waits("bad-name", "InvalidImageName", /couldn't parse image name/);
    });

    test("root with runAsNonRoot is a CreateContainerConfigError", async () => {
      await waits(
        "as-root",
        "CreateContainerConfigError",
        /^container has runAsNonRoot and image will run as root \(pod: "as-root-/,
      );
    });

    test("a missing profile is a CreateContainerError", async () => {
      await waits("profile", "CreateContainerError", /no-such\.json/);
    });

    test("a failed start is a RunContainerError, and then CrashLoopBackOff after StartError", async () => {
      const row = await waits("no-command", "CrashLoopBackOff", /restarting failed container=c/);
      assert.ok(
        suite.watched.reasonsOf(row.name).has("RunContainerError"),
        "the reason for the failure was never reported",
      );
      const { terminated } = containerOf(row).lastState ?? {};
      assert.equal(terminated?.reason, "StartError");
      assert.match(terminated?.message ?? "", /no such file or directory/);
    });

    test("a container that could not be started has terminated with StartError and exit code 128", async () => {
      const end = await terminated("once-without-command", "Failed");
      assert.equal(end.reason, "StartError");
      assert.equal(end.exitCode, 128);
    });

    test("containers wait with PodInitializing while an init container runs", async () => {
      const row = await suite.pods.waitForPod("initializing", (row) =>
        assert.ok(containerOf(row, "first").state?.running),
      );
      assert.deepEqual(containerOf(row).state, { waiting: { reason: "PodInitializing" } });
      assert.equal(row.phase, "Pending");
    });

    test("terminated containers have reason Completed or Error, and their exit codes", async () => {
      const well = await terminated("completes", "Succeeded");
      assert.deepEqual([well.reason, well.exitCode], ["Completed", 0]);
      const badly = await terminated("fails", "Failed");
      assert.deepEqual([badly.reason, badly.exitCode], ["Error", 42]);
      const row = await suite.pods.running("killed");
      process.kill(await suite.pidOf(row), "SIGKILL");
      const killed = await terminated("killed", "Failed");
      assert.deepEqual([killed.reason, killed.exitCode], ["Error", 137]);
    });

    test("OOMKilled", async () => {
      const end = await terminated("greedy", "Failed");
      assert.deepEqual([end.reason, end.exitCode], ["OOMKilled", 137]);
      // Whether the sandbox fits as well decides which limit is reached first: the pod's is the same. The kernel logs the usage a moment
      // after the allocation that failed.
      const used = "used 1[56](\\.\\d)?Mi of its memory limit of 16Mi";
      await oomCause("greedy", `the (container|pod) ${used}`);
    });

    test("the memory limit of a pod", async () => {
      const end = await terminated("greedy-pod", "Failed");
      assert.equal(end.exitCode, 137);
      await oomCause("greedy-pod", "the pod used (19|20)(\\.\\d)?Mi of its memory limit of 20Mi");
    });

    test("CrashLoopBackOff", async () => {
      const row = await waits("crashes", "CrashLoopBackOff", /^back-off \d+s restarting failed container=c/);
      assert.equal(containerOf(row).lastState?.terminated?.exitCode, 3);
      await suite.pods.waitForPod("crashes", ({ blockedOn }) =>
        assert.match(blockedOn, /^back-off \d+s until \S+ before restarting c$/),
      );
    });

    test("DeadlineExceeded", async () => {
      const { row } = await terminated("out-of-time", "Failed");
      assert.equal(row.status?.reason, "DeadlineExceeded");
      assert.equal(row.status?.message, "Pod was active on the node longer than the specified deadline");
      assert.equal(containerOf(row).state?.running, undefined);
    });
  },
  // One of the registries never responds: it must not block the other.
  { serializeImagePulls: false },
);
