import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/builders/pods.ts";
import { type FinishedSpan, RecordingTracer } from "../../lib/base/tracing/tracer.ts";
import type { SyncReport } from "../../lib/model/pod-sync.ts";
import type { PodSyncer } from "../pipeline/pod-workers/pod-syncer.ts";
import { tracedSyncer } from "./traced-syncer.ts";

const report: SyncReport = { blockedOn() {}, waiting() {} };
const { signal } = new AbortController();
const pod = aPod();
const { uid } = pod.metadata;

function syncer(): PodSyncer {
  return {
    sync: async () => {
      throw new Error("no network");
    },
    stop: async () => {},
    release: async () => {},
    remove: async () => {},
    isTerminal: () => false,
  };
}

test("without a tracer the syncer is not wrapped, so that tracing costs nothing", () => {
  const plain = syncer();
  assert.equal(tracedSyncer(plain, undefined), plain);
});

test("spans have upstream's names, and a failure is rethrown", async () => {
  const spans: FinishedSpan[] = [];
  const tracer = new RecordingTracer({ sampler: () => true, onEnd: (span) => spans.push(span) });
  const traced = tracedSyncer(syncer(), tracer);
  await assert.rejects(traced.sync(pod, report, signal, "update"), /no network/);
  await traced.stop(uid, pod, { signal, report });
  await traced.stop(uid, undefined, { signal, report });
  await traced.release(uid, signal);
  await traced.remove(pod.metadata, signal);
  assert.deepEqual(
    spans.map((s) => [s.name, s.attributes["k8s.pod.uid"], s.attributes["k8s.pod"], s.error]),
    [
      ["syncPod", uid, "default/p", "no network"],
      ["syncTerminatingPod", uid, "default/p", undefined],
      ["syncTerminatingPod", uid, undefined, undefined],
      ["syncTerminatedPod", uid, undefined, undefined],
      ["removePod", uid, "default/p", undefined],
    ],
  );
  assert.equal(spans[0]?.attributes["k8s.pod.update_type"], "update");
  assert.equal(traced.isTerminal(pod), false);
});
