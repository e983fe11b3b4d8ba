import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { KubeRequest } from "../../../lib/clients/kube/transport-interface.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import {
  annotationHash,
  annotationMirror,
  fullNameOf,
  type Pod,
  type PodUid,
} from "../../../lib/model/pod.ts";
import { MirrorPods } from "./mirror-pods.ts";

const staticPod = (hash: string): Pod =>
  fakePod({ metadata: { uid: hash as PodUid, annotations: { [annotationHash]: hash } } });

function httpError(status: number): Error {
  return Object.assign(new Error(`status ${status}`), { status });
}

async function setUp(t: { after(fn: () => void): void }) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const calls: string[] = [];
  const state = {
    pods: [] as Pod[],
    node: { name: "node-1", uid: "n" } as { name: string; uid: string } | undefined,
    ready: true,
    terminating: false,
    /** The pods in the API, by name. */
    api: new Map<string, Pod>(),
    /** False: the watch delivers nothing. */
    watching: true,
    watched: [] as Pod[],
    fault: (_call: KubeRequest): "unreachable" | "response lost" | undefined => undefined,
  };
  let created = 0;
  const updateWatched = () => {
    if (state.watching) state.watched = [...state.api.values()];
  };
  const respond = ({ method, path, body }: KubeRequest): Pod => {
    const name = path.split("/")[6] ?? (body as Pod).metadata.name;
    const found = state.api.get(name);
    if (method === "POST") {
      if (found) throw httpError(409);
      const pod = structuredClone(body) as Pod;
      pod.metadata.uid = `m${++created}` as PodUid;
      state.api.set(name, pod);
      return pod;
    }
    if (!found) throw httpError(404);
    if (method === "GET") return found;
    const { preconditions } = body as { preconditions: { uid: string } };
    if (preconditions.uid !== found.metadata.uid) throw httpError(409);
    state.api.delete(name);
    return found;
  };
  const mirrors = new MirrorPods({
    api: {
      request: async <T>(call: KubeRequest): Promise<T> => {
        calls.push(call.method);
        const fault = state.fault(call);
        if (fault === "unreachable") throw new Error("connection refused");
        const pod = respond(call);
        updateWatched();
        if (fault === "response lost") throw new Error("connection reset");
        return pod as T;
      },
    },
    clock,
    logger: silentLogger,
    staticPods: () => state.pods,
    mirrors: () => state.watched.filter((p) => p.metadata.annotations?.[annotationMirror] !== undefined),
    node: () => state.node,
    initialSync: { areSourcesReady: () => state.ready },
    isTerminating: () => state.terminating,
  });
  await mirrors.start(stop.signal);
  t.after(() => stop.abort());
  const wake = async () => {
    updateWatched();
    mirrors.wake();
    await clock.advance(0);
  };
  const hash = () => state.api.get("web")?.metadata.annotations?.[annotationMirror];
  return { clock, stop, calls, state, mirrors, wake, hash };
}

test("a static pod has its mirror as soon as the node is registered", async (t) => {
  const { state, wake, calls, hash } = await setUp(t);
  state.node = undefined;
  state.pods = [staticPod("1")];
  await wake();
  assert.deepEqual(calls, []);
  state.node = { name: "node-1", uid: "n" };
  await wake();
  assert.equal(hash(), "1");
});

test("a change replaces the mirror, a removal deletes it, and then there are no more requests", async (t) => {
  const { clock, state, wake, calls, hash } = await setUp(t);
  state.pods = [staticPod("1")];
  await wake();
  state.pods = [staticPod("2")];
  await wake();
  assert.equal(hash(), "2");
  state.pods = [];
  await wake();
  assert.equal(state.api.size, 0);
  await clock.advance(60_000);
  assert.deepEqual(calls, ["POST", "DELETE", "POST", "DELETE"]);
});

test("a pod that terminated and starts again with the same UID gets a new mirror, once", async (t) => {
  const { clock, state, wake, calls, mirrors, hash } = await setUp(t);
  state.pods = [staticPod("1")];
  await wake();
  const first = state.api.get("web")?.metadata.uid;
  state.pods = [];
  state.terminating = true;
  mirrors.podTerminated(fullNameOf(staticPod("1")));
  await wake();
  assert.equal(state.api.get("web")?.metadata.uid, first, "it is kept until the pod starts");
  state.pods = [staticPod("1")];
  await wake();
  assert.notEqual(state.api.get("web")?.metadata.uid, first);
  assert.equal(hash(), "1");
  await clock.advance(60_000);
  assert.deepEqual(calls, ["POST", "DELETE", "POST"]);
});

test("a deleted mirror is recreated, immediately if the watch had shown it, otherwise within 10 s", async (t) => {
  const { clock, state, wake, hash } = await setUp(t);
  state.pods = [staticPod("1")];
  await wake();
  await wake();
  state.api.clear();
  await wake();
  assert.equal(hash(), "1");
  state.api.clear();
  await wake();
  assert.equal(hash(), undefined);
  await clock.advance(10_000);
  assert.equal(hash(), "1");
});

test("a mirror without a pod is kept until all sources are read and its pod has terminated", async (t) => {
  const { state, wake } = await setUp(t);
  state.api.set("web", fakePod({ metadata: { annotations: { [annotationMirror]: "1" } } }));
  state.ready = false;
  await wake();
  state.ready = true;
  state.terminating = true;
  await wake();
  assert.equal(state.api.size, 1);
  state.terminating = false;
  await wake();
  assert.equal(state.api.size, 0);
});

test("while the watch lags, nothing is created or deleted twice", async (t) => {
  const { clock, state, wake, calls } = await setUp(t);
  state.watching = false;
  state.pods = [staticPod("1")];
  await wake();
  await wake();
  assert.deepEqual(calls, ["POST"]);
  state.watching = true;
  await wake();
  state.watching = false;
  state.pods = [];
  await wake();
  await clock.advance(60_000);
  assert.deepEqual(calls, ["POST", "DELETE"]);
});

test("a creation whose response was lost is recognized", async (t) => {
  const { clock, state, wake, calls, hash } = await setUp(t);
  state.watching = false;
  state.pods = [staticPod("1")];
  state.fault = () => "response lost";
  await wake();
  state.fault = () => undefined;
  await clock.advance(1000);
  assert.deepEqual(calls, ["POST", "POST", "GET"]);
  assert.equal(hash(), "1");
});

test("a foreign pod of the same name is left alone", async (t) => {
  const { clock, state, wake, calls } = await setUp(t);
  state.api.set("web", fakePod());
  state.pods = [staticPod("1")];
  await wake();
  await clock.advance(120_000);
  assert.deepEqual(state.api.get("web"), fakePod());
  assert.ok(calls.length < 20, `${calls.length} requests in two minutes`);
  assert.ok(!calls.includes("DELETE"));
});

test("after an outage mirrors are created within the maximum back-off, and wake-ups do not shorten it", async (t) => {
  const { clock, state, wake, calls, hash } = await setUp(t);
  state.fault = () => "unreachable";
  state.pods = [staticPod("1")];
  for (let i = 0; i < 60; i++) {
    await wake();
    await clock.advance(1000);
  }
  assert.ok(calls.length <= 7, `${calls.length} requests`);
  state.fault = () => undefined;
  await clock.advance(30_000);
  assert.equal(hash(), "1");
});

test("resetBackoff creates mirrors immediately", async (t) => {
  const { clock, state, wake, mirrors, hash } = await setUp(t);
  state.fault = () => "unreachable";
  state.pods = [staticPod("1")];
  await wake();
  await clock.advance(60_000);
  state.fault = () => undefined;
  mirrors.resetBackoff();
  await clock.advance(0);
  assert.equal(hash(), "1");
});

test("an abort stops it", async (t) => {
  const { clock, stop, mirrors, wake } = await setUp(t);
  await wake();
  stop.abort();
  await mirrors.done;
  assert.equal(clock.pending, 0);
});
