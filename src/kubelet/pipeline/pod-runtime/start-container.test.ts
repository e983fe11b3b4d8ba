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

/** A hook that completes or fails when the test calls for it. */
function hook() {
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  return {
    started: started.promise,
    end,
    hooks: {
      run: async ({ signal }: { signal: AbortSignal }) => {
        started.resolve();
        signal.addEventListener("abort", () => end.reject(abortError(signal.reason)));
        await end.promise;
      },
    },
  };
}

const reported = ({ starting, observed }: Awaited<ReturnType<typeof setUp>>) =>
  starting.asReported(observed.get(testUid))?.containers.map((c) => `${c.name} ${c.state}`);

test("a container is not reported as running before its postStart hook has completed, and later containers wait", async (t) => {
  const { hooks, started, end } = hook();
  const s = await setUp(t, { hooks });
  const synced = s.sync(pod);
  await started;
  await s.pleg.refresh(testUid);
  assert.deepEqual(reported(s), ["a created"]);
  assert.equal(s.blocked.at(-1), "waiting for the postStart hook of a");
  end.resolve();
  await synced;
  assert.deepEqual(reported(s)?.sort(), ["a running", "b running"]);
  assert.equal(s.starting.size, 0);
});

test("a container whose hook fails is stopped and is never reported as started", async (t) => {
  const { hooks, started, end } = hook();
  const s = await setUp(t, { hooks });
  const states = new Set<string>();
  const stop = s.starting.delete.bind(s.starting);
  s.starting.delete = (id) => {
    stop(id);
    for (const state of reported(s) ?? []) states.add(state);
  };
  const synced = s.sync(pod);
  await started;
  end.reject(new Error("no"));
  await assert.rejects(synced, (e) => e instanceof KubeletError && e.code === "PostStartHookError");
  assert.deepEqual(s.reasons(), { a: "PostStartHookError" });
  assert.ok(s.output.includes("FailedPostStartHook! PostStartHook failed"), s.output.join());
  assert.ok(s.output.includes("Killing: FailedPostStartHook"), s.output.join());
  assert.ok(!states.has("a running"), [...states].join());
  assert.ok(s.names().includes("b#0 running"), "the others start anyway");
});

test("a pod that is terminated during the hook does not start", async (t) => {
  const { hooks, started } = hook();
  const s = await setUp(t, { hooks });
  const abort = new AbortController();
  const synced = s.syncWith(pod, abort.signal);
  await started;
  abort.abort(abortError("terminated"));
  await assert.rejects(synced, isAbort);
  assert.deepEqual(reported(s), ["a created"]);
  await s.end(pod);
  await s.release(pod);
  assert.equal(s.starting.size, 0);
});
