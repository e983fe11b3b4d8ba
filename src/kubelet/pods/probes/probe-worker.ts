import { isDeepStrictEqual } from "node:util";
import { type Clock, monotonicOf, msSince, msUntil } from "../../../lib/base/clock.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { latest, type MonotonicTime, type WallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import type { ProbeKind, ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";
import { type ProbeAnswer, probeError } from "./probe-answer.ts";
import { kindNames, type Probed, type ProbeMetrics } from "./probe-metrics.ts";
import {
  believed,
  counted,
  firstTick,
  initialOutcome,
  isLastWord,
  nextTick,
  noTally,
} from "./probe-rules.ts";
import { absent, idOf, type Running, type Sight, sightOf } from "./probe-sight.ts";
import { podAddress } from "./probe-target.ts";
import type { Probe, Prober } from "./prober.ts";

export interface WorkerContext {
  clock: Clock;
  logger: Logger;
  metrics: ProbeMetrics;
  results: ProbeResults;
  events: PodEvents;
  observed: { get(uid: PodUid): ObservedPod | undefined };
  prober: Prober;
  hostIps: () => readonly string[];
  random: () => number;
  /** What is known of a container that was running before its pod arrived, if anything. */
  before: (kind: ProbeKind, pod: Pod, id: ContainerId) => ProbeOutcome | undefined;
  /** The container passed its startup probe: its other probes may begin. */
  onStarted: (uid: PodUid) => void;
  /** Work that is under way, for those who wait for its end. */
  track: (work: Promise<void>) => void;
}

/** What a probe that does not pass says. */
export interface ProbeTrouble {
  readonly kind: ProbeKind;
  readonly container: string;
  /** What came of it the last time, and when. */
  readonly text: string;
  readonly at: WallTime;
  /** How often in a row. */
  readonly times: number;
}

/** Enough to see what is wrong; a probe may answer with a whole page. */
const longestTrouble = 300;

/**
 * One probe of one container, over all the containers of that name that come and go. It has a timer only while there is
 * something to ask: everything else it hears of through `look`.
 */
export class ProbeWorker {
  readonly #c: WorkerContext;
  readonly #kind: ProbeKind;
  readonly #probe: Probe;
  #pod: Pod;
  #container: Container;
  /** A container that was started before is one that was found. */
  readonly watchedSince: MonotonicTime;
  #sight: Sight = absent;
  #tally = noTally;
  #held = false;
  #waitsForStart = false;
  #tick: MonotonicTime;
  /** When the container started and its sandbox was created: converted once, so that no set clock moves the probes. */
  #started: { id: ContainerId; at: MonotonicTime } | undefined;
  #rhythm: { of: WallTime; from: MonotonicTime } | undefined;
  #cancelTimer: (() => void) | undefined;
  #asking: AbortController | undefined;
  #ended = false;
  #trouble: ProbeTrouble | undefined;

  constructor(
    context: WorkerContext,
    of: { kind: ProbeKind; pod: Pod; container: Container; probe: Probe; watchedSince?: MonotonicTime },
  ) {
    this.#c = context;
    this.#kind = of.kind;
    this.#pod = of.pod;
    this.#container = of.container;
    this.#probe = of.probe;
    this.#tick = context.clock.monotonic();
    this.watchedSince = of.watchedSince ?? this.#tick;
  }

  asks(probe: Probe): boolean {
    return isDeepStrictEqual(this.#probe, probe);
  }

  update(pod: Pod, container: Container): void {
    this.#pod = pod;
    this.#container = container;
  }

  /** The runtime's view of the pod, or what is known of its start, may have changed. */
  look(): void {
    if (this.#ended) return;
    const { results, observed } = this.#c;
    const uid = this.#pod.metadata.uid;
    const was = this.#sight;
    const sight = sightOf(observed.get(uid), this.#container.name);
    this.#sight = sight;
    const isNew = idOf(was) !== idOf(sight);
    if (isNew) this.#meet(was, sight);
    if (sight.kind !== "running") {
      this.#rest();
      if (sight.kind === "ended" && this.#kind === "readiness")
        results.set({ uid, id: sight.id, kind: "readiness", outcome: "failure" });
      return;
    }
    if (isNew || was.kind !== "running") {
      this.#tally = noTally;
      this.#tick = this.#firstTick(sight, this.#isFound(sight));
    }
    if (!this.#isStarted(sight.id)) {
      this.#waitsForStart = true;
      return this.#rest();
    }
    if (this.#waitsForStart) {
      this.#waitsForStart = false;
      this.#tick = this.#firstTick(sight, false);
    }
    this.#arm();
  }

  /**
   * More may be known of the container than when it was found. What its own probes came to is not changed by that. In two
   * steps for all workers of a pod: who follows the results sees either none of it or all.
   */
  recall(): (() => void) | undefined {
    const sight = this.#sight;
    if (this.#ended || sight.kind !== "running" || this.#tally !== noTally) return undefined;
    const known = this.#knownBefore(sight);
    if (known === undefined) return undefined;
    this.#c.results.delete(this.#kind, sight.id);
    return () => {
      this.#believe(sight.id, known);
      if (this.#held) this.#rest();
    };
  }

  /** No more probes; what they came to stays known. */
  stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#rest();
    this.#c.metrics.remove(this.#of);
  }

  /** No more probes, and no results. */
  forget(): void {
    this.stop();
    const id = idOf(this.#sight);
    if (id) this.#c.results.delete(this.#kind, id);
  }

  /** Undefined while it passes, or was never asked. */
  get trouble(): ProbeTrouble | undefined {
    return this.#trouble;
  }

  get #of(): Probed {
    return { pod: this.#pod, container: this.#container.name, kind: this.#kind };
  }

  get #fields() {
    return { pod: podRef(this.#pod), podUID: this.#pod.metadata.uid, container: this.#container.name };
  }

  get #periodMs(): number {
    return (this.#probe.periodSeconds || 10) * 1000;
  }

  /** Another container has the name now: nothing that was found out about the former one holds for it. */
  #meet(was: Sight, sight: Sight): void {
    this.#rest();
    this.#waitsForStart = false;
    this.#trouble = undefined;
    const former = idOf(was);
    if (former) this.#c.results.delete(this.#kind, former);
    if (sight.kind === "absent") return;
    this.#believe(sight.id, this.#knownBefore(sight) ?? initialOutcome[this.#kind]);
  }

  #believe(id: ContainerId, outcome: ProbeOutcome): void {
    this.#held = isLastWord(this.#kind, outcome);
    this.#c.results.set({ uid: this.#pod.metadata.uid, id, kind: this.#kind, outcome });
  }

  #isFound(sight: Sight): boolean {
    return sight.kind === "running" && this.#startOf(sight) < this.watchedSince;
  }

  #knownBefore(sight: Sight): ProbeOutcome | undefined {
    if (sight.kind !== "running" || this.#kind === "liveness" || !this.#isFound(sight)) return undefined;
    const known = this.#c.before(this.#kind, this.#pod, sight.id);
    // A container is not killed for what somebody else found.
    return known === "success" || this.#kind === "readiness" ? known : undefined;
  }

  #isStarted(id: ContainerId): boolean {
    if (this.#kind === "startup" || !this.#container.startupProbe) return true;
    return this.#c.results.get("startup", id) === "success";
  }

  #startOf({ id, startedAt }: Running): MonotonicTime {
    if (this.#started?.id !== id) this.#started = { id, at: monotonicOf(this.#c.clock, startedAt) };
    return this.#started.at;
  }

  #rhythmOf({ sandboxCreatedAt: of }: Running): MonotonicTime {
    if (this.#rhythm?.of !== of) this.#rhythm = { of, from: monotonicOf(this.#c.clock, of) };
    return this.#rhythm.from;
  }

  #firstTick(sight: Running, found: boolean): MonotonicTime {
    return firstTick({
      kind: this.#kind,
      now: this.#c.clock.monotonic(),
      containerStartedAt: this.#startOf(sight),
      rhythm: this.#rhythmOf(sight),
      found,
      initialDelayMs: (this.#probe.initialDelaySeconds ?? 0) * 1000,
      periodMs: this.#periodMs,
      random: this.#c.random,
    });
  }

  #rest(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#asking?.abort();
    this.#asking = undefined;
  }

  #arm(): void {
    if (this.#held || this.#asking || this.#cancelTimer || this.#ended || this.#sight.kind !== "running")
      return;
    const { clock } = this.#c;
    this.#cancelTimer = clock.after(Math.max(0, msUntil(clock, this.#tick)), () => {
      this.#cancelTimer = undefined;
      // A timer may be a little early.
      const now = latest(clock.monotonic(), this.#tick);
      this.#tick = nextTick(this.#tick, this.#periodMs, now);
      this.#ask();
    });
  }

  #ask(): void {
    if (this.#sight.kind !== "running") return;
    const { clock, logger, prober, observed, hostIps } = this.#c;
    const asking = new AbortController();
    this.#asking = asking;
    const began = clock.monotonic();
    const podIp = podAddress(this.#pod, observed.get(this.#pod.metadata.uid), hostIps());
    const take = (answer: ProbeAnswer) => {
      // Somebody ended this probe: there is another container, or none.
      if (this.#asking !== asking) return;
      this.#asking = undefined;
      try {
        this.#take(answer, msSince(clock, began) / 1000);
      } catch (error) {
        // Of whoever listens to results or events: no reason to stop asking.
        logger.error("Failed to report probe result", { ...this.#fields, err: messageOf(error) });
      }
      this.#arm();
    };
    const { signal } = asking;
    const answer = prober({
      probe: this.#probe,
      container: this.#container,
      id: this.#sight.id,
      podIp,
      signal,
    });
    this.#c.track(
      answer.then(take, (error: unknown) => {
        if (!isAbort(error)) take(probeError(messageOf(error)));
      }),
    );
  }

  #take(answer: ProbeAnswer, seconds: number): void {
    if (this.#sight.kind !== "running") return;
    this.#tell(answer);
    this.#trouble = this.#troubleOf(answer);
    if (answer.kind === "error") return;
    const outcome = answer.kind === "failure" ? "failure" : "success";
    this.#c.metrics.record(this.#of, outcome, seconds);
    this.#tally = counted(this.#tally, outcome);
    if (!believed(this.#tally, this.#probe)) return;
    this.#believe(this.#sight.id, outcome);
    if (this.#kind === "startup" && outcome === "success") this.#c.onStarted(this.#pod.metadata.uid);
  }

  #troubleOf(answer: ProbeAnswer): ProbeTrouble | undefined {
    if (answer.kind === "success" || answer.kind === "warning") return undefined;
    const said = answer.kind === "error" ? answer.message : answer.output;
    return {
      kind: this.#kind,
      container: this.#container.name,
      text: said.slice(0, longestTrouble),
      at: this.#c.clock.wall(),
      times: (this.#trouble?.times ?? 0) + 1,
    };
  }

  #tell(answer: ProbeAnswer): void {
    const { events, logger } = this.#c;
    const what = `${kindNames[this.#kind]} probe`;
    const { name } = this.#container;
    const fields = this.#fields;
    switch (answer.kind) {
      case "success":
        return logger.debug(3, `${what} succeeded`, fields);
      case "warning":
        return events.warning(this.#pod, "ProbeWarning", `${what} warning: ${answer.output}`, name);
      case "failure":
        logger.debug(1, `${what} failed`, { ...fields, output: answer.output });
        return events.warning(this.#pod, "Unhealthy", `${what} failed: ${answer.output}`, name);
      case "error": {
        const { state, message } = answer;
        logger.debug(1, `${what} errored`, { ...fields, err: message });
        const told = `${what} errored and resulted in ${state} state: ${message}`;
        return events.warning(this.#pod, "Unhealthy", told, name);
      }
      default:
        return answer satisfies never;
    }
  }
}
