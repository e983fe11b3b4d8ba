import type { NodeState, PodSummary, Snapshot, Usage, UsageSeries } from "../../protocol.ts";

export function podSummary(uid: string, fields: Partial<PodSummary> = {}): PodSummary {
  return {
    uid,
    namespace: "default",
    name: uid,
    source: "api",
    phase: "Running",
    status: "Running",
    health: "ok",
    ready: true,
    readyContainers: 1,
    totalContainers: 1,
    restarts: 0,
    ip: "10.0.0.1",
    createdAt: 1000,
    startedAt: 1000,
    critical: false,
    qosClass: "BestEffort",
    labels: {},
    cause: null,
    waitsFor: null,
    revision: 1,
    ...fields,
  };
}

export const usageOf = (cpu: number): Usage => ({ cpu, memory: cpu * 100, disk: null, rx: null, tx: null });

export const seriesOf = (...cpu: (number | null)[]): UsageSeries => ({
  cpu,
  memory: cpu.map((value) => (value === null ? null : value * 100)),
  disk: cpu.map(() => null),
  rx: cpu.map(() => null),
  tx: cpu.map(() => null),
});

export function snapshot(pods: readonly PodSummary[], fields: Partial<Snapshot> = {}): Snapshot {
  const usage = { intervalMs: 5000, times: [], node: seriesOf(), pods: {} };
  return {
    kind: "snapshot",
    now: 5000,
    node: { name: "node-1" } as NodeState,
    pods,
    usage,
    events: [],
    ...fields,
  };
}
