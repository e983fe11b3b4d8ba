import type { Container, ContainerStatus, EphemeralContainer, Pod, PodStatus } from "../../lib/model/pod.ts";
import { isSidecar } from "../../lib/model/restart-policy.ts";
import type { ContainerStats } from "../../lib/model/stats-summary.ts";
import type { ConsoleProbe } from "../console-node.ts";
import type { ContainerDetail, ProbeDetail } from "../protocol.ts";
import { amount, timeOf } from "./amounts.ts";

export interface ContainerFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  readonly probes: readonly ConsoleProbe[];
  /** The newest sample, by container name. */
  readonly usage: ReadonlyMap<string, ContainerStats>;
}

/** Init containers, containers, ephemeral containers. */
export function containerDetails(facts: ContainerFacts): ContainerDetail[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = facts.pod.spec;
  const { status } = facts;
  return [
    ...initContainers.map((c) =>
      detail(c, isSidecar(c) ? "sidecar" : "init", status?.initContainerStatuses, facts),
    ),
    ...containers.map((c) => detail(c, "container", status?.containerStatuses, facts)),
    ...ephemeralContainers.map((c) => detail(c, "ephemeral", status?.ephemeralContainerStatuses, facts)),
  ];
}

function detail(
  container: Container | EphemeralContainer,
  kind: ContainerDetail["kind"],
  statuses: readonly ContainerStatus[] | undefined,
  facts: ContainerFacts,
): ContainerDetail {
  const { name } = container;
  const status = statuses?.find((s) => s.name === name);
  const { waiting, running, terminated } = status?.state ?? {};
  const last = status?.lastState?.terminated;
  const { requests, limits } = container.resources ?? {};
  const usage = facts.usage.get(name);
  return {
    name,
    kind,
    image: container.image ?? "",
    id: (status?.containerID ?? "").replace(/^[^:]*:\/\//, ""),
    state: running ? "running" : terminated ? "terminated" : "waiting",
    reason: waiting?.reason ?? terminated?.reason ?? "",
    message: waiting?.message ?? terminated?.message ?? "",
    startedAt: timeOf(running?.startedAt ?? terminated?.startedAt),
    finishedAt: timeOf(terminated?.finishedAt),
    exitCode: terminated?.exitCode ?? null,
    signal: terminated?.signal ?? null,
    ready: status?.ready ?? false,
    started: status?.started ?? false,
    restarts: status?.restartCount ?? 0,
    last: last
      ? {
          reason: last.reason ?? "",
          message: last.message ?? "",
          exitCode: last.exitCode ?? 0,
          startedAt: timeOf(last.startedAt),
          finishedAt: timeOf(last.finishedAt),
        }
      : null,
    probes: probeDetails(container, facts.probes),
    resources: {
      cpuRequest: amount(requests?.cpu),
      cpuLimit: amount(limits?.cpu),
      memoryRequest: amount(requests?.memory),
      memoryLimit: amount(limits?.memory),
      cpu: usage?.cpu?.usageNanoCores === undefined ? null : usage.cpu.usageNanoCores / 1e9,
      memory: usage?.memory?.workingSetBytes ?? null,
    },
    ports: (container.ports ?? []).map((port) => ({
      name: port.name ?? "",
      port: port.containerPort,
      protocol: port.protocol ?? "TCP",
    })),
    mounts: (container.volumeMounts ?? []).map((mount) => ({
      volume: mount.name,
      path: mount.mountPath,
      readOnly: mount.readOnly ?? false,
    })),
    tty: container.tty ?? false,
  };
}

type Probe = NonNullable<Container["livenessProbe"]>;

function probeDetails(
  container: Container | EphemeralContainer,
  results: readonly ConsoleProbe[],
): ProbeDetail[] {
  const kinds = ["startup", "liveness", "readiness"] as const;
  return kinds.flatMap((kind): ProbeDetail[] => {
    const probe = container[`${kind}Probe`];
    if (!probe) return [];
    const result = results.find((r) => r.kind === kind && r.container === container.name);
    const { outcome, failures = 0, lastFailure } = result ?? {};
    return [
      {
        kind,
        text: probeText(probe),
        periodSeconds: probe.periodSeconds ?? 10,
        failureThreshold: probe.failureThreshold ?? 3,
        result: outcome === "success" || outcome === "failure" ? outcome : null,
        failures,
        lastFailure: lastFailure ?? null,
      },
    ];
  });
}

function probeText({ httpGet, exec, tcpSocket, grpc }: Probe): string {
  if (httpGet) return `${httpGet.scheme ?? "HTTP"} GET :${httpGet.port}${httpGet.path ?? "/"}`;
  if (exec) return `exec ${(exec.command ?? []).join(" ")}`;
  if (tcpSocket) return `TCP :${tcpSocket.port}`;
  return `gRPC :${grpc?.port ?? ""}`;
}
