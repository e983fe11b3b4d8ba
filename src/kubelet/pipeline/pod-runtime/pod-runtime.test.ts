import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { podRuntimeOnFake as setUp } from "../../../../test/builders/pod-runtime.ts";
import { aContainer, aPod, testUid } from "../../../../test/builders/pods.ts";
import { plainRequests } from "../../../../test/builders/requests.ts";
import { waitFor } from "../../../../test/e2e/wait-for.ts";
import { fakeImages } from "../../../../test/fake-runtime/fake-runtime.ts";
import { msFromNow } from "../../../lib/base/clock.ts";
import { isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { plusMs } from "../../../lib/base/time.ts";
import type { Container } from "../../../lib/model/pod.ts";

/** Exits on SIGTERM, so that no test waits for a grace period. */
const busybox = (name: string, more: Partial<Container> = {}) =>
  aContainer(name, {
    image: fakeImages.busybox,
    command: ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep inf"],
    ...more,
  });
const onePod = (...containers: Container[]) =>
  aPod({ containers: containers.length > 0 ? containers : [busybox("a")] });

const fail = (message: string) => ({ kind: "fail", code: "UNKNOWN", message }) as const;

test("a pod is created: directories, cgroup, sandbox, containers in order, links to their logs", async (t) => {
  const s = await setUp(t);
  const pod = onePod(busybox("a"), busybox("b"));
  assert.deepEqual(await s.sync(pod), { wakeAt: undefined, waitingFor: undefined, finished: undefined });
  assert.deepEqual(s.names(), ["a#0 running", "b#0 running"]);
  assert.deepEqual(s.sandboxes(), ["#0 ready"]);
  assert.deepEqual(s.cgroups, [`create ${testUid}`]);
  assert.deepEqual(
    s.fake
      .callsOf("RunPodSandbox", "CreateContainer", "StartContainer")
      .map((c) => c.method)
      .join(" "),
    "RunPodSandbox CreateContainer StartContainer CreateContainer StartContainer",
  );
  assert.equal((await readdir(join(s.dir, "links"))).length, 2);
  assert.ok(existsSync(join(s.dir, "logs", `default_p_${testUid}`, "a", "0.log")));
  assert.deepEqual(s.reasons(), {});
  const before = s.fake.calls.length;
  await s.sync(pod);
  assert.equal(s.fake.calls.length, before, "a running pod causes no calls");
});

test("images are looked up early for a pod that has not run, not for one that runs when the agent starts", async (t) => {
  const s = await setUp(t);
  const pod = onePod(busybox("a"));
  const lookups = () => s.fake.callsOf("ImageStatus").length;
  s.prefetch(pod);
  await waitFor(() => assert.equal(lookups(), 1));
  await s.sync(pod);
  assert.equal(lookups(), 1, "looked up once");
  s.newAgent();
  s.prefetch(pod);
  await s.sync(pod);
  // A request after those that a second lookup would have sent.
  await s.client.status(false);
  assert.equal(lookups(), 1);
});

test("an early pull ends when its pod is stopped, and does not start again", async (t) => {
  const image = "registry.example/slow:1";
  const s = await setUp(t, { registry: { [image]: { pullMs: 600_000, size: 1 } } });
  const pod = onePod(busybox("a", { image, imagePullPolicy: "IfNotPresent" }));
  s.prefetch(pod);
  await waitFor(() => assert.equal(s.fake.images.pulling, 1));
  await s.end(pod);
  await waitFor(() => assert.equal(s.fake.images.pulling, 0));
  s.prefetch(pod);
  await s.client.status(false);
  assert.equal(s.fake.callsOf("PullImage").length, 1);
});

test("a container that exited restarts immediately, then with back-off", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  await s.exit("a", 1);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
  for (const seconds of [10, 20, 40]) {
    await s.exit("a", 1);
    const result = await s.sync(pod);
    assert.equal(result.wakeAt, msFromNow(s.clock, seconds * 1000));
    assert.match(
      result.waitingFor ?? "",
      new RegExp(`^back-off ${seconds}s until \\S+ before restarting a$`),
    );
    assert.equal(s.waiting.get("a")?.reason, "CrashLoopBackOff");
    assert.equal(
      s.waiting.get("a")?.message,
      `back-off ${seconds}s restarting failed container=a pod=p_default(${testUid})`,
    );
    await s.clock.advance(seconds * 1000);
    await s.sync(pod);
    assert.deepEqual(s.reasons(), {});
  }
  assert.deepEqual(s.names(), ["a#3 exited", "a#4 running"], "one dead container is kept");
});

test("a container that cannot be started has a back-off, like one that exits", async (t) => {
  const s = await setUp(t);
  const pod = onePod(busybox("a", { command: ["/no/such/program"] }));
  await assert.rejects(s.sync(pod), /no such file/);
  assert.deepEqual(s.reasons(), { a: "RunContainerError" });
  await assert.rejects(s.sync(pod), /no such file/);
  for (const seconds of [10, 20, 40]) {
    const result = await s.sync(pod);
    assert.equal(result.wakeAt, msFromNow(s.clock, seconds * 1000));
    assert.deepEqual(s.reasons(), { a: "CrashLoopBackOff" });
    await s.clock.advance(seconds * 1000);
    await assert.rejects(s.sync(pod), /no such file/);
  }
});

test("a new agent continues the back-off", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  await s.exit("a", 1);
  await s.sync(pod);
  await s.exit("a", 1);
  s.newAgent();
  assert.equal((await s.sync(pod)).wakeAt, msFromNow(s.clock, 10_000));
});

test("a pod that starts again has the back-off of its recent restarts only", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  for (let i = 0; i < 4; i++) {
    await s.clock.advance(660_000);
    await s.exit("a", 1);
    await s.sync(pod);
  }
  await s.clock.advance(60_000);
  await s.end(pod);
  await s.release(pod);
  const ended = s.clock.monotonic();
  assert.equal((await s.sync(pod)).wakeAt, plusMs(ended, 10_000));
  await s.clock.advance(10_000);
  await s.sync(pod);
  assert.deepEqual(s.names().at(-1), "a#5 running");
});

test("a pod that was removed and is added again has no back-off", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  await s.exit("a", 1);
  await s.sync(pod);
  await s.end(pod);
  await s.release(pod);
  await s.remove(pod);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 running"]);
  await s.exit("a", 1);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
});

const never = { imagePullPolicy: "Never" };
const rejected = { error: { code: "UNKNOWN", message: "registry denied the pull" } } as const;
const imageTable: [rule: string, more: Partial<Container>, reasons: string[], message: RegExp][] = [
  [
    "cannot be pulled",
    { image: "reg.test/x:1" },
    ["ErrImagePull", "ImagePullBackOff"],
    /registry denied the pull/,
  ],
  [
    "must not be pulled",
    { image: "reg.test/x:1", ...never },
    ["ErrImageNeverPull", "ErrImageNeverPull"],
    /pull policy of Never/,
  ],
  [
    "has no name",
    { image: "NOT AN IMAGE" },
    ["InvalidImageName", "InvalidImageName"],
    /invalid reference format/,
  ],
];
for (const [rule, more, reasons, message] of imageTable)
  test(`an image that ${rule}: the container waits, the others run`, async (t) => {
    const s = await setUp(t, { registry: { "reg.test/x:1": rejected } });
    const pod = onePod(busybox("bad", more), busybox("good"));
    for (const reason of reasons) {
      await assert.rejects(s.sync(pod), (e: Error) => e instanceof KubeletError && e.code === reason);
      assert.deepEqual(s.reasons(), { bad: reason });
      assert.match(s.waiting.get("bad")?.message ?? "", message);
    }
    assert.deepEqual(s.names(), ["good#0 running"]);
  });

test("a failed pull is retried after its back-off, and earlier syncs get its time", async (t) => {
  const s = await setUp(t, { registry: { "reg.test/x:1": rejected } });
  const pod = onePod(busybox("a", { image: "reg.test/x:1" }));
  const retryAt = msFromNow(s.clock, 10_000);
  await assert.rejects(s.sync(pod), (e: KubeletError) => e.code === "ErrImagePull");
  await assert.rejects(
    s.sync(pod),
    (e: KubeletError) => e.code === "ImagePullBackOff" && e.retryAt === retryAt,
  );
  assert.equal(s.fake.callsOf("PullImage").length, 1);
  s.fake.images.registry.set("reg.test/x:1", {});
  await s.clock.advance(10_000);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 running"]);
  assert.deepEqual(s.reasons(), {});
});

test("a container that cannot be created reports the reason, and the others run", async (t) => {
  const s = await setUp(t);
  s.fake.faults.add({ method: "CreateContainer", effect: fail("no room") });
  const pod = onePod(busybox("a"), busybox("b"));
  await assert.rejects(s.sync(pod), /no room/);
  assert.deepEqual(s.reasons(), { a: "CreateContainerError" });
  assert.deepEqual(s.names(), ["b#0 running"]);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 running", "b#0 running"]);
  assert.deepEqual(s.reasons(), {});
});

// parity: event FailedCreatePodSandBox
test("a sandbox that cannot be created causes an event and an error, and is retried", async (t) => {
  const s = await setUp(t);
  s.fake.faults.add({ method: "RunPodSandbox", effect: fail("no network") });
  await assert.rejects(s.sync(onePod()), (e: KubeletError) => e.code === "CreatePodSandboxError");
  const message = "Failed to create pod sandbox: rpc error: code = Unknown desc = no network";
  assert.ok(s.output.includes(`FailedCreatePodSandBox! ${message}`), s.output.join("\n"));
  await s.sync(onePod());
  assert.deepEqual(s.sandboxes(), ["#0 ready"]);
});

for (const method of ["RunPodSandbox", "CreateContainer", "StartContainer"])
  test(`the response to ${method} is lost: the next refresh finds the result, and nothing is done twice`, async (t) => {
    const s = await setUp(t);
    const pod = onePod();
    s.fake.faults.add({ method, after: true, effect: fail("response lost") });
    await assert.rejects(s.sync(pod), /response lost/);
    await s.sync(pod);
    assert.deepEqual(s.names(), ["a#0 running"]);
    assert.deepEqual(s.sandboxes(), ["#0 ready"]);
    assert.deepEqual(s.reasons(), {}, "a running container has no waiting reason");
  });

test("a container that was created and never started is replaced", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  // As if the agent exited between create and start.
  s.fake.faults.add({ method: "StartContainer", effect: fail("killed") });
  await assert.rejects(s.sync(pod), /killed/);
  assert.deepEqual(s.names(), ["a#0 created"]);
  const [orphan] = s.fake.pods.containers.keys();
  s.newAgent();
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 running"]);
  assert.equal(s.fake.pods.containers.has(orphan!), false);
});

test("after a start whose result could not be observed, the pod is refreshed before the next plan", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  await s.exit("a", 1);
  s.fake.faults.add({ method: "ContainerStatus", effect: fail("unreachable") });
  await assert.rejects(s.sync(pod), /unreachable/);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
  s.output.length = 0;
  await s.sync(pod);
  assert.deepEqual(s.output, [], "running containers are not started again");
  assert.deepEqual(s.reasons(), {}, "no waiting reason");
  assert.equal(s.fake.callsOf("CreateContainer").length, 2);
});

test("a pod is listed once for its start, and again when something was removed", async (t) => {
  const s = await setUp(t);
  const listings = () => s.fake.callsOf("ListContainers").length;
  const pod = onePod();
  const before = listings();
  await s.sync(pod);
  assert.equal(listings(), before + 1);
  for (const listed of [0, 1]) {
    await s.exit("a", 1);
    await s.clock.advance(10_000);
    const exited = listings();
    await s.sync(pod);
    assert.equal(listings(), exited + listed);
  }
  assert.deepEqual(s.names(), ["a#1 exited", "a#2 running"]);
});

test("once the PLEG knows that a pod is absent, its start needs no listing", async (t) => {
  const s = await setUp(t);
  await s.settle();
  const before = s.fake.callsOf("ListContainers").length;
  await s.sync(onePod());
  assert.deepEqual(s.names(), ["a#0 running"]);
  assert.equal(s.fake.callsOf("ListContainers").length, before);
});

// parity: event FailedPodSandBoxStatus
test("a sandbox whose status cannot be read is an event", async (t) => {
  const s = await setUp(t);
  await s.settle();
  s.fake.faults.add({ method: "PodSandboxStatus", effect: fail("unreachable") });
  await assert.rejects(s.sync(onePod()), /unreachable/);
  const message = "Unable to get pod sandbox status: rpc error: code = Unknown desc = unreachable";
  assert.deepEqual(
    s.output.filter((line) => line.startsWith("FailedPodSandBoxStatus")),
    [`FailedPodSandBoxStatus! ${message}`],
  );
  await s.sync(onePod());
  assert.deepEqual(s.names(), ["a#0 running"]);
});

// parity: event FailedCreatePodContainer
test("a pod cgroup that cannot be created is an event, and no sandbox is created", async (t) => {
  const s = await setUp(t);
  s.cgroupFailure.error = new Error("no such device");
  await assert.rejects(s.sync(onePod()), /no such device/);
  assert.deepEqual(s.output, [
    "FailedCreatePodContainer! unable to ensure pod container exists: no such device",
  ]);
  assert.equal(s.fake.callsOf("RunPodSandbox").length, 0);
});

test("containers whose pod cgroup is gone are stopped, and start again in a new one", async (t) => {
  const s = await setUp(t);
  const pod = onePod(busybox("a"), busybox("b"));
  await s.sync(pod);
  s.missingCgroups.add(testUid);
  await s.sync(pod);
  assert.deepEqual(s.cgroups, [`create ${testUid}`, `create ${testUid}`]);
  assert.deepEqual(s.sandboxes(), ["#0 stopped", "#1 ready"]);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running", "b#0 exited", "b#1 running"]);
  const before = s.fake.calls.length;
  await s.sync(pod);
  assert.equal(s.fake.calls.length, before);
});

// parity: event FailedKillPod
test("containers whose pod cgroup is gone are stopped again if that failed, and cause an event", async (t) => {
  const s = await setUp(t);
  await s.sync(onePod());
  s.missingCgroups.add(testUid);
  s.fake.faults.add({ method: "StopContainer", effect: fail("no shim") });
  await assert.rejects(s.sync(onePod()), /no shim/);
  assert.ok(
    s.output.includes("FailedKillPod! error killing pod: stopping the pod: no shim"),
    s.output.join("\n"),
  );
  await s.sync(onePod());
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
});

test("a sandbox whose creation could not be observed is found, even if the PLEG does not have the pod", async (t) => {
  const s = await setUp(t);
  await s.settle();
  s.fake.faults.add({ method: "PodSandboxStatus", times: 2, effect: fail("unreachable") });
  s.fake.faults.add({ method: "ListContainers", effect: fail("unreachable") });
  await assert.rejects(s.sync(onePod()), /unreachable/);
  assert.equal(s.observed.get(testUid), undefined);
  for (let i = 0; i < 3; i++) await s.sync(onePod()).catch(() => {});
  assert.equal(s.fake.callsOf("RunPodSandbox").length, 1);
  assert.deepEqual(s.names(), ["a#0 running"]);
});

// parity: event FailedSync
test("nothing is done while the refresh fails, which is an event unless the runtime is unavailable", async (t) => {
  const s = await setUp(t);
  s.fake.faults.add({ method: "ListContainers", times: 3, effect: fail("unreachable") });
  for (let i = 0; i < 3; i++) await assert.rejects(s.sync(onePod()), /unreachable/);
  const event = "FailedSync! error determining status: rpc error: code = Unknown desc = unreachable";
  assert.deepEqual(s.output, [event, event, event]);
  const unavailable = { kind: "fail", code: "UNAVAILABLE", message: "shutting down" } as const;
  s.fake.faults.add({ method: "ListContainers", effect: unavailable });
  await assert.rejects(s.sync(onePod()), /shutting down/);
  assert.equal(s.output.length, 3);
  assert.equal(s.fake.callsOf("RunPodSandbox").length, 0);
  assert.equal(s.fake.callsOf("CreateContainer").length, 0);
  await s.sync(onePod());
  assert.deepEqual(s.names(), ["a#0 running"]);
});

// parity: event SandboxChanged
test("a lost sandbox is replaced; its containers are stopped first and the restart count continues", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  s.fake.pods.loseSandbox([...s.fake.pods.sandboxes.keys()][0]!);
  await s.pleg.refresh(testUid);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
  assert.deepEqual(s.sandboxes(), ["#0 stopped", "#1 ready"]);
  assert.ok(s.output.includes("SandboxChanged: Pod sandbox changed, it will be killed and re-created."));
});

test("restartPolicy Never and the sandbox is lost: running containers are stopped, nothing starts", async (t) => {
  const s = await setUp(t);
  const pod = aPod({ restartPolicy: "Never", containers: [busybox("a")] });
  await s.sync(pod);
  s.fake.pods.loseSandbox([...s.fake.pods.sandboxes.keys()][0]!);
  await s.pleg.refresh(testUid);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 exited"]);
  assert.deepEqual(s.sandboxes(), ["#0 stopped"]);
});

test("a container that cannot be removed does not prevent others from starting", async (t) => {
  const s = await setUp(t);
  const pod = onePod(busybox("a"), busybox("b"));
  s.fake.faults.add({ method: "StartContainer", effect: fail("killed") });
  s.fake.faults.add({
    method: "CreateContainer",
    when: (r) => JSON.stringify(r, bigints).includes('"name":"b"'),
    effect: fail("later"),
  });
  await assert.rejects(s.sync(pod));
  assert.deepEqual(s.names(), ["a#0 created"]);
  s.fake.faults.add({ method: "RemoveContainer", effect: fail("rejected") });
  await assert.rejects(s.sync(pod), /rejected/);
  assert.deepEqual(s.names(), ["a#0 created", "b#0 running"]);
  await s.sync(pod);
  assert.deepEqual(s.names(), ["a#0 running", "b#0 running"]);
});

const bigints = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

test("a container whose image changed is restarted, the others keep running", async (t) => {
  const s = await setUp(t, { registry: { "reg.test/new:1": { command: ["sleep", "inf"] } } });
  await s.sync(onePod(busybox("a"), busybox("b")));
  await s.sync(onePod(busybox("a", { image: "reg.test/new:1" }), busybox("b")));
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running", "b#0 running"]);
  assert.ok(s.output.includes("Killing: Container a definition changed, will be restarted"));
});

test("a container that cannot be stopped does not affect the others of the pod", async (t) => {
  const s = await setUp(t, { registry: { "reg.test/new:1": { command: ["sleep", "inf"] } } });
  await s.sync(onePod(busybox("a"), busybox("b")));
  s.fake.faults.add({ method: "StopContainer", effect: fail("stuck") });
  const changed = { image: "reg.test/new:1" };
  await assert.rejects(s.sync(onePod(busybox("a", changed), busybox("b", changed))), /stuck/);
  assert.deepEqual(s.names().filter((c) => c.endsWith("running")).length, 1, "the other was stopped");
  await s.sync(onePod(busybox("a", changed), busybox("b", changed)));
  assert.deepEqual(
    s.names().filter((c) => c.endsWith("running")),
    ["a#1 running", "b#1 running"],
  );
});

test("an abort takes effect between two calls, never within one that creates something", async (t) => {
  const s = await setUp(t);
  const abort = new AbortController();
  const pod = onePod(busybox("a"), busybox("b"));
  s.fake.faults.add({ method: "StartContainer", effect: { kind: "delay", ms: 5000 } });
  const runtime = new Promise<void>((resolve) => {
    const watch = setInterval(() => {
      if (s.fake.callsOf("StartContainer").length === 0) return;
      clearInterval(watch);
      abort.abort();
      void s.clock.advance(5000).then(resolve);
    }, 1);
  });
  await assert.rejects(s.syncWith(pod, abort.signal), isAbort);
  await runtime;
  assert.deepEqual(s.names(), ["a#0 running"], "a was started completely, b not at all");
  assert.equal(s.fake.callsOf("StartContainer")[0]?.result, "OK");
});

test("stop stops all containers and sandboxes; a pod that the runtime does not have is stopped", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.end(pod);
  assert.deepEqual(s.fake.callsOf("StopContainer", "StopPodSandbox"), []);
  await s.sync(pod);
  await s.end(pod);
  assert.deepEqual(s.names(), ["a#0 exited"]);
  assert.deepEqual(s.sandboxes(), ["#0 stopped"]);
  assert.ok(s.output.includes("Killing: Stopping container a"));
});

test("remove removes everything, and a failure does not affect the rest", async (t) => {
  const s = await setUp(t);
  const pod = onePod(busybox("a"), busybox("b"));
  await s.sync(pod);
  await s.end(pod);
  s.fake.faults.add({ method: "RemoveContainer", effect: fail("rejected") });
  s.fake.faults.add({ method: "RemovePodSandbox", effect: fail("rejected too") });
  await assert.rejects(s.remove(pod), /rejected/);
  assert.equal(s.names().length, 1);
  await s.remove(pod);
  assert.deepEqual([s.names(), s.sandboxes()], [[], []]);
  assert.equal(s.observed.get(testUid), undefined);
  assert.equal(existsSync(s.files.podDir(testUid)), false);
  assert.equal(existsSync(s.files.logDir(pod.metadata)), false);
  assert.deepEqual(await readdir(join(s.dir, "links")), []);
});

test("a pod is listed twice while it ends: when nothing runs, and when nothing is left", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  const listings = () => s.fake.callsOf("ListContainers").length;
  const synced = listings();
  await s.end(pod);
  assert.equal(listings(), synced + 1);
  await s.remove(pod);
  assert.equal(listings(), synced + 2);
});

test("a sandbox that appears while its pod is stopped is stopped with the next attempt", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  s.fake.faults.add({ method: "StopPodSandbox", effect: { kind: "delay", ms: 1000 } });
  const ending = s.end(pod);
  await waitFor(async () => assert.equal(s.fake.callsOf("StopPodSandbox").length, 1));
  await s.client.runPodSandbox(await plainRequests("").sandbox(pod, 1), "");
  const ended = assert.rejects(ending, /sandboxes have appeared/);
  await s.clock.advance(1000);
  await ended;
  await s.end(pod);
  assert.deepEqual(s.sandboxes(), ["#0 stopped", "#1 stopped"]);
});

test("a sandbox that appears after its start has failed is stopped with its pod", async (t) => {
  const s = await setUp(t);
  await s.settle();
  const pod = onePod();
  s.fake.faults.add({ method: "RunPodSandbox", effect: { kind: "fail", code: "DEADLINE_EXCEEDED" } });
  await assert.rejects(s.sync(pod), /creating the sandbox/);
  await s.client.runPodSandbox(await plainRequests("").sandbox(pod, 0), "");
  await s.end(pod);
  assert.deepEqual(s.sandboxes(), ["#0 stopped"]);
});

test("a sandbox that appears while its pod is removed is found and removed", async (t) => {
  const s = await setUp(t);
  const pod = onePod();
  await s.sync(pod);
  await s.end(pod);
  s.fake.faults.add({ method: "RemovePodSandbox", effect: { kind: "delay", ms: 1000 } });
  const removing = s.remove(pod);
  await waitFor(async () => assert.equal(s.fake.callsOf("RemovePodSandbox").length, 1));
  await s.client.runPodSandbox(await plainRequests("").sandbox(pod, 1), "");
  const removed = assert.rejects(removing, /still has parts of the pod/);
  await s.clock.advance(1000);
  await removed;
  await s.remove(pod);
  assert.deepEqual([s.names(), s.sandboxes()], [[], []]);
});
