// Objects of the console's protocol, for pages without a node.
import type {
  ContainerDetail,
  NodeState,
  PodDetail,
  PodEvent,
  PodSummary,
  PodUsage,
  TimelineStep,
  Usage,
  UsageHistory,
  UsageSeries,
} from "../../src/console/protocol.ts";

const minute = 60_000;
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
/** The usage of the node. */
const used = { cpu: 1.87, memory: 5.1 * gibibyte, disk: 37 * gibibyte };

const names = ["web", "api", "worker", "cache", "proxy"];

/** A pod that crashes, one that waits for its image, one that completed; the others run. */
export function mockPod(index: number, now: number): PodSummary {
  const kind = index % 25;
  const base: PodSummary = {
    uid: `uid-${index}`,
    namespace: index % 5 === 0 ? "kube-system" : "default",
    name: `${names[index % 5]}-${index}`,
    source: index % 5 === 0 ? "file" : "api",
    phase: "Running",
    status: "Running",
    health: "ok",
    ready: true,
    readyContainers: index % 5 === 2 ? 2 : 1,
    totalContainers: index % 5 === 2 ? 2 : 1,
    restarts: 0,
    ip: `10.88.${Math.floor(index / 250)}.${(index % 250) + 2}`,
    createdAt: now - (index + 1) * 7 * minute,
    startedAt: now - (index + 1) * 7 * minute,
    critical: index % 5 === 0,
    qosClass: "Burstable",
    labels: { app: names[index % 5]!, "app.kubernetes.io/instance": `instance-${index % 7}` },
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
      waitsFor: { text: "back-off 1m20s before restarting app", since: now - 31_000, until: now + 49_000 },
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
      waitsFor: {
        text: "back-off 40s before pulling the image again",
        since: now - 12_000,
        until: now + 28_000,
      },
    };
  }
  if (kind === 11)
    return { ...base, phase: "Succeeded", status: "Completed", ready: false, readyContainers: 0 };
  return base;
}

export function mockNode(now: number): NodeState {
  const condition = (type: string, status: "True" | "False", reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    since: now - 300 * minute,
  });
  const threshold = (signal: string, value: string, available: string, capacity: string) => ({
    signal,
    kind: "hard" as const,
    value,
    threshold: value,
    available,
    capacity,
    met: false,
    evictsInSeconds: null,
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
      { name: "cpu", capacity: 8, allocatable: 7.5, requested: 4.35, used: used.cpu },
      {
        name: "memory",
        capacity: 15.6 * gibibyte,
        allocatable: 14.9 * gibibyte,
        requested: 6.5 * gibibyte,
        used: used.memory,
      },
      {
        name: "ephemeral-storage",
        capacity: 98 * gibibyte,
        allocatable: 88 * gibibyte,
        requested: 2 * gibibyte,
        used: used.disk,
      },
      { name: "pods", capacity: 250, allocatable: 250, requested: 60, used: null },
    ],
    versions: {
      kubelet: "v1.36.4",
      kernel: "6.12.9-amd64",
      os: "Debian GNU/Linux 12 (bookworm)",
      architecture: "amd64",
      cgroups: "v2, systemd",
      node: "v24.21.0",
    },
    addresses: ["192.0.2.17"],
    runtime: {
      name: "containerd",
      version: "2.1.4",
      endpoint: "unix:///run/containerd/containerd.sock",
      state: "up" as const,
      problem: null,
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

/** Between -1 and 1, the same for the same numbers, without jumps. */
function noise(time: number, phase: number): number {
  const at = (step: number) => {
    const value = Math.sin(step * 12.9898 + phase * 78.233) * 43758.5453;
    return (value - Math.floor(value)) * 2 - 1;
  };
  const between = (ms: number) => {
    const step = Math.floor(time / ms);
    const part = (1 - Math.cos((time / ms - step) * Math.PI)) / 2;
    return at(step) * (1 - part) + at(step + 1) * part;
  };
  return (between(300_000) + between(70_000) * 0.5 + between(20_000) * 0.25) / 1.75;
}

/** A slow wave with noise, so that charts have a form; the phase makes pods differ. */
export function mockUsage(time: number, phase: number, scale = 1): Usage {
  const wave = 1 + Math.sin(time / 1_100_000 + phase) * 0.25 + noise(time, phase) * 0.7;
  return {
    cpu: 0.06 * wave * scale,
    memory:
      48 * mebibyte * (1.4 + Math.sin(time / 1_900_000 + phase) / 6 + noise(time, phase + 2) / 9) * scale,
    disk: 12 * mebibyte * scale,
    rx: 9_000 * wave * scale,
    tx: 4_000 * (1 + noise(time, phase + 1) * 0.8) * scale,
  };
}

/** Ends with the used amounts of `mockNode`. */
function mockNodeUsage(time: number, now: number): Usage {
  const { cpu, memory, rx, tx } = mockUsage(time, 0, 30);
  const last = mockUsage(now, 0, 30);
  return {
    cpu: used.cpu * (cpu! / last.cpu!),
    memory: used.memory * (memory! / last.memory!),
    disk: used.disk - (now - time) * 300,
    rx,
    tx,
  };
}

type History = { readonly times: readonly number[]; readonly intervalMs: number };

function historyTimes(now: number, points: number): History {
  const intervalMs = 10_000;
  const times = Array.from({ length: points }, (_, index) => now - (points - 1 - index) * intervalMs);
  return { times, intervalMs };
}

function seriesOf(usages: readonly Usage[]): UsageSeries {
  const pick = (key: keyof Usage) => usages.map((usage) => usage[key]);
  return { cpu: pick("cpu"), memory: pick("memory"), disk: pick("disk"), rx: pick("rx"), tx: pick("tx") };
}

export function mockHistory(pods: readonly PodSummary[], now: number, points = 360): UsageHistory {
  const { times, intervalMs } = historyTimes(now, points);
  const recent = times.slice(-60);
  return {
    intervalMs,
    times,
    node: seriesOf(times.map((time) => mockNodeUsage(time, now))),
    pods: Object.fromEntries(pods.map((pod, index) => [pod.uid, podSeries(pod, index, recent)])),
  };
}

function podSeries({ phase, ready }: PodSummary, index: number, times: readonly number[]): UsageSeries {
  const none: Usage = { cpu: null, memory: null, disk: null, rx: null, tx: null };
  // A container that crashes does not run for long.
  const scale = ready ? 1 + (index % 4) : 0.04;
  return seriesOf(times.map((time) => (phase === "Running" ? mockUsage(time, index, scale) : none)));
}

export function mockPodUsage(pod: PodSummary, now: number): PodUsage {
  const { times, intervalMs } = historyTimes(now, 360);
  const index = Number(pod.uid.replace("uid-", ""));
  return { intervalMs, times, series: podSeries(pod, index, times) };
}

export function mockEvents(pods: readonly PodSummary[], now: number): PodEvent[] {
  return pods.slice(0, 12).map((pod, index) => ({
    id: index + 1,
    uid: pod.uid,
    object: `${pod.namespace}/${pod.name}`,
    container: "app",
    ...newestEvent(pod),
    firstAt: now - 20 * minute,
    lastAt: now - (12 - index) * 30_000,
  }));
}

type EventText = Pick<PodEvent, "type" | "reason" | "message" | "count">;

function newestEvent(pod: PodSummary): EventText {
  if (pod.restarts > 0)
    return {
      type: "Warning",
      reason: "BackOff",
      count: 7,
      message: "Back-off restarting failed container app",
    };
  if (pod.phase === "Pending")
    return {
      type: "Warning",
      reason: "Failed",
      count: 4,
      message: 'Failed to pull image "registry.example/worker:2.1": manifest unknown',
    };
  return { type: "Normal", reason: "Started", message: "Started container app", count: 1 };
}

/** The events of one pod, the oldest first. */
function eventsOf(pod: PodSummary, now: number): PodEvent[] {
  const start = pod.startedAt ?? now;
  const one = (reason: string, message: string, ms: number): PodEvent => ({
    id: 100 + ms,
    uid: pod.uid,
    object: `${pod.namespace}/${pod.name}`,
    container: "app",
    type: "Normal",
    reason,
    message,
    count: 1,
    firstAt: start + ms,
    lastAt: start + ms,
  });
  const image = "registry.example/app:2.1";
  const begin = [
    { ...one("Scheduled", `Assigned ${pod.namespace}/${pod.name} to node-1`, 0), container: "" },
    one("Pulling", `Pulling image "${image}"`, 810),
    one("Pulled", `Successfully pulled image "${image}" in 2.3s. Image size: 71303168 bytes.`, 3_110),
    one("Created", "Created container app", 3_300),
  ];
  return [...begin, { ...mockEvents([pod], now)[0]!, id: 9_999, lastAt: now - 31_000 }];
}

/** A container that ran before the others, and one that runs alongside them. */
function moreContainers(app: ContainerDetail): ContainerDetail[] {
  const none = { ports: [], probes: [], restarts: 0, last: null };
  const startedAt = app.startedAt ?? 0;
  const init: ContainerDetail = {
    ...app,
    ...none,
    name: "migrate",
    kind: "init",
    image: "registry.example/migrate:2.1",
    state: "terminated",
    reason: "Completed",
    exitCode: 0,
    ready: true,
    startedAt: startedAt - 2_000,
    finishedAt: startedAt - 400,
  };
  const sidecar: ContainerDetail = {
    ...app,
    ...none,
    name: "log-shipper",
    kind: "sidecar",
    image: "registry.example/fluent-bit:3.2",
    mounts: [{ volume: "logs", path: "/var/log/app", readOnly: true }],
    resources: {
      cpuRequest: 0.02,
      cpuLimit: null,
      memoryRequest: 16 * mebibyte,
      memoryLimit: 32 * mebibyte,
      cpu: 0.004,
      memory: 11 * mebibyte,
    },
  };
  return [init, sidecar];
}

/** The history of a pod that crashes: starts of its container, and the growing times between them. */
function crashes(start: number, now: number): TimelineStep[] {
  const of = { container: "app", until: null, isBackOff: false, failed: false, error: null };
  const run = (at: number): TimelineStep => ({
    ...of,
    step: "container",
    text: "starting container app",
    startedAt: at,
    endedAt: at + 270,
  });
  const backoff = (seconds: number, at: number, endedAt: number | null): TimelineStep => ({
    ...of,
    step: "backoff",
    text: "back-off before app is restarted",
    isBackOff: true,
    startedAt: at,
    endedAt,
    until: at + seconds * 1000,
  });
  let at = start + 3_120;
  const steps: TimelineStep[] = [];
  for (const seconds of [10, 20, 40]) {
    steps.push(run(at), backoff(seconds, at + 700, at + 700 + seconds * 1000));
    at += 700 + seconds * 1000;
  }
  return [...steps, run(now - 31_900), backoff(80, now - 31_000, null)];
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
        kind: "readiness" as const,
        text: "HTTP GET :8080/healthz",
        periodSeconds: 10,
        failureThreshold: 3,
        result: running ? ("success" as const) : null,
        failures: 0,
        lastFailure: null,
      },
    ],
    resources: {
      cpuRequest: 0.1,
      cpuLimit: 0.5,
      memoryRequest: 64 * mebibyte,
      memoryLimit: 128 * mebibyte,
      cpu: running ? 0.062 : null,
      memory: running ? 71 * mebibyte : null,
    },
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    mounts: [{ volume: "config", path: "/etc/app", readOnly: true }],
    tty: false,
  };
}

/** From the text of the pod: "pulling registry.example/app:2.1, 43 % of 187 MB". */
function mockPull({ waitsFor }: PodSummary): PodDetail["explanation"]["pull"] {
  const [, image, percent] = /^pulling (\S+), (\d+) % of /.exec(waitsFor?.text ?? "") ?? [];
  return image === undefined ? null : { image, done: Number(percent), total: 100 };
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
    step: name,
    text,
    container: name === "image" || name === "container" ? "app" : null,
    startedAt: start + from,
    endedAt: ms === null ? null : start + from + ms,
    until: null,
    isBackOff: false,
    failed: error !== null,
    error,
  });
  const failed = !pod.ready && pod.phase !== "Succeeded";
  const app = mockContainer(pod, now);
  return {
    revision: pod.revision,
    now,
    summary: pod,
    explanation: {
      cause: pod.cause,
      raw: null,
      details: [],
      lastError: null,
      waitsFor: pod.waitsFor && { ...pod.waitsFor, step: "backoff", container: "app" },
      pull: mockPull(pod),
      next: pod.cause
        ? "Read the previous logs of container app, and correct its command or its configuration."
        : null,
    },
    timeline: [
      failed
        ? step("volumes", "waiting for volume config", 5, 160, 'configmap "app-config" not found')
        : step("volumes", "waiting for volume config", 5, 160),
      step("sandbox", "creating the sandbox", 170, 640),
      step("image", "pulling image registry.example/app:2.1", 815, 2_300),
      ...(failed
        ? crashes(start, now)
        : [
            step("container", "starting container app", 3_120, 270),
            step("readiness", "waiting for the readiness probe of app", 3_400, 1_900),
          ]),
    ],
    droppedSteps: 0,
    start: failed ? null : { readyAt: start + 5_300, tookMs: 5_300, steps: [] },
    containers:
      pod.totalContainers > 1
        ? [...moreContainers(app).slice(0, 1), app, ...moreContainers(app).slice(1)]
        : [app],
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
      reason: "",
      message: "",
      since: start,
    })),
    events: eventsOf(pod, now),
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

/** The object as the page shows it. */
export function mockYaml(pod: PodSummary): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${pod.name}
  namespace: ${pod.namespace}
  uid: ${pod.uid}
  labels:
    app: ${pod.labels.app}
spec:
  nodeName: node-1
  restartPolicy: Always
  containers:
    - name: app
      image: registry.example/app:2.1
      ports:
        - name: http
          containerPort: 8080
      env:
        - name: DATABASE_PASSWORD
          valueFrom:
            secretKeyRef:
              name: database
              key: password
      readinessProbe:
        httpGet:
          path: /healthz
          port: 8080
      resources:
        requests:
          cpu: 100m
          memory: 64Mi
        limits:
          cpu: 500m
          memory: 128Mi
      volumeMounts:
        - name: config
          mountPath: /etc/app
          readOnly: true
  volumes:
    - name: config
      configMap:
        name: app-config
status:
  phase: ${pod.phase}
  podIP: ${pod.ip}
`;
}
