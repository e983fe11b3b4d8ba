import { msSince } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Container, Pod, PodSpec } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { type ProbeKind, type ProbeResultChange, ProbeResults } from "../../state/probe-results.ts";
import { type AttemptResult, failure, success } from "./attempt-result.ts";
import { ProbeManager, type ProbeManagerOptions } from "./probe-manager.ts";
import type { Probe, ProbeRequest } from "./prober.ts";

/** A probe with the defaults of the API. */
export const probe = (parts: Partial<Probe> = {}): Probe => ({
  tcpSocket: { port: 80 },
  timeoutSeconds: 1,
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
  ...parts,
});

/** A pod whose probe manager is started. */
export async function startProbedPod(
  ...[spec, options]: ConstructorParameters<typeof ProbedPod>
): Promise<ProbedPod> {
  const pod = new ProbedPod(spec, options);
  await pod.start();
  return pod;
}

const sandboxId = "s1" as SandboxId;

/** One pod, its probe manager and a runtime with the containers that a test sets, in simulated time. */
export class ProbedPod {
  readonly clock = new FakeClock(1_000_000);
  readonly results = new ProbeResults();
  readonly metrics = createMetrics();
  readonly changes: string[] = [];
  readonly events: string[] = [];
  /** "12.5 liveness c0#1", with seconds since the start. */
  readonly attempts: string[] = [];
  readonly pod: Pod;
  readonly manager: ProbeManager;
  readonly stop = new AbortController();
  /** The result of a probe; success by default. */
  respond: (kind: ProbeKind, request: ProbeRequest) => AttemptResult | Promise<AttemptResult> = () =>
    success();
  #containers = new Map<string, ObservedContainer>();
  readonly #zero = this.clock.monotonic();

  constructor(
    spec: Partial<Omit<PodSpec, "containers">> & { containers: Partial<Container>[] },
    options: Partial<ProbeManagerOptions> = {},
  ) {
    this.pod = fakePod({ spec });
    this.results.onChange((n) => this.changes.push(this.#line(n)));
    this.manager = new ProbeManager({
      clock: this.clock,
      logger: silentLogger,
      metrics: this.metrics,
      results: this.results,
      observed: { get: () => this.#observed() },
      runtime: { execSync: () => Promise.reject(new Error("not in this test")) },
      events: {
        normal: () => {},
        warning: (_pod, reason, message, container) => this.events.push(`${reason} ${container}: ${message}`),
      },
      hostIps: () => ["192.0.2.1"],
      random: () => 0.5,
      prober: async (request) => {
        const kind = kindOf(request);
        this.attempts.push(`${this.#seconds()} ${kind} ${request.id}`);
        return this.respond(kind, request);
      },
      ...options,
    });
  }

  get uid() {
    return this.pod.metadata.uid;
  }

  async start(): Promise<void> {
    await this.manager.start(this.stop.signal);
    this.manager.addPod(this.pod);
  }

  /** Sets the newest container of that name; "c0#2" is the second c0. */
  setContainer(id: string, state: ObservedContainer["state"], parts: Partial<ObservedContainer> = {}): void {
    const name = id.split("#")[0] ?? id;
    this.#containers.set(name, {
      id: id as ContainerId,
      name,
      sandboxId,
      state,
      attempt: 0,
      hash: "",
      image: "",
      imageRef: "",
      createdAt: this.clock.wall(),
      startedAt: state === "created" ? wallTime(0) : this.clock.wall(),
      finishedAt: wallTime(0),
      exitCode: 0,
      reason: "",
      message: "",
      logPath: "",
      annotations: {},
      ...parts,
    });
    this.manager.observed(this.uid);
  }

  removeContainer(name: string): void {
    this.#containers.delete(name);
    this.manager.observed(this.uid);
  }

  failWhile(failing: (kind: ProbeKind) => boolean): void {
    this.respond = (kind) => (failing(kind) ? failure("sick") : success());
  }

  result(kind: ProbeKind, id: string): string | undefined {
    return this.results.get(kind, id as ContainerId);
  }

  /** The attempts since the last call. */
  takeAttempts(): string[] {
    return this.attempts.splice(0);
  }

  #observed(): ObservedPod {
    return {
      uid: this.uid,
      name: "web",
      namespace: "default",
      sandboxes: [
        {
          id: sandboxId,
          state: "ready",
          attempt: 0,
          createdAt: wallTime(0),
          ips: ["10.0.0.7", "fd00::7"],
          hostNetwork: false,
          annotations: {},
        },
      ],
      containers: [...this.#containers.values()],
    };
  }

  #seconds(): number {
    return msSince(this.clock, this.#zero) / 1000;
  }

  #line({ kind, id, outcome }: ProbeResultChange): string {
    return `${this.#seconds()} ${kind} ${id} ${outcome}`;
  }
}

function kindOf({ container, probe }: ProbeRequest): ProbeKind {
  if (container.startupProbe === probe) return "startup";
  return container.livenessProbe === probe ? "liveness" : "readiness";
}
