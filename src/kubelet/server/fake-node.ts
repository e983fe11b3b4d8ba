import { type Clock, systemClock } from "../../lib/base/clock.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { wallTime } from "../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../lib/clients/cri/cri.ts";
import { CriError } from "../../lib/clients/cri/cri-error.ts";
import { fakePod } from "../../lib/model/fake-pod.ts";
import { fullNameOf, type Pod, type PodFullName } from "../../lib/model/pod.ts";
import type { ObservedPod } from "../state/observed-pods.ts";
import { type DebugOptions, debugRoutes, openRoutes } from "./debug/routes.ts";
import type { Route } from "./route.ts";
import { type StreamingRuntime, streamingRoutes } from "./streaming/routes.ts";

/** Part of all data that an unauthorized caller must not see. */
export const secret = "S3CRET";

const pod = fakePod({
  metadata: { annotations: { secret } },
  spec: {
    containers: [
      { name: "app", tty: false },
      { name: "shell", tty: true },
    ],
  },
});

const container = (name: string, state: "running" | "exited") => ({
  id: `id-${name}` as ContainerId,
  name,
  sandboxId: "sandbox" as SandboxId,
  state,
  attempt: 0,
  hash: "",
  image: "example/app:1",
  imageRef: "",
  createdAt: wallTime(1),
  startedAt: wallTime(1),
  finishedAt: wallTime(0),
  exitCode: 0,
  reason: "",
  message: "",
  logPath: "",
  annotations: {},
});

const observed: ObservedPod = {
  uid: pod.metadata.uid,
  name: pod.metadata.name,
  namespace: pod.metadata.namespace,
  sandboxes: [
    {
      id: "sandbox" as SandboxId,
      state: "ready",
      attempt: 0,
      createdAt: wallTime(1),
      ips: [],
      hostNetwork: false,
      annotations: {},
    },
  ],
  containers: [container("app", "running"), container("shell", "running"), container("done", "exited")],
};

/** All routes of a node with one pod. `url`: where its runtime's streaming server is. */
export function fakeNodeRoutes(o: {
  url: (name: string) => string;
  clock?: Clock;
  idleMs?: number;
  translate?: boolean;
  settings?: Partial<DebugOptions["settings"]>;
  gates?: Partial<DebugOptions["gates"]>;
  verbosity?: (level: number) => void;
}): Route[] {
  const runtime: StreamingRuntime = {
    exec: async ({ cmd, containerId }) => {
      if (cmd[0] === "rejected") throw new CriError("NOT_FOUND", "Exec", `no such container ${containerId}`);
      if (cmd[0] === "busy") throw new CriError("RESOURCE_EXHAUSTED", "Exec", "too many");
      return { url: o.url(cmd[0] ?? "") };
    },
    attach: async ({ tty }) => ({ url: o.url(tty ? "tty" : "echo") }),
    portForward: async ({ port }) => ({ url: o.url(`forward${port.join(",")}`) }),
    execSync: async (_, command) => ({
      stdout: Buffer.from(`ran ${command.join("|")}`),
      stderr: Buffer.from(""),
      exitCode: command[0] === "false" ? 1 : 0,
    }),
  };
  const desired = {
    all: (): Pod[] => [pod],
    byFullName: (name: PodFullName) => (name === fullNameOf(pod) ? pod : undefined),
    mirrorOf: () => fakePod({ metadata: { uid: "mirror" as Pod["metadata"]["uid"] } }),
  };
  const observedPods = {
    all: () => [observed],
    get: (uid: string) => (uid === observed.uid ? observed : undefined),
  };
  const debug: DebugOptions = {
    desired,
    observed: observedPods,
    version: "v1.36.0",
    startedAt: wallTime(0),
    clock: systemClock,
    statuses: { get: () => ({ phase: "Running" }) },
    checks: () => [
      { name: "ping", health: () => ({ ok: true }) },
      { name: "syncloop", health: () => ({ ok: true }) },
    ],
    configuration: () => ({ kind: "KubeletConfiguration", port: 10250, staticPodURL: secret }),
    flags: () => ({ v: "2" }),
    explainer: {
      explain: (query) => ("pod" in query && query.pod === "other" ? undefined : { pod: secret, query }),
    },
    setVerbosity: o.verbosity ?? (() => {}),
    runtime: {
      async checkpointContainer(_id, _location, seconds) {
        if (seconds === 13) throw new CriError("UNKNOWN", "CheckpointContainer", "simulated failure");
      },
    },
    checkpointDir: async () => "/checkpoints",
    gates: { containerCheckpoint: true, statusz: true, flagz: true, ...o.gates },
    settings: {
      enableDebuggingHandlers: true,
      enableDebugFlagsHandler: true,
      enableProfilingHandler: true,
      heapSnapshots: false,
      ...o.settings,
    },
  };
  const enabled = debug.settings.enableDebuggingHandlers;
  const routes = [
    ...openRoutes(debug),
    ...(enabled
      ? streamingRoutes({
          runtime,
          desired,
          observed: observedPods,
          clock: o.clock ?? systemClock,
          metrics: createMetrics(),
          idleMs: o.idleMs ?? 0,
          translate: o.translate ?? true,
        })
      : []),
  ];
  return [...routes, ...debugRoutes(debug, routes)];
}
