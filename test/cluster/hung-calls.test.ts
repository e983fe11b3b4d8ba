import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message } from "@bufbuild/protobuf";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { FakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { long } from "../long.ts";
import { container, TestCluster } from "./cluster-node.ts";

const slots = 4;
const hungCount = 3 * slots;
const otherCount = 6;
/** If each hung start kept its slot for 10 s, others would wait for twice that time. */
const allowedMs = 15_000;
const probe = { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 100 };

/** The name of the pod that a call is about. */
function podOf(runtime: FakeRuntime, request: Message): string {
  const { containerId, podSandboxId, config, sandboxConfig } = request as Message & Record<string, never>;
  const sandbox = containerId
    ? runtime.pods.containers.get(containerId)?.sandbox
    : podSandboxId && runtime.pods.sandboxes.get(podSandboxId);
  const { metadata } = (sandbox as never as { config: never })?.config ?? sandboxConfig ?? config ?? {};
  return (metadata as undefined | { name: string })?.name ?? "";
}

/** Tested by `npm test`; the others only by `npm run test:all`. */
const usual = ["CreateContainer", "StopContainer"];

/** Whether the call hangs while pods start, or only when they are deleted. */
const methods = {
  RunPodSandbox: "start",
  PodSandboxStatus: "start",
  CreateContainer: "start",
  StartContainer: "start",
  ContainerStatus: "start",
  ExecSync: "start",
  StopContainer: "stop",
  StopPodSandbox: "stop",
  RemoveContainer: "stop",
  RemovePodSandbox: "stop",
} as const;

describe("calls to the runtime that hang for some pods", () => {
  for (const [method, moment] of Object.entries(methods))
    test((usual.includes(method) ? String : long)(`do not delay other pods: ${method}`), async (t) => {
      const cluster = await TestCluster.start(t, { maxParallelStarts: slots });
      await cluster.startAgent();
      const names = (prefix: string, count: number) =>
        Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
      const add = (name: string) =>
        cluster.addPod(name, {
          terminationGracePeriodSeconds: 1,
          containers: [container({ readinessProbe: probe as never })],
        });
      /** How long pods take from their creation to their end. */
      const lives = async (prefix: string): Promise<number> => {
        const startedAt = performance.now();
        const all: Pod[] = names(prefix, otherCount).map(add);
        for (const { metadata } of all) await cluster.runs(metadata.name);
        for (const { metadata } of all) cluster.api.deletePod(metadata.name);
        for (const { metadata } of all) await cluster.isGone(metadata.name);
        return performance.now() - startedAt;
      };
      const floorMs = await lives("before");

      const hung = names("hung", hungCount);
      const faults = () =>
        cluster.runtime.faults.add({
          method,
          times: 1_000_000,
          when: (request) => podOf(cluster.runtime, request).startsWith("hung-"),
          effect: { kind: "hang" },
        });
      if (moment === "start") faults();
      for (const name of hung) add(name);
      if (moment === "stop") {
        for (const name of hung) await cluster.runs(name);
        faults();
        for (const name of hung) cluster.api.deletePod(name);
      }
      const hanging = () =>
        cluster.runtime.callsOf(method).filter(({ result }) => result === undefined).length;
      await waitFor(() => assert.ok(hanging() > 0, `no ${method} hangs`));
      const takenMs = await lives("other");
      t.diagnostic(`${floorMs.toFixed()} ms alone, ${takenMs.toFixed()} ms while ${hanging()} calls hang`);
      assert.ok(takenMs < floorMs * 3 + allowedMs, `${takenMs} ms instead of ${floorMs} ms`);
      cluster.runtime.faults.clear();
      cluster.runtime.dropConnections();
    });
});
