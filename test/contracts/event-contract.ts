import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasGrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { type ContainerEventResponse, ContainerEventType } from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { ContractPods } from "./contract-pods.ts";
import { eventually } from "./eventually.ts";

/** The behavior of the event stream that the agent relies on. */
export function eventContract(pods: ContractPods): void {
  describe("events", () => {
    it("report each change of a container, or are not supported", async (t) => {
      const stopped = new AbortController();
      t.after(() => stopped.abort());
      const received: ContainerEventResponse[] = [];
      let failure: unknown;
      let ended = false;
      const reading = (async () => {
        for await (const event of pods.client.containerEvents(stopped.signal)) received.push(event);
        ended = true;
      })().catch((error: unknown) => {
        failure = error;
      });
      const pod = await pods.pod(t);
      const id = await pods.start(pod, ["/bin/true"]);
      await pods.exit(id);
      await pods.client.removeContainer(id);
      const types = await eventually(() => {
        if (failure || ended) return "none" as const;
        const events = received.filter((event) => event.containerId === id);
        return events.some((event) => event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT)
          ? events.map((event) => ContainerEventType[event.containerEventType])
          : undefined;
      });
      if (types === "none") {
        // CRI-O ends the stream with OK if its events are disabled.
        if (pods.runtime.isCrio) assert.equal(failure, undefined);
        else assert.ok(hasGrpcCode(failure, "UNIMPLEMENTED"), String(failure));
        return t.diagnostic("the runtime offers no events");
      }
      assert.deepEqual(types, [
        "CONTAINER_CREATED_EVENT",
        "CONTAINER_STARTED_EVENT",
        "CONTAINER_STOPPED_EVENT",
        "CONTAINER_DELETED_EVENT",
      ]);
      assert.ok(received.every(({ createdAt }) => createdAt > 0n));
      const started = received.find(
        (e) => e.containerId === id && e.containerEventType === ContainerEventType.CONTAINER_STARTED_EVENT,
      );
      assert.equal(started?.podSandboxStatus?.id, pod.id);
      stopped.abort();
      await reading;
      assert.equal(failure, undefined);
    });
  });
}
