import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { ContainerStatus } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { PodUid } from "../../../lib/model/pod.ts";
import { ObservedPods } from "../../state/observed-pods.ts";
import { FakeRuntimeView } from "./fake-runtime-view.ts";
import { Pleg } from "./pleg.ts";

const u = (text: string) => text as PodUid;

async function setUp(
  t: TestContext,
  options: {
    everyMs?: number;
    onDemand?: boolean;
    view?: (view: FakeRuntimeView) => void;
    terminationMessage?: (status: ContainerStatus) => Promise<string>;
  } = {},
) {
  const view = new FakeRuntimeView();
  options.view?.(view);
  const clock = new FakeClock();
  const observed = new ObservedPods();
  const events: string[] = [];
  const stop = new AbortController();
  const pleg = new Pleg({
    runtime: view.runtime,
    observed,
    clock,
    logger: silentLogger,
    relistEveryMs: () => options.everyMs ?? 1000,
    onDemand: options.onDemand ?? true,
    ...(options.terminationMessage ? { terminationMessage: options.terminationMessage } : {}),
    onEvent: (e) => events.push(`${e.kind} ${e.uid}${e.container ? ` ${e.container}` : ""}`),
  });
  let synced = false;
  void pleg.synced.then(() => {
    synced = true;
  });
  await pleg.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await clock.advance(0);
    await pleg.done;
  });
  await settle();
  const state = (uid: string) =>
    observed
      .get(u(uid))
      ?.containers.map((c) => `${c.id} ${c.state}`)
      .join();
  return { view, clock, observed, events, pleg, state, stop, isSynced: () => synced };
}

/** Blocks the responses to calls with this prefix until the returned function is called. */
function block(view: FakeRuntimeView, start: string) {
  const gate = Promise.withResolvers<void>();
  view.before = (call) => (call.startsWith(start) ? gate.promise : undefined);
  return () => {
    view.before = () => {};
    gate.resolve();
    return settle();
  };
}

function failAt(view: FakeRuntimeView, start: string, message = "broken") {
  view.before = (call) => {
    if (call.startsWith(start)) throw new Error(message);
  };
}

test("a sandbox that no kubelet created is observed by its ID, until it is gone", async (t) => {
  const { view, observed, pleg, clock } = await setUp(t, {
    view: (v) => v.sandboxes.push({ id: "s1", uid: "u", ready: true, isForeign: true }),
  });
  const found = () => [...observed.all()].map((pod) => [pod.uid, pod.name, pod.sandboxes.map((s) => s.id)]);
  assert.deepEqual(found(), [["s1", "pod-u", ["s1"]]]);
  await pleg.refresh(u("s1"));
  assert.deepEqual(found(), [["s1", "pod-u", ["s1"]]]);
  view.sandboxes = [];
  await pleg.refresh(u("s1"));
  assert.deepEqual(found(), []);
  await clock.advance(1000);
  assert.deepEqual(found(), []);
});

test("a container that was killed is refreshed for a while: the OOM kill is reported later", async (t) => {
  const { view, clock, events, observed, pleg } = await setUp(t, {
    everyMs: 3_600_000,
    view: (v) => v.addPod("p"),
  });
  events.splice(0);
  const end = { exitCode: 137, reason: "Error", finishedAt: epochMs(clock.wall()) };
  Object.assign(view.containers[0]!, { state: "exited", end });
  await pleg.refresh(u("p"));
  await clock.advance(1000);
  const reason = () => observed.get(u("p"))?.containers[0]?.reason;
  assert.equal(reason(), "Error");
  assert.deepEqual(events.splice(0), ["ContainerDied p c-p"]);
  end.reason = "OOMKilled";
  await clock.advance(500);
  assert.equal(reason(), "OOMKilled");
  assert.deepEqual(events, ["ContainerChanged p c-p"]);
  const { calls } = view;
  const before = calls.length;
  await clock.advance(60_000);
  assert.equal(calls.length, before, "after that it is final");
});

for (const order of ["before", "after"] as const)
  test(`a container is OOMKilled if the kernel reports it ${order} the exit, regardless of what the runtime reports`, async (t) => {
    const { view, clock, events, observed, pleg } = await setUp(t, {
      everyMs: 3_600_000,
      view: (v) => {
        v.addPod("p");
        v.addPod("q");
      },
    });
    events.splice(0);
    const killed = "c-p" as ContainerId;
    if (order === "before") pleg.oomKilled(killed);
    for (const container of view.containers) {
      const end = { exitCode: 137, reason: "Error", finishedAt: epochMs(clock.wall()) };
      Object.assign(container, { state: "exited", end });
    }
    await Promise.all([pleg.refresh(u("p")), pleg.refresh(u("q"))]);
    if (order === "after") pleg.oomKilled(killed);
    const reason = (name: string) => observed.get(u(name))?.containers[0]?.reason;
    assert.deepEqual([reason("p"), reason("q")], ["OOMKilled", "Error"]);
    assert.equal(events.includes("ContainerChanged p c-p"), order === "after");
    // Refreshes and relists keep it.
    await clock.advance(10_000);
    pleg.relistSoon();
    await clock.advance(1000);
    assert.deepEqual([reason("p"), reason("q")], ["OOMKilled", "Error"]);
  });

test("a container that exits with another code after one of its processes was OOM-killed is not OOMKilled", async (t) => {
  const { view, clock, observed, pleg } = await setUp(t, { view: (v) => v.addPod("p") });
  pleg.oomKilled("c-p" as ContainerId);
  const end = { exitCode: 1, reason: "Error", finishedAt: epochMs(clock.wall()) };
  Object.assign(view.containers[0]!, { state: "exited", end });
  await pleg.refresh(u("p"));
  assert.equal(observed.get(u("p"))?.containers[0]?.reason, "Error");
});

test("a relist observes pods and reports what changed", async (t) => {
  const { view, clock, events, state } = await setUp(t, { view: (v) => v.addPod("p") });
  assert.equal(state("p"), "c-p running");
  assert.deepEqual(events.splice(0), ["ContainerStarted p c-p", "SandboxChanged p"]);
  await clock.advance(5000);
  assert.deepEqual(events, []);
  view.containers[0]!.state = "exited";
  await clock.advance(1000);
  assert.deepEqual(events.splice(0), ["ContainerDied p c-p"]);
  view.removePod("p");
  await clock.advance(1000);
  assert.deepEqual(events.splice(0), ["ContainerRemoved p c-p", "SandboxChanged p"]);
  assert.equal(state("p"), undefined);
});

test("a running container that disappears has died and is removed", async (t) => {
  const { view, clock, events } = await setUp(t, { view: (v) => v.addPod("p") });
  events.length = 0;
  view.containers = [];
  await clock.advance(1000);
  assert.deepEqual(events, ["ContainerDied p c-p", "ContainerRemoved p c-p"]);
});

test("details are requested once, and again when the state has changed", async (t) => {
  const { view, clock } = await setUp(t, { view: (v) => v.addPod("p") });
  const requested = () => view.calls.splice(0).filter((call) => !call.startsWith("list"));
  assert.deepEqual(requested(), ["sandbox s-p", "container c-p"]);
  await clock.advance(3000);
  assert.deepEqual(requested(), []);
  view.containers[0]!.state = "exited";
  await clock.advance(1000);
  assert.deepEqual(requested(), ["container c-p"]);
});

test("the termination message of a container is read once, when it has exited", async (t) => {
  const requested: string[] = [];
  const terminationMessage = async ({ id }: ContainerStatus) => {
    requested.push(id);
    return "bye";
  };
  const { view, clock, observed } = await setUp(t, { view: (v) => v.addPod("p"), terminationMessage });
  const message = () => observed.get(u("p"))?.containers[0]?.message;
  assert.deepEqual([message(), requested], ["", []]);
  view.containers[0]!.state = "exited";
  await clock.advance(3000);
  assert.deepEqual([message(), requested], ["bye", ["c-p"]]);
});

test("a message that cannot be read does not hide that its container exited", async (t) => {
  const terminationMessage = () => Promise.reject(new Error("no disk"));
  const { state } = await setUp(t, { view: (v) => v.addPod("p", "exited"), terminationMessage });
  assert.equal(state("p"), "c-p exited");
});

test("no pod is known before the first relist", async (t) => {
  const { view, clock, observed } = await setUp(t, { view: (v) => failAt(v, "list") });
  assert.equal(observed.knows(u("p")), false);
  view.before = () => {};
  await clock.advance(1000);
  assert.equal(observed.knows(u("p")), true, "known not to exist");
});

test("a pod that could not be inspected is not known until it can be, or is gone", async (t) => {
  const { view, clock, observed } = await setUp(t, {
    view: (v) => {
      for (const uid of ["p", "q", "r"]) v.addPod(uid);
      v.before = (call) => {
        if (call === "container c-p" || call === "container c-q") throw new Error("broken");
      };
    },
  });
  const known = () => ["p", "q", "r"].map((uid) => observed.knows(u(uid)));
  assert.deepEqual(known(), [false, false, true]);
  view.removePod("q");
  await clock.advance(1000);
  assert.deepEqual(known(), [false, true, true]);
  view.before = () => {};
  await clock.advance(1000);
  assert.deepEqual(known(), [true, true, true]);
});

test("a ready sandbox without an address is inspected again", async (t) => {
  const { view, clock, observed } = await setUp(t, {
    view: (v) => {
      v.addPod("p");
      v.sandboxes[0]!.ip = "";
    },
  });
  assert.deepEqual(observed.get(u("p"))?.sandboxes[0]?.ips, []);
  view.sandboxes[0]!.ip = "10.0.0.7";
  await clock.advance(1000);
  assert.deepEqual(observed.get(u("p"))?.sandboxes[0]?.ips, ["10.0.0.7"]);
});

test("the newest is the one with the highest attempt, even if the node's clock was set back", async (t) => {
  const { observed } = await setUp(t, {
    view: (v) => {
      v.sandboxes.push(
        { id: "s0", uid: "p", ready: false, attempt: 0, createdAt: 900 },
        { id: "s1", uid: "p", ready: true, attempt: 1, createdAt: 500 },
      );
      v.containers.push(
        { id: "a1", uid: "p", name: "a", state: "exited", attempt: 1, createdAt: 900 },
        { id: "a2", uid: "p", name: "a", state: "running", attempt: 2, createdAt: 500 },
        { id: "b0", uid: "p", name: "b", state: "running", attempt: 0, createdAt: 950 },
      );
    },
  });
  const pod = observed.get(u("p"))!;
  assert.deepEqual(
    pod.sandboxes.map((s) => s.id),
    ["s1", "s0"],
  );
  assert.deepEqual(
    pod.containers.filter((c) => c.name === "a").map((c) => c.id),
    ["a2", "a1"],
  );
});

test("a container that is removed between listing and inspection is gone", async (t) => {
  const { observed, isSynced, state } = await setUp(t, {
    view: (v) => {
      v.addPod("p");
      v.addPod("q");
      v.before = (call) => {
        if (call === "container c-p") v.containers = v.containers.filter((c) => c.uid !== "p");
        if (call === "sandbox s-q") v.removePod("q");
      };
    },
  });
  assert.equal(state("p"), "");
  assert.equal(observed.get(u("p"))?.sandboxes.length, 1);
  assert.equal(observed.get(u("q")), undefined, "nothing of it is left");
  assert.ok(isSynced(), "not a failure");
});

test("a pod that cannot be inspected does not hide the others, and is retried", async (t) => {
  const { view, clock, state } = await setUp(t, {
    view: (v) => {
      v.addPod("bad");
      v.addPod("good");
      failAt(v, "container c-bad");
    },
  });
  assert.equal(state("good"), "c-good running");
  assert.equal(state("bad"), undefined);
  view.before = () => {};
  await clock.advance(1000);
  assert.equal(state("bad"), "c-bad running");
});

test("a pod that can no longer be inspected is kept as last observed", async (t) => {
  const { view, clock, state } = await setUp(t, { view: (v) => v.addPod("p") });
  view.containers[0]!.state = "exited";
  failAt(view, "container c-p");
  await clock.advance(3000);
  assert.equal(state("p"), "c-p running");
});

test("the first relist is complete when all was listed; a pod that cannot be inspected does not delay it", async (t) => {
  const { view, clock, isSynced, state } = await setUp(t, {
    view: (v) => {
      v.addPod("p");
      v.addPod("q");
      failAt(v, "list containers");
    },
  });
  assert.equal(isSynced(), false);
  failAt(view, "container c-p");
  await clock.advance(1000);
  assert.equal(isSynced(), true);
  assert.equal(state("p"), undefined, "it could not be inspected");
  assert.equal(state("q"), "c-q running");
  view.before = () => {};
  await clock.advance(1000);
  assert.equal(state("p"), "c-p running");
});

test("refresh observes one pod immediately", async (t) => {
  const { view, pleg, state, events } = await setUp(t);
  view.addPod("p");
  view.addPod("q");
  await pleg.refresh(u("p"));
  assert.equal(state("p"), "c-p running");
  assert.equal(state("q"), undefined);
  assert.deepEqual(events, ["ContainerStarted p c-p", "SandboxChanged p"]);
  view.removePod("p");
  await pleg.refresh(u("p"));
  assert.equal(state("p"), undefined);
});

test("callers during a refresh share the next one, which starts after their calls", async (t) => {
  const { view, pleg, state } = await setUp(t);
  const release = block(view, "list containers of p");
  const first = pleg.refresh(u("p"));
  await settle();
  view.addPod("p");
  const requested = [pleg.refresh(u("p")), pleg.refresh(u("p"))];
  await settle();
  const lists = () => view.calls.filter((call) => call === "list containers of p").length;
  assert.equal(lists(), 1);
  await release();
  await first;
  await Promise.all(requested);
  assert.equal(lists(), 2);
  assert.equal(state("p"), "c-p running");
  await pleg.refresh(u("p"));
  assert.equal(lists(), 3, "a later call lists again");
});

test("a refresh that fails rejects, and the next one starts again", async (t) => {
  const { view, pleg, state } = await setUp(t);
  view.addPod("p");
  const gate = Promise.withResolvers<void>();
  let first = true;
  view.before = (call) => {
    if (call !== "list containers of p" || !first) return;
    first = false;
    return gate.promise;
  };
  const failing = pleg.refresh(u("p"));
  const waiting = pleg.refresh(u("p"));
  gate.reject(new Error("broken"));
  await assert.rejects(failing, /broken/);
  await waiting;
  assert.equal(state("p"), "c-p running");
});

test("a relist that started before a refresh does not overwrite its result", async (t) => {
  const { view, clock, pleg, state, events } = await setUp(t, { view: (v) => v.addPod("p") });
  const release = block(view, "list sandboxes");
  await clock.advance(1000);
  // The relist has its listing from before the change, and its response is delayed.
  const blocked = view.before;
  view.before = (call) => (call.endsWith("of p") ? undefined : blocked(call));
  view.containers[0]!.state = "exited";
  events.length = 0;
  await pleg.refresh(u("p"));
  assert.equal(state("p"), "c-p exited");
  await release();
  assert.equal(state("p"), "c-p exited");
  assert.deepEqual(events, ["ContainerDied p c-p"]);
});

test("a relist that started before a pod was created does not remove it", async (t) => {
  const { view, clock, pleg, state } = await setUp(t);
  const release = block(view, "list sandboxes");
  await clock.advance(1000);
  const blocked = view.before;
  view.before = (call) => (call.endsWith("of p") ? undefined : blocked(call));
  view.addPod("p");
  await pleg.refresh(u("p"));
  await release();
  assert.equal(state("p"), "c-p running");
});

for (const knownBefore of [true, false])
  test(`a refresh that started before a relist does not bring back a pod that the relist ${knownBefore ? "removed" : "did not find"}`, async (t) => {
    const { view, clock, pleg, state } = await setUp(t);
    if (knownBefore) {
      view.addPod("p", "exited");
      await clock.advance(1000);
    } else view.addPod("p", "exited");
    // Delayed after its listing, in an inspection that it needs because the state has changed.
    const gate = Promise.withResolvers<void>();
    view.containers[0]!.state = "running";
    let isBlocked = false;
    view.before = (call) => {
      if (call !== "list containers of p" || isBlocked) return;
      isBlocked = true;
      return gate.promise;
    };
    const refresh = pleg.refresh(u("p"));
    await settle();
    view.removePod("p");
    await clock.advance(1000);
    assert.equal(state("p"), undefined);
    // The runtime still returns the status by ID, as it may for a container that is being removed.
    view.addPod("p");
    view.before = () => {};
    gate.resolve();
    await refresh;
    assert.equal(state("p"), undefined);
    await clock.advance(1000);
    assert.equal(state("p"), "c-p running", "the next relist decides");
  });

test("a relist that is requested during a relist runs after it", async (t) => {
  const { view, pleg, state, clock } = await setUp(t, { everyMs: 60_000 });
  const release = block(view, "list containers");
  pleg.relistSoon();
  await settle();
  view.addPod("p");
  pleg.relistSoon();
  await release();
  await clock.advance(10);
  assert.equal(state("p"), "c-p running");
});

test("a relist can be requested at any time", async (t) => {
  const { view, pleg, state, clock } = await setUp(t, { everyMs: 60_000 });
  view.addPod("p");
  await clock.advance(1000);
  assert.equal(state("p"), undefined);
  pleg.relistSoon();
  await settle();
  assert.equal(state("p"), "c-p running");
});

test("unhealthy when no relist has succeeded for three minutes, healthy again after one", async (t) => {
  const { view, pleg, clock } = await setUp(t, { view: (v) => failAt(v, "list", "runtime is unreachable") });
  await clock.advance(180_000);
  assert.deepEqual(pleg.health(), { ok: true });
  await clock.advance(1000);
  const health = pleg.health();
  assert.match(
    health.ok ? "" : health.reason,
    /^pleg was last seen active 181s ago; threshold is 3m0s: runtime is unreachable$/,
  );
  view.before = () => {};
  await clock.advance(1000);
  assert.deepEqual(pleg.health(), { ok: true });
});

test("stops on abort, even in the middle of a relist", async (t) => {
  const { view, pleg, clock, stop } = await setUp(t);
  const release = block(view, "list containers");
  await clock.advance(1000);
  stop.abort();
  await release();
  await pleg.done;
  assert.equal(clock.pending, 0);
});

test("a container that was changed in place is inspected again, once, and the change is reported", async (t) => {
  const { view, events, observed, pleg, clock } = await setUp(t, { view: (v) => v.addPod("p") });
  const limit = () => observed.get(u("p"))?.containers[0]?.resources?.memoryLimit;
  events.splice(0);
  view.containers[0]!.memoryLimit = 5;
  await pleg.refresh(u("p"));
  assert.equal(limit(), undefined, "details of a container in the same state are kept");
  pleg.changed(u("p"));
  await pleg.refresh(u("p"));
  assert.equal(limit(), 5);
  assert.deepEqual(events, ["ContainerChanged p c-p"]);
  const inspections = () => view.calls.filter((call) => call === "container c-p").length;
  const before = inspections();
  await clock.advance(5000);
  assert.equal(inspections(), before);
});

test("a change in place is observed by whichever listing comes first: a relist may overtake the refresh", async (t) => {
  const { view, observed, pleg, clock } = await setUp(t, { view: (v) => v.addPod("p") });
  view.containers[0]!.memoryLimit = 5;
  pleg.changed(u("p"));
  const release = block(view, "list containers of p");
  const refreshed = pleg.refresh(u("p"));
  await clock.advance(1000);
  await release();
  await refreshed;
  assert.equal(observed.get(u("p"))?.containers[0]?.resources?.memoryLimit, 5);
});

test("a relist that started before a change in place does not count as its observation", async (t) => {
  const { view, observed, pleg, clock } = await setUp(t, { view: (v) => v.addPod("p") });
  const release = block(view, "list sandboxes");
  await clock.advance(1000);
  pleg.changed(u("p"));
  view.containers[0]!.memoryLimit = 7;
  const refreshed = pleg.refresh(u("p"));
  await release();
  await refreshed;
  assert.equal(observed.get(u("p"))?.containers[0]?.resources?.memoryLimit, 7);
});

const podId = (uid: string) => ({ uid: u(uid), name: `pod-${uid}`, namespace: "default" });
const startedContainer = (id: string, uid: string) => ({
  id: id as ContainerId,
  sandboxId: `s-${uid}` as SandboxId,
  image: "sha256:1",
});

test("a sandbox and a container that were started are observed without a listing", async (t) => {
  const { view, observed, pleg, events } = await setUp(t, { everyMs: 60_000 });
  view.calls.length = 0;
  view.sandboxes.push({ id: "s-u", uid: "u", ready: true });
  await pleg.started(podId("u"), { sandbox: "s-u" as SandboxId, containers: [] });
  assert.deepEqual(observed.get(u("u"))?.sandboxes[0]?.ips, ["10.0.0.1"]);
  view.containers.push({ id: "c", uid: "u", state: "running" });
  await pleg.started(podId("u"), { containers: [startedContainer("c", "u")] });
  assert.deepEqual(view.calls, ["sandbox s-u", "container c"]);
  const byStart = structuredClone(observed.get(u("u")));
  assert.deepEqual(events, ["SandboxChanged u", "ContainerStarted u c"]);
  await pleg.refresh(u("u"));
  const listed = { ...byStart!.containers[0], listedImage: "sha256:1" };
  assert.deepEqual(observed.get(u("u")), { ...byStart, containers: [listed] });
  assert.equal(events.length, 2);
});

test("the newest of what was started and what was known comes first", async (t) => {
  const { view, observed, pleg } = await setUp(t, { everyMs: 60_000 });
  view.sandboxes.push({ id: "s-u", uid: "u", ready: true });
  view.containers.push({ id: "restarted", name: "b", uid: "u", state: "running", attempt: 2 });
  view.containers.push({ id: "old", uid: "u", state: "exited", attempt: 0 });
  await pleg.refresh(u("u"));
  view.containers.push({ id: "new", uid: "u", state: "running", attempt: 1, createdAt: 5 });
  await pleg.started(podId("u"), { containers: [startedContainer("new", "u")] });
  const ids = () => observed.get(u("u"))?.containers.map(({ id }) => id);
  assert.deepEqual(ids(), ["restarted", "new", "old"]);
  await pleg.refresh(u("u"));
  assert.deepEqual(ids(), ["restarted", "new", "old"]);
});

test("a listing that began before the start does not overwrite it, one that began later is not overwritten", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 60_000 });
  view.sandboxes.push({ id: "s-u", uid: "u", ready: true });
  await pleg.refresh(u("u"));
  const unblockList = block(view, "list");
  const older = pleg.refresh(u("u"));
  view.containers.push({ id: "c", uid: "u", state: "running" });
  await pleg.started(podId("u"), { containers: [startedContainer("c", "u")] });
  await unblockList();
  await older;
  assert.equal(state("u"), "c running");
  const gate = Promise.withResolvers<void>();
  let isFirst = true;
  view.before = (call) => {
    if (!call.startsWith("container ") || !isFirst) return undefined;
    isFirst = false;
    return gate.promise;
  };
  view.containers.push({ id: "d", uid: "u", state: "running" });
  const start = pleg.started(podId("u"), { containers: [startedContainer("d", "u")] });
  view.containers[1]!.state = "exited";
  await pleg.refresh(u("u"));
  view.containers[1]!.state = "running";
  gate.resolve();
  await start;
  assert.equal(state("u"), "c running,d exited");
});

for (const listing of ["refresh", "relist"])
  test(`an exit that a ${listing} has found is observed even if another container is started before it is inspected`, async (t) => {
    const { view, clock, pleg, state, events } = await setUp(t, {
      everyMs: 60_000,
      view: (v) => v.addPod("u"),
    });
    view.containers[0]!.state = "exited";
    const release = block(view, "container c-u");
    const older = listing === "refresh" ? pleg.refresh(u("u")) : clock.advance(60_000);
    await settle();
    view.containers.push({ id: "new", uid: "u", state: "running", createdAt: 5 });
    await pleg.started(podId("u"), { containers: [startedContainer("new", "u")] });
    assert.equal(state("u"), "new running,c-u running");
    events.length = 0;
    await release();
    await older;
    assert.equal(state("u"), "new running,c-u exited");
    assert.deepEqual(events, ["ContainerDied u c-u"]);
  });

test("what was started is kept by each listing that began before, and removed by one that began later", async (t) => {
  const { view, clock, pleg, state } = await setUp(t, { everyMs: 10_000 });
  const releaseRelist = block(view, "list sandboxes");
  await clock.advance(10_000);
  const blocked = view.before;
  const gate = Promise.withResolvers<void>();
  view.before = (call) => (call.endsWith("of u") ? gate.promise : blocked(call));
  const refreshed = pleg.refresh(u("u"));
  view.addPod("u");
  await pleg.started(podId("u"), { sandbox: "s-u" as SandboxId, containers: [startedContainer("c-u", "u")] });
  gate.resolve();
  await refreshed;
  assert.equal(state("u"), "c-u running");
  await releaseRelist();
  assert.equal(state("u"), "c-u running");
  view.removePod("u");
  await pleg.refresh(u("u"));
  assert.equal(state("u"), undefined);
});

test("a container that is gone right after its start causes a listing", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 60_000 });
  view.addPod("u");
  await pleg.started(podId("u"), { containers: [startedContainer("gone", "u")] });
  assert.equal(state("u"), "c-u running");
});

test("the exit of a container is observed with one call, and the rest of its pod stays as it was", async (t) => {
  const { view, pleg, state, events } = await setUp(t, { everyMs: 60_000, view: (v) => v.addPod("u") });
  view.containers.push({ id: "d", uid: "u", state: "running", createdAt: 5 });
  await pleg.refresh(u("u"));
  events.length = view.calls.length = 0;
  view.containers[0]!.state = "exited";
  await pleg.stopped(u("u"), "c-u");
  assert.deepEqual(view.calls, ["container c-u"]);
  assert.equal(state("u"), "d running,c-u exited");
  assert.deepEqual(events, ["ContainerDied u c-u"]);
});

for (const [how, calls] of [
  ["stopped", ["sandbox s-u"]],
  ["refreshNow", ["list sandboxes of u", "list containers of u"]],
] as const)
  test(`${how} observes a sandbox that has stopped with the calls ${calls.join(", ")}`, async (t) => {
    const { view, observed, pleg } = await setUp(t, { everyMs: 60_000, view: (v) => v.addPod("u") });
    const before = observed.get(u("u"))!.sandboxes[0]!;
    Object.assign(view.sandboxes[0]!, { ready: false, ip: "" });
    view.calls.length = 0;
    await pleg[how](u("u"), "s-u");
    assert.deepEqual(view.calls, calls);
    assert.deepEqual(observed.get(u("u"))!.sandboxes, [{ ...before, state: "notready", ips: [] }]);
  });

test("a stop of something unknown, or that is gone, causes a listing of its pod", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 60_000, view: (v) => v.addPod("u") });
  view.containers.push({ id: "d", uid: "u", state: "exited", createdAt: 5 });
  await pleg.stopped(u("u"), "d");
  assert.equal(state("u"), "d exited,c-u running");
  view.containers.shift();
  await pleg.stopped(u("u"), "c-u");
  assert.equal(state("u"), "d exited");
});

test("a listing of a pod whose container is being inspected reads its status once", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 60_000, view: (v) => v.addPod("u") });
  view.containers[0]!.state = "exited";
  view.calls.length = 0;
  const release = block(view, "container c-u");
  const stopped = pleg.stopped(u("u"), "c-u");
  const refreshed = pleg.refresh(u("u"));
  await settle();
  await release();
  await Promise.all([stopped, refreshed]);
  assert.equal(state("u"), "c-u exited");
  assert.equal(view.calls.filter((call) => call === "container c-u").length, 1);
});

test("an older status of a container does not overwrite its exit", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 60_000, view: (v) => v.addPod("u") });
  const gate = Promise.withResolvers<void>();
  const { containerStatus } = view.runtime;
  let isFirst = true;
  view.runtime.containerStatus = async (...args) => {
    const wasFirst = isFirst;
    isFirst = false;
    const status = await containerStatus(...args);
    if (wasFirst) await gate.promise;
    return status;
  };
  const started = pleg.started(podId("u"), { containers: [startedContainer("c-u", "u")] });
  await settle();
  view.containers[0]!.state = "exited";
  await pleg.stopped(u("u"), "c-u");
  gate.resolve();
  await started;
  assert.equal(state("u"), "c-u exited");
});

test("an inspection that hangs does not delay a relist of other pods", async (t) => {
  const { view, clock, pleg, state } = await setUp(t, { view: (v) => v.addPod("a") });
  const release = block(view, "container c-a");
  const stopped = pleg.stopped(u("a"), "c-a");
  view.addPod("b");
  await clock.advance(1000);
  const inTheMeantime = state("b");
  await release();
  await stopped;
  assert.equal(inTheMeantime, "c-b running");
});

test("a status that was read before does not overwrite an exit that a listing has found", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 60_000, view: (v) => v.addPod("u") });
  const [listing, status] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { listContainers, containerStatus } = view.runtime;
  view.runtime.listContainers = async (...args) => {
    await listing.promise;
    return listContainers(...args);
  };
  view.runtime.containerStatus = async (...args) => {
    const running = await containerStatus(...args);
    view.runtime.containerStatus = containerStatus;
    await status.promise;
    return running;
  };
  const refreshed = pleg.refresh(u("u"));
  const started = pleg.started(podId("u"), { containers: [startedContainer("c-u", "u")] });
  await settle();
  view.containers[0]!.state = "exited";
  listing.resolve();
  await refreshed;
  assert.equal(state("u"), "c-u exited");
  status.resolve();
  await started;
  assert.equal(state("u"), "c-u exited");
});

test("a pod is absent only after a relist that calls of a previous agent can no longer follow", async (t) => {
  const { view, pleg, clock } = await setUp(t, { everyMs: 6_000, view: (view) => view.addPod("known") });
  assert.equal(pleg.isAbsent(u("new")), false, "the first relist may be too early");
  await clock.advance(6_000);
  assert.equal(pleg.isAbsent(u("new")), false, "so may the second");
  await clock.advance(6_000);
  assert.equal(pleg.isAbsent(u("new")), true);
  assert.equal(pleg.isAbsent(u("known")), false);
  view.sandboxes.push({ id: "s-new", uid: "new", ready: true });
  await pleg.started(podId("new"), { sandbox: "s-new" as SandboxId, containers: [] });
  assert.equal(pleg.isAbsent(u("new")), false);
});

test("a pod that cannot be inspected is not absent", async (t) => {
  const { view, pleg, clock } = await setUp(t, { everyMs: 6_000 });
  await clock.advance(12_000);
  view.addPod("broken");
  view.before = (call) => (call.startsWith("sandbox ") ? Promise.reject(new Error("broken")) : undefined);
  await clock.advance(6_000);
  assert.equal(pleg.isAbsent(u("broken")), false);
  assert.equal(pleg.isAbsent(u("new")), true);
});

const podLists = (view: FakeRuntimeView) => view.calls.filter((call) => / of /.test(call));

// parity: gate PLEGOnDemandRelist=true
test("a refreshed pod is listed at once", async (t) => {
  const { view, pleg, state } = await setUp(t, { everyMs: 3_600_000 });
  view.addPod("p");
  await pleg.refresh(u("p"));
  assert.equal(state("p"), "c-p running");
  assert.ok(podLists(view).length > 0);
});

// parity: gate PLEGOnDemandRelist=false
test("without PLEGOnDemandRelist a refreshed pod is as in the next relist, and no pod is listed alone", async (t) => {
  const { view, pleg, clock, state } = await setUp(t, { onDemand: false });
  const done: string[] = [];
  view.addPod("p");
  void pleg.refresh(u("p")).then(() => done.push("refreshed"));
  void pleg
    .started({ uid: u("p"), name: "p", namespace: "ns" }, { sandbox: undefined, containers: [] })
    .then(() => done.push("started"));
  await settle();
  assert.deepEqual([done, state("p")], [[], undefined]);
  await clock.advance(1000);
  assert.deepEqual([done, state("p")], [["refreshed", "started"], "c-p running"]);
  assert.deepEqual(podLists(view), []);
});

test("without PLEGOnDemandRelist a relist that had begun does not end a refresh", async (t) => {
  const { view, pleg, clock, state } = await setUp(t, { onDemand: false });
  const unblock = block(view, "list containers");
  await clock.advance(1000);
  view.addPod("p");
  let isDone = false;
  void pleg.refresh(u("p")).then(() => {
    isDone = true;
  });
  await unblock();
  assert.equal(isDone, false);
  await clock.advance(1000);
  assert.deepEqual([isDone, state("p")], [true, "c-p running"]);
});

test("without PLEGOnDemandRelist a refresh fails if the relist, or the inspection of its pod, does", async (t) => {
  const { view, pleg, clock } = await setUp(t, { onDemand: false });
  view.addPod("p");
  view.addPod("q");
  failAt(view, "container c-p", "no p");
  const [p, q] = ["p", "q"].map((uid) => pleg.refresh(u(uid)));
  const failed = assert.rejects(p!, /no p/);
  await clock.advance(1000);
  await failed;
  await q;
  failAt(view, "list", "no list");
  const later = assert.rejects(pleg.refresh(u("q")), /no list/);
  await clock.advance(1000);
  await later;
});

test("a refresh that waits for a relist ends with PLEG", async (t) => {
  const { pleg, stop } = await setUp(t, { onDemand: false, everyMs: 3_600_000 });
  const ended = assert.rejects(pleg.refresh(u("p")));
  stop.abort();
  await ended;
});
