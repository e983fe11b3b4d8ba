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

function refused(status: number): Error {
  return Object.assign(new Error(`answer ${status}`), { status });
}

async function setUp(t: { after(fn: () => void): void }) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const calls: string[] = [];
  const world = {
    pods: [] as Pod[],
    node: { name: "node-1", uid: "n" } as { name: string; uid: string } | undefined,
    ready: true,
    ending: false,
    /** What the API has, by name. */
    api: new Map<string, Pod>(),
    /** False: the watch brings nothing. */
    watching: true,
    watched: [] as Pod[],
    fault: (_call: KubeRequest): "unheard" | "unanswered" | undefined => undefined,
  };
  let made = 0;
  const see = () => {
    if (world.watching) world.watched = [...world.api.values()];
  };
  const answer = ({ method, path, body }: KubeRequest): Pod => {
    const name = path.split("/")[6] ?? (body as Pod).metadata.name;
    const found = world.api.get(name);
    if (method === "POST") {
      if (found) throw refused(409);
      const pod = structuredClone(body) as Pod;
      pod.metadata.uid = `m${++made}` as PodUid;
      world.api.set(name, pod);
      return pod;
    }
    if (!found) throw refused(404);
    if (method === "GET") return found;
    const { preconditions } = body as { preconditions: { uid: string } };
    if (preconditions.uid !== found.metadata.uid) throw refused(409);
    world.api.delete(name);
    return found;
  };
  const mirrors = new MirrorPods({
    api: {
      request: async <T>(call: KubeRequest): Promise<T> => {
        calls.push(call.method);
        const fault = world.fault(call);
        if (fault === "unheard") throw new Error("connection refused");
        const pod = answer(call);
        see();
        if (fault === "unanswered") throw new Error("connection reset");
        return pod as T;
      },
    },
    clock,
    logger: silentLogger,
    staticPods: () => world.pods,
    mirrors: () => world.watched.filter((p) => p.metadata.annotations?.[annotationMirror] !== undefined),
    node: () => world.node,
    areSourcesReady: () => world.ready,
    isEnding: () => world.ending,
  });
  await mirrors.start(stop.signal);
  t.after(() => stop.abort());
  const poke = async () => {
    see();
    mirrors.poke();
    await clock.advance(0);
  };
  const hash = () => world.api.get("web")?.metadata.annotations?.[annotationMirror];
  return { clock, stop, calls, world, mirrors, poke, hash };
}

test("a static pod has its mirror at once, as soon as the node is registered", async (t) => {
  const { world, poke, calls, hash } = await setUp(t);
  world.node = undefined;
  world.pods = [staticPod("1")];
  await poke();
  assert.deepEqual(calls, []);
  world.node = { name: "node-1", uid: "n" };
  await poke();
  assert.equal(hash(), "1");
});

test("an edit replaces it, a removal deletes it, and then nothing is asked any more", async (t) => {
  const { clock, world, poke, calls, hash } = await setUp(t);
  world.pods = [staticPod("1")];
  await poke();
  world.pods = [staticPod("2")];
  await poke();
  assert.equal(hash(), "2");
  world.pods = [];
  await poke();
  assert.equal(world.api.size, 0);
  await clock.advance(60_000);
  assert.deepEqual(calls, ["POST", "DELETE", "POST", "DELETE"]);
});

test("a pod that ended and begins again with the same UID gets another mirror, once", async (t) => {
  const { clock, world, poke, calls, mirrors, hash } = await setUp(t);
  world.pods = [staticPod("1")];
  await poke();
  const first = world.api.get("web")?.metadata.uid;
  world.pods = [];
  world.ending = true;
  mirrors.podEnded(fullNameOf(staticPod("1")));
  await poke();
  assert.equal(world.api.get("web")?.metadata.uid, first, "it stays until the pod begins");
  world.pods = [staticPod("1")];
  await poke();
  assert.notEqual(world.api.get("web")?.metadata.uid, first);
  assert.equal(hash(), "1");
  await clock.advance(60_000);
  assert.deepEqual(calls, ["POST", "DELETE", "POST"]);
});

test("a mirror that somebody deletes comes back, at once if it had been seen, else within 10 s", async (t) => {
  const { clock, world, poke, hash } = await setUp(t);
  world.pods = [staticPod("1")];
  await poke();
  await poke();
  world.api.clear();
  await poke();
  assert.equal(hash(), "1");
  world.api.clear();
  await poke();
  assert.equal(hash(), undefined);
  await clock.advance(10_000);
  assert.equal(hash(), "1");
});

test("a mirror without a pod stays until all sources are read and its pod has ended", async (t) => {
  const { world, poke } = await setUp(t);
  world.api.set("web", fakePod({ metadata: { annotations: { [annotationMirror]: "1" } } }));
  world.ready = false;
  await poke();
  world.ready = true;
  world.ending = true;
  await poke();
  assert.equal(world.api.size, 1);
  world.ending = false;
  await poke();
  assert.equal(world.api.size, 0);
});

test("while the watch is late, nothing is made or deleted twice", async (t) => {
  const { clock, world, poke, calls } = await setUp(t);
  world.watching = false;
  world.pods = [staticPod("1")];
  await poke();
  await poke();
  assert.deepEqual(calls, ["POST"]);
  world.watching = true;
  await poke();
  world.watching = false;
  world.pods = [];
  await poke();
  await clock.advance(60_000);
  assert.deepEqual(calls, ["POST", "DELETE"]);
});

test("a creation whose answer was lost is recognised", async (t) => {
  const { clock, world, poke, calls, hash } = await setUp(t);
  world.watching = false;
  world.pods = [staticPod("1")];
  world.fault = () => "unanswered";
  await poke();
  world.fault = () => undefined;
  await clock.advance(1000);
  assert.deepEqual(calls, ["POST", "POST", "GET"]);
  assert.equal(hash(), "1");
});

test("somebody else's pod of the name is left alone", async (t) => {
  const { clock, world, poke, calls } = await setUp(t);
  world.api.set("web", fakePod());
  world.pods = [staticPod("1")];
  await poke();
  await clock.advance(120_000);
  assert.deepEqual(world.api.get("web"), fakePod());
  assert.ok(calls.length < 20, `${calls.length} requests in two minutes`);
  assert.ok(!calls.includes("DELETE"));
});

test("after an outage mirrors are there within the longest back-off, and pokes do not shorten it", async (t) => {
  const { clock, world, poke, calls, hash } = await setUp(t);
  world.fault = () => "unheard";
  world.pods = [staticPod("1")];
  for (let i = 0; i < 60; i++) {
    await poke();
    await clock.advance(1000);
  }
  assert.ok(calls.length <= 7, `${calls.length} requests`);
  world.fault = () => undefined;
  await clock.advance(30_000);
  assert.equal(hash(), "1");
});

test("an API that is known to be back gets its mirrors at once", async (t) => {
  const { clock, world, poke, mirrors, hash } = await setUp(t);
  world.fault = () => "unheard";
  world.pods = [staticPod("1")];
  await poke();
  await clock.advance(60_000);
  world.fault = () => undefined;
  mirrors.tryAgain();
  await clock.advance(0);
  assert.equal(hash(), "1");
});

test("an abort ends it", async (t) => {
  const { clock, stop, mirrors, poke } = await setUp(t);
  await poke();
  stop.abort();
  await mirrors.done;
  assert.equal(clock.pending, 0);
});
