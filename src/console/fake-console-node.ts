import type { PodExplanation } from "../kubelet/explain/pod-explanation.ts";
import { type FakePodParts, fakePod } from "../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../lib/model/pod.ts";
import type { Summary } from "../lib/model/stats-summary.ts";
import type { ConsoleNode, ConsolePod } from "./console-node.ts";

const at = "2026-01-01T00:00:00.000Z";

export function fakeExplanation(pod: Pod, more: Partial<PodExplanation> = {}): PodExplanation {
  const { namespace, name, uid } = pod.metadata;
  return {
    namespace,
    name,
    uid,
    source: "applied",
    phase: "Running",
    ready: true,
    seenAt: at,
    cause: null,
    raw: null,
    try: null,
    failedAt: null,
    waitsFor: null,
    details: [],
    lastError: null,
    start: null,
    history: [],
    dropped: 0,
    ...more,
  };
}

export function fakeConsolePod(parts: FakePodParts = {}, more: Partial<ConsolePod> = {}): ConsolePod {
  const pod = fakePod(parts);
  const { uid, namespace, name } = pod.metadata;
  const status = pod.status ?? { phase: "Running" };
  return {
    uid,
    namespace,
    name,
    pod,
    status,
    terminating: false,
    explanation: fakeExplanation(pod),
    ...more,
  };
}

/** A node with pods in memory, which counts what is computed and read. */
export class FakeConsoleNode implements ConsoleNode {
  readonly name = "node-1";
  readonly versions = {
    kubelet: "v1.36.4",
    kernel: "6",
    os: "os",
    architecture: "amd64",
    cgroups: "v2",
    node: "v24",
  };
  readonly bootedAt = 1;
  readonly startedAt = 2;
  readonly whyReadOnly = "this node belongs to a cluster";
  readonly linkCommand = "kubelet console --node default";
  readonly pods = new Map<string, ConsolePod>();
  /** How often a pod was explained, the node's state was read, and usage was sampled. */
  readonly counts = { pod: 0, state: 0, usage: 0, images: 0 };
  readonly requests: string[] = [];
  changes: ConsoleNode["changes"] = undefined;
  access: ConsoleNode["access"] = undefined;
  ownOrigins: readonly string[] = ["http://127.0.0.1:10280"];
  logText = "";

  add(...pods: ConsolePod[]): this {
    for (const pod of pods) this.pods.set(pod.uid, pod);
    return this;
  }

  uids(): PodUid[] {
    return [...this.pods.values()].map(({ uid }) => uid);
  }

  pod(uid: PodUid): ConsolePod | undefined {
    this.counts.pod++;
    return this.pods.get(uid);
  }

  activePods(): Pod[] {
    return [...this.pods.values()].flatMap(({ pod }) => (pod ? [pod] : []));
  }

  probes(): [] {
    return [];
  }

  state(): ReturnType<ConsoleNode["state"]> {
    this.counts.state++;
    return {
      cause: null,
      notReady: [],
      pressure: [],
      published: [],
      thresholds: [],
      lastEviction: null,
      addresses: [],
      capacity: { cpu: "4", memory: "8Gi", pods: "110" },
      allocatable: { cpu: "3500m", memory: "7Gi", pods: "110" },
      runtime: { name: "fake", version: "1", endpoint: "unix:///fake", state: "up", problem: undefined },
      api: undefined,
      certificates: [],
    };
  }

  async usage(whole: boolean): Promise<Summary> {
    this.counts.usage++;
    const cpu = { time: at, usageNanoCores: 500_000_000 };
    const memory = { time: at, workingSetBytes: 1000 };
    const slow = whole && {
      network: { time: at, name: "eth0", rxBytes: 1000 * this.counts.usage, txBytes: 0 },
    };
    return {
      node: { nodeName: this.name, startTime: at, cpu, memory, ...slow },
      pods: [...this.pods.values()].map(({ uid, namespace, name }) => ({
        podRef: { uid, namespace, name },
        startTime: at,
        containers: [],
        cpu,
        memory,
        ...slow,
      })),
    };
  }

  async process(): Promise<{ cpuSeconds: number; residentBytes: number }> {
    return { cpuSeconds: 1, residentBytes: 50_000_000 };
  }

  async images(): ReturnType<ConsoleNode["images"]> {
    this.counts.images++;
    return [{ name: "a", id: "sha256:1", bytes: 10, pinned: false }];
  }

  client: string | undefined;

  async clientCertificate(): Promise<string | undefined> {
    return this.client;
  }

  readonly streams: ConsoleNode["streams"] = {
    logs: async ({ response }, { namespace, pod, container }, query) => {
      this.requests.push(`logs ${namespace}/${pod}/${container}?${query}`);
      response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(this.logText);
    },
    exec: async ({ socket }, { namespace, pod, container }, query) => {
      this.requests.push(`exec ${namespace}/${pod}/${container}?${query}`);
      socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    },
  };

  origins(): readonly string[] {
    return this.ownOrigins;
  }
}
