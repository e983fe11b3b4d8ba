import assert from "node:assert/strict";
import { test } from "node:test";
import { podRuntimeOnFake as setUp } from "../../../../test/builders/pod-runtime.ts";
import { aContainer, aPod, testUid } from "../../../../test/builders/pods.ts";
import { fakeImages } from "../../../../test/fake-runtime/fake-runtime.ts";
import { abortError, isAbort, KubeletError } from "../../../lib/base/errors.ts";

const pod = aPod({
  containers: ["a", "b"].map((name) =>
    aContainer(name, {
      image: fakeImages.busybox,
      command: ["/bin/sh", "-c", "trap 'exit 7' TERM; sleep inf"],
      ...(name === "a" && { lifecycle: { postStart: { exec: { command: ["hook"] } } } }),
    }),
  ),
});

/** A hook that ends when the test says how. */
function hook() {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  return {
    begun: begun.promise,
    end,
    hooks: {
      run: async ({ signal }: { signal: AbortSignal }) => {
        begun.resolve();
        signal.addEventListener("abort", () => end.reject(abortError(signal.reason)));
        await end.promise;
      },
    },
  };
}

const outside = ({ starting, observed }: Awaited<ReturnType<typeof setUp>>) =>
  starting.seenFromOutside(observed.get(testUid))?.containers.map((c) => `${c.name} ${c.state}`);

test("a container whose postStart hook is not done has not started for users, and those after it wait", async (t) => {
  const { hooks, begun, end } = hook();
  const s = await setUp(t, { hooks });
  const synced = s.sync(pod);
  await begun;
  await s.pleg.refresh(testUid);
  assert.deepEqual(outside(s), ["a created"]);
  assert.equal(s.blocked.at(-1), "waiting for the postStart hook of a");
  end.resolve();
  await synced;
  assert.deepEqual(outside(s)?.sort(), ["a running", "b running"]);
  assert.equal(s.starting.size, 0);
});

test("one whose hook fails is ended and never counts as started", async (t) => {
  const { hooks, begun, end } = hook();
  const s = await setUp(t, { hooks });
  const seen = new Set<string>();
  const stop = s.starting.delete.bind(s.starting);
  s.starting.delete = (id) => {
    stop(id);
    for (const what of outside(s) ?? []) seen.add(what);
  };
  const synced = s.sync(pod);
  await begun;
  end.reject(new Error("no"));
  await assert.rejects(synced, (e) => e instanceof KubeletError && e.code === "PostStartHookError");
  assert.deepEqual(s.reasons(), { a: "PostStartHookError" });
  assert.ok(s.output.includes("FailedPostStartHook! PostStartHook failed"), s.output.join());
  assert.ok(s.output.includes("Killing: FailedPostStartHook"), s.output.join());
  assert.ok(!seen.has("a running"), [...seen].join());
  assert.ok(s.names().includes("b#0 running"), "the others of the pod start all the same");
});

test("a pod that is ended during the hook does not start any more", async (t) => {
  const { hooks, begun } = hook();
  const s = await setUp(t, { hooks });
  const pass = new AbortController();
  const synced = s.syncWith(pod, pass.signal);
  await begun;
  pass.abort(abortError("ended"));
  await assert.rejects(synced, isAbort);
  assert.deepEqual(outside(s), ["a created"]);
  await s.end(pod);
  await s.release(pod);
  assert.equal(s.starting.size, 0);
});
