// Objects of the console's protocol, for pages without a node.
import type {
  ContainerDetail,
  NodeState,
  PodDetail,
  PodEvent,
  PodSummary,
  Usage,
  UsageHistory,
} from "../../src/console/protocol.ts";

const minute = 60_000;
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

/** A pod that crashes, one that waits for its image, one that completed; the others run. */
export function mockPod(index: number, now: number): PodSummary {
  const kind = index % 25;
  const base: PodSummary = {
    uid: `uid-${index}`,
    namespace: index % 5 === 0 ? "kube-system" : "default",
    name: `${["web", "api", "worker", "cache", "proxy"][index % 5]}-${index}`,
    source: index % 5 === 0 ? "file" : "api",
    phase: "Running",
    status: "Running",
    health: "ok",
    ready: true,
    readyContainers: 1,
    totalContainers: 1,
    restarts: 0,
    ip: `10.88.${Math.floor(index / 250)}.${(index % 250) + 2}`,
    createdAt: now - (index + 1) * 7 * minute,
    startedAt: now - (index + 1) * 7 * minute,
    critical: index % 5 === 0,
    qosClass: "Burstable",
    labels: { app: "web", "app.kubernetes.io/instance": `instance-${index % 7}` },
    cause: null,
    waitsFor: null,
    revision: 1,
  };
  if (kind === 3) {
    const cause = "container app exited with code 1 (Error): cannot open /etc/app.conf; restarted 4 times";
    return {
      ...base,
      status: "CrashLoopBackOff",
      health: "error",
      ready: false,
      readyContainers: 0,
      restarts: 4,
      cause,
    };
  }
  if (kind === 7) {
    const cause = "image registry.example/worker:2.1 cannot be pulled: manifest unknown";
    return {
      ...base,
      phase: "Pending",
      status: "ImagePullBackOff",
      health: "warning",
      ready: false,
      readyContainers: 0,
      ip: "",
      cause,
    };
  }
  if (kind === 11)
    return { ...base, phase: "Succeeded", status: "Completed", ready: false, readyContainers: 0 };
  return base;
}

export function mockNode(now: number): NodeState {
  const condition = (type: string, status: "True" | "False", reason: string, message: string) => ({
    ...{ type, status, reason, message, since: now - 300 * minute },
  });
  const threshold = (signal: string, value: string, available: string, capacity: string) => ({
    ...{ signal, kind: "hard" as const, value, threshold: value, available, capacity },
    ...{ met: false, evictsInSeconds: null },
  });
  return {
    name: "node-1",
    health: "ok",
    cause: null,
    conditions: [
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
      condition(
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
      ),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ],
    thresholds: [
      threshold("memory.available", "100Mi", "9.2Gi", "15.6Gi"),
      threshold("nodefs.available", "10%", "61%", "98Gi"),
      threshold("nodefs.inodesFree", "5%", "92%", "6.5M"),
      threshold("imagefs.available", "15%", "61%", "98Gi"),
    ],
    lastEviction: null,
    resources: [
      { name: "cpu", capacity: 8, allocatable: 7.5, requested: 4.35, used: 1.87 },
      {
        name: "memory",
        capacity: 15.6 * gibibyte,
        allocatable: 14.9 * gibibyte,
        requested: 6.5 * gibibyte,
        used: 5.1 * gibibyte,
      },
      {
        name: "ephemeral-storage",
        capacity: 98 * gibibyte,
        allocatable: 88 * gibibyte,
        requested: 2 * gibibyte,
        used: 37 * gibibyte,
      },
      { name: "pods", capacity: 250, allocatable: 250, requested: 60, used: null },
    ],
    versions: {
      ...{ kubelet: "v1.36.4", kernel: "6.12.9-amd64", os: "Debian GNU/Linux 12 (bookworm)" },
      ...{ architecture: "amd64", cgroups: "v2, systemd", node: "v24.21.0" },
    },
    addresses: ["192.0.2.17"],
    runtime: {
      ...{ name: "containerd", version: "2.1.4", endpoint: "unix:///run/containerd/containerd.sock" },
      ...{ state: "up" as const, problem: null },
    },
    api: { state: "connected", server: "https://192.0.2.10:6443", problem: null },
    certificates: [
      certificate("client", now + 300 * 24 * 60 * minute),
      certificate("serving", now + 20 * 24 * 60 * minute),
    ],
    images: { count: 12, bytes: 1.9 * gibibyte },
    agent: { pid: 812, startedAt: now - 302 * minute, cpu: 0.021, memory: 96 * mebibyte, viewers: 1 },
    bootedAt: now - 3000 * minute,
  };
}

function certificate(name: "client" | "serving", notAfter: number) {
  const subject = "O=system:nodes, CN=system:node:node-1";
  return { name, subject, notBefore: notAfter - 365 * 24 * 60 * minute, notAfter, health: "ok" as const };
}

/** A wave, so that charts have a form; the phase makes pods differ. */
export function mockUsage(time: number, phase: number, scale = 1): Usage {
  const wave = 1 + Math.sin(time / 400_000 + phase) * 0.4 + Math.sin(time / 37_000 + phase * 3) * 0.15;
  return {
    cpu: 0.06 * wave * scale,
    memory: 48 * mebibyte * (1 + wave / 4) * scale,
    disk: 12 * mebibyte * scale,
    rx: 9_000 * wave * scale,
    tx: 5_000 * wave * scale,
  };
}

export function mockHistory(pods: readonly PodSummary[], now: number, points = 360): UsageHistory {
  const intervalMs = 10_000;
  const times = Array.from({ length: points }, (_, index) => now - (points - 1 - index) * intervalMs);
  const series = (of: readonly number[], phase: number, scale: number) => {
    const usages = of.map((time) => mockUsage(time, phase, scale));
    const pick = (key: keyof Usage) => usages.map((usage) => usage[key]);
    return { cpu: pick("cpu"), memory: pick("memory"), disk: pick("disk"), rx: pick("rx"), tx: pick("tx") };
  };
  const recent = times.slice(-60);
  return {
    intervalMs,
    times,
    node: series(times, 0, 30),
    pods: Object.fromEntries(pods.map((pod, index) => [pod.uid, series(recent, index, 1 + (index % 4))])),
  };
}

export function mockEvents(pods: readonly PodSummary[], now: number): PodEvent[] {
  return pods.slice(0, 12).map((pod, index) => ({
    ...{ id: index + 1, uid: pod.uid, object: `${pod.namespace}/${pod.name}`, container: "app" },
    type: pod.ready ? ("Normal" as const) : ("Warning" as const),
    reason: pod.ready ? "Started" : "BackOff",
    message: pod.ready ? "Started container app" : "Back-off restarting failed container app",
    ...{ count: pod.ready ? 1 : 7, firstAt: now - 20 * minute, lastAt: now - (12 - index) * 30_000 },
  }));
}

function mockContainer(pod: PodSummary, now: number): ContainerDetail {
  const running = pod.ready;
  const crashed = pod.restarts > 0;
  return {
    name: "app",
    kind: "container",
    image: "registry.example/app:2.1",
    id: running ? "0f3c9a" : "",
    state: running ? "running" : pod.phase === "Succeeded" ? "terminated" : "waiting",
    reason: running ? "" : pod.status,
    message: crashed ? "back-off 1m20s restarting failed container" : "",
    startedAt: running ? pod.startedAt : null,
    finishedAt: pod.phase === "Succeeded" ? now - minute : null,
    exitCode: pod.phase === "Succeeded" ? 0 : null,
    signal: null,
    ready: running,
    started: running,
    restarts: pod.restarts,
    last: crashed
      ? { reason: "Error", message: "", exitCode: 1, startedAt: now - 2 * minute, finishedAt: now - minute }
      : null,
    probes: [
      {
        ...{
          kind: "readiness" as const,
          text: "HTTP GET :8080/healthz",
          periodSeconds: 10,
          failureThreshold: 3,
        },
        ...{ result: running ? ("success" as const) : null, failures: 0, lastFailure: null },
      },
    ],
    resources: {
      ...{ cpuRequest: 0.1, cpuLimit: 0.5, memoryRequest: 64 * mebibyte, memoryLimit: 128 * mebibyte },
      ...{ cpu: running ? 0.062 : null, memory: running ? 71 * mebibyte : null },
    },
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    mounts: [{ volume: "config", path: "/etc/app", readOnly: true }],
    tty: false,
  };
}

export function mockDetail(pod: PodSummary, now: number): PodDetail {
  const start = pod.startedAt ?? now;
  const step = (
    name: string,
    text: string,
    from: number,
    ms: number | null,
    error: string | null = null,
  ) => ({
    ...{ step: name, text, container: name === "image" || name === "container" ? "app" : null },
    ...{ startedAt: start + from, endedAt: ms === null ? null : start + from + ms, until: null, error },
  });
  const failed = !pod.ready && pod.phase !== "Succeeded";
  return {
    revision: pod.revision,
    now,
    summary: pod,
    explanation: {
      cause: pod.cause,
      details: pod.restarts > 0 ? ["last exit: code 1 after 0.4 s"] : [],
      lastError: null,
      waitsFor: null,
      next: pod.cause
        ? "Read the log of the previous run: it usually names the missing file or setting."
        : null,
    },
    timeline: [
      step("admission", "admitted", 0, 4),
      step("volumes", "mount config", 5, 160),
      step("sandbox", "create the sandbox", 170, 640),
      step("image", "pull registry.example/app:2.1", 815, 2_300),
      step("container", "start app", 3_120, 270, failed ? "exit code 1: cannot open /etc/app.conf" : null),
      step("readiness", "first success of the readiness probe", 3_400, failed ? null : 1_900),
    ],
    droppedSteps: 0,
    start: failed ? null : { readyAt: start + 5_300, tookMs: 5_300, steps: [] },
    containers: [mockContainer(pod, now)],
    volumes: [
      { name: "config", kind: "ConfigMap", detail: "app-config", problem: null },
      { name: "kube-api-access-x7k2p", kind: "Projected", detail: "", problem: null },
    ],
    conditions: (
      ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] as const
    ).map((type) => ({
      ...({
        type,
        status:
          type.includes("eady") && !pod.ready && type !== "PodReadyToStartContainers" ? "False" : "True",
      } as const),
      ...{ reason: "", message: "", since: start },
    })),
    events: mockEvents([pod], now),
    annotations: { "example.com/owner": "team-a" },
    nodeName: "node-1",
    priority: 0,
    restartPolicy: "Always",
    hostNetwork: false,
    serviceAccount: "default",
    controlledBy: "",
    mayDelete: pod.source !== "file",
    deleteHint: pod.source === "file" ? "comes from a manifest file: remove the file" : "",
  };
}
