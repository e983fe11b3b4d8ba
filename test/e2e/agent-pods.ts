import assert from "node:assert/strict";
import { hostname } from "node:os";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { ContainerStatus } from "../../src/lib/model/pod.ts";
import type { AgentProcess } from "./agent-process.ts";
import { waitFor } from "./wait-for.ts";

/** The pods of an agent by the name in their manifest, without the node name. */
export function podsOf(agent: AgentProcess) {
  const find = async (name: string): Promise<PodRow | undefined> =>
    (await agent.pods())?.find((row) => row.name === nameOnNode(name));

  const waitForPod = (name: string, check: (row: PodRow) => void, withinMs?: number) =>
    waitFor(async () => {
      const row = await find(name);
      assert.ok(row, `no pod ${name}`);
      check(row);
      return row;
    }, withinMs);

  const inPhase = (name: string, phase: string, withinMs?: number) =>
    waitForPod(
      name,
      (row) => assert.equal(row.phase, phase, `${name}: ${row.blockedOn || "not blocked"}`),
      withinMs,
    );

  return {
    find,
    waitForPod,
    inPhase,
    running: (name: string, withinMs?: number) =>
      waitForPod(
        name,
        (row) => {
          assert.equal(row.phase, "Running", `${name}: ${row.blockedOn || "not blocked"}`);
          const [ready, all] = row.ready.split("/");
          assert.equal(ready, all, `${name} is not ready: ${row.blockedOn}`);
        },
        withinMs,
      ),
    gone: (name: string, withinMs?: number) =>
      waitFor(async () => {
        const rows = await agent.pods();
        assert.ok(rows, "the agent does not respond");
        assert.equal(
          rows.find((row) => row.name === nameOnNode(name))?.phase,
          undefined,
          `${name} still exists`,
        );
      }, withinMs),
  };
}

export function containerOf(row: PodRow, name = "c"): ContainerStatus {
  const all = [...(row.status?.initContainerStatuses ?? []), ...(row.status?.containerStatuses ?? [])];
  const found = all.find((status) => status.name === name);
  assert.ok(found, `${row.name} has no status of ${name}`);
  return found;
}

/** The container ID without the runtime scheme. */
export function containerIdOf(row: PodRow, name = "c"): string {
  return (containerOf(row, name).containerID ?? "").replace(/^.*:\/\//, "");
}

/** Static pods have the node name as a suffix. */
function nameOnNode(name: string): string {
  return `${name}-${hostname().trim().toLowerCase()}`;
}
