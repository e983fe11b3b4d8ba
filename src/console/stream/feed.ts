import { randomBytes } from "node:crypto";
import { whenAborted } from "../../lib/base/abort.ts";
import { type Clock, msSince } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { epochMs, type MonotonicTime } from "../../lib/base/time.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { ConsoleEvent, ConsoleNode } from "../console-node.ts";
import type {
  Changes,
  NodeState,
  PodEvent,
  PodSummary,
  PodUsage,
  Snapshot,
  StreamMessage,
  UsageSample,
} from "../protocol.ts";
import { nodeState } from "../views/node-state.ts";
import { podSummary } from "../views/pod-summary.ts";
import { RecentEvents } from "./recent-events.ts";
import { UsageRings } from "./usage-history.ts";
import { type Sample, UsageSampler } from "./usage-sampler.ts";

export interface FeedOptions {
  readonly node: ConsoleNode;
  readonly clock: Clock;
  readonly logger: Logger;
}

const sampleEveryMs = 5000;
/** One hour. */
const sampleSlots = 720;
const imagesEveryMs = 60_000;
const certificateEveryMs = 60_000;
/** How long the feed continues without a viewer: a page that reconnects continues where it was. */
const lingerMs = 30_000;
const maxRemoved = 1000;
const maxPendingSamples = 12;
/** Five messages a second. */
const pauseMs = 200;
/** A change rarely comes alone; and the handlers of an event must not wait for a message. */
const collectMs = 20;

/** A message, and the position in the stream after it. */
export interface FeedMessage {
  readonly id: string;
  readonly message: Exclude<StreamMessage, { kind: "bye" }>;
  /** The message as a server-sent event. All viewers at the same position share it. */
  readonly bytes: Buffer;
}

/** Called when there is a message; false if the viewer did not take it and has to be called again. */
export type OnMessage = () => boolean;

/** State that exists while the console is viewed. */
interface Active {
  readonly epoch: string;
  /** Increases with each change. */
  version: number;
  /** When each pod last changed. */
  readonly pods: Map<PodUid, number>;
  readonly summaries: Map<PodUid, { readonly version: number; readonly summary: PodSummary }>;
  readonly removed: Map<PodUid, number>;
  /** Changes up to this version are no longer known. */
  forgotten: number;
  nodeVersion: number;
  node: { readonly version: number; readonly state: NodeState } | undefined;
  readonly samples: { readonly version: number; readonly sample: UsageSample }[];
  readonly events: Map<number, { readonly version: number; readonly event: PodEvent }>;
  readonly rings: UsageRings;
  last: Sample | undefined;
  images: NodeState["images"];
  clientCertificate: string | undefined;
  readonly stop: AbortController;
}

/**
 * The changes of the node, for any number of viewers. Changes only mark pods; what a viewer gets is computed when it is sent, once for all
 * viewers. Without a viewer nothing is marked, computed or sampled: only the newest Kubernetes events are kept.
 */
export class Feed {
  readonly #o: FeedOptions;
  readonly #recent: RecentEvents;
  readonly #viewers = new Set<OnMessage>();
  #active: Active | undefined;
  #cancelLinger: (() => void) | undefined;
  #cancelWake: (() => void) | undefined;
  #lastWake: MonotonicTime | undefined;
  /** The newest message, and the position that it continues. */
  #newest: { readonly after: string; readonly message: FeedMessage } | undefined;

  constructor(options: FeedOptions) {
    this.#o = options;
    this.#recent = new RecentEvents(options.node.name);
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  podChanged(uid: PodUid): void {
    if (!this.#active) return;
    this.#active.pods.set(uid, this.#next());
    this.wake();
  }

  podRemoved(uid: PodUid): void {
    const active = this.#active;
    if (!active) return;
    active.pods.delete(uid);
    active.summaries.delete(uid);
    active.rings.removePod(uid);
    active.removed.set(uid, this.#next());
    if (active.removed.size > maxRemoved) {
      const [[oldest, version] = []] = active.removed;
      if (oldest !== undefined) active.removed.delete(oldest);
      active.forgotten = Math.max(active.forgotten, version ?? 0);
    }
    this.wake();
  }

  nodeChanged(): void {
    if (!this.#active) return;
    this.#active.nodeVersion = this.#next();
    this.wake();
  }

  event(event: ConsoleEvent): void {
    const changed = this.#recent.add(event, this.#now());
    const active = this.#active;
    if (!active) return;
    active.events.delete(changed.id);
    active.events.set(changed.id, { version: this.#next(), event: changed });
    const known = new Set(this.#recent.all().map(({ id }) => id));
    for (const id of active.events.keys()) if (!known.has(id)) active.events.delete(id);
    this.wake();
  }

  /** `onMessage` is called soon after changes, at most five times a second, until the returned function is called. */
  subscribe(onMessage: OnMessage): () => void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    this.#viewers.add(onMessage);
    if (!this.#active) this.#start();
    else this.nodeChanged();
    return () => {
      if (!this.#viewers.delete(onMessage) || this.#viewers.size > 0) return;
      this.#cancelWake?.();
      this.#cancelWake = undefined;
      if (this.#active) this.#cancelLinger = this.#o.clock.after(lingerMs, () => this.stop());
    };
  }

  /** Everything since that position, or all if it is unknown; undefined if nothing has changed. */
  since(id: string | undefined): FeedMessage | undefined {
    const active = this.#active;
    if (!active) return undefined;
    const [epoch, text] = (id ?? "").split(":");
    const version = Number(text);
    const next = `${active.epoch}:${active.version}`;
    const isKnown = epoch === active.epoch && version >= active.forgotten && version <= active.version;
    if (isKnown && version === active.version) return undefined;
    const after = isKnown ? `${epoch}:${version}` : "";
    if (this.#newest?.after === after && this.#newest.message.id === next) return this.#newest.message;
    const message = framed(next, isKnown ? this.#changes(active, version) : this.#snapshot(active));
    this.#newest = { after, message };
    return message;
  }

  /** Calls all viewers soon and at the same time, so that they get the same message. */
  wake(): void {
    if (this.#cancelWake || this.#viewers.size === 0) return;
    const { clock } = this.#o;
    const ago = this.#lastWake === undefined ? pauseMs : msSince(clock, this.#lastWake);
    this.#cancelWake = clock.after(Math.max(collectMs, pauseMs - ago), () => {
      this.#cancelWake = undefined;
      this.#lastWake = clock.monotonic();
      const taken = [...this.#viewers].map((onMessage) => onMessage());
      if (taken.includes(false)) this.wake();
    });
  }

  /** The revision of a pod; 0 while no page is open. */
  revision(uid: PodUid): number {
    return this.#active?.pods.get(uid) ?? 0;
  }

  eventsOf(uid: string): PodEvent[] {
    return this.#recent.of(uid);
  }

  containers(uid: string): NonNullable<ReturnType<Sample["containers"]["get"]>> {
    return this.#active?.last?.containers.get(uid) ?? new Map();
  }

  usageOf(uid: string): PodUsage {
    return this.#active?.rings.pod(uid) ?? new UsageRings(0, sampleEveryMs).pod(uid);
  }

  stop(): void {
    this.#cancelLinger?.();
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    this.#newest = undefined;
    this.#active?.stop.abort();
    this.#active = undefined;
  }

  #start(): void {
    const active: Active = {
      epoch: randomBytes(6).toString("hex"),
      version: 1,
      pods: new Map(this.#o.node.uids().map((uid) => [uid, 1])),
      summaries: new Map(),
      removed: new Map(),
      forgotten: 1,
      nodeVersion: 1,
      node: undefined,
      samples: [],
      events: new Map(),
      rings: new UsageRings(sampleSlots, sampleEveryMs),
      last: undefined,
      images: null,
      clientCertificate: undefined,
      stop: new AbortController(),
    };
    this.#active = active;
    const { signal } = active.stop;
    const sampler = new UsageSampler(this.#o.node, this.#o.clock);
    this.#repeat("usage", sampleEveryMs, signal, async () => {
      const sample = await sampler.take();
      if (!signal.aborted) this.#sampled(active, sample);
    });
    this.#repeat("images", imagesEveryMs, signal, async () => {
      const images = await this.#o.node.images();
      active.images = { count: images.length, bytes: images.reduce((sum, { bytes }) => sum + bytes, 0) };
    });
    this.#repeat("client certificate", certificateEveryMs, signal, async () => {
      active.clientCertificate = await this.#o.node.clientCertificate();
    });
  }

  /** Immediately, and then again after each pause; a failure is logged and the next attempt is made as usual. */
  #repeat(what: string, everyMs: number, signal: AbortSignal, work: () => Promise<void>): void {
    const { clock, logger } = this.#o;
    let cancel = () => {};
    whenAborted(signal, () => cancel());
    const run = () => {
      work()
        .catch((error: unknown) =>
          logger.debug(2, "Failed to collect data for the console", { what, err: messageOf(error) }),
        )
        .finally(() => {
          if (!signal.aborted) cancel = clock.after(everyMs, run);
        });
    };
    run();
  }

  #sampled(active: Active, sample: Sample): void {
    active.last = sample;
    const { at, node, pods } = sample.usage;
    // Statistics may still have a pod that is gone: its history would never be removed.
    const known = Object.entries(pods).filter(([uid]) => active.pods.has(uid as PodUid));
    const usage: UsageSample = { at, node, pods: Object.fromEntries(known) };
    active.rings.add(usage);
    active.samples.push({ version: this.#next(), sample: usage });
    if (active.samples.length > maxPendingSamples) active.samples.shift();
    active.nodeVersion = active.version;
    this.wake();
  }

  #next(): number {
    return this.#active ? ++this.#active.version : 0;
  }

  #now(): number {
    return epochMs(this.#o.clock.wall());
  }

  #snapshot(active: Active): Snapshot {
    return {
      kind: "snapshot",
      now: this.#now(),
      node: this.#node(active),
      pods: [...active.pods.keys()].flatMap((uid) => this.#summary(active, uid)),
      usage: active.rings.history(),
      events: this.#recent.all(),
    };
  }

  #changes(active: Active, version: number): Changes {
    const after = <K, V>(all: Map<K, V>, of: (value: V) => number) =>
      [...all].filter(([, value]) => of(value) > version);
    const pods = after(active.pods, (v) => v).flatMap(([uid]) => this.#summary(active, uid));
    const removed = after(active.removed, (v) => v).flatMap(([uid]) => (active.pods.has(uid) ? [] : [uid]));
    const usage = active.samples.filter((s) => s.version > version).map(({ sample }) => sample);
    const events = after(active.events, (e) => e.version).map(([, { event }]) => event);
    return {
      kind: "changes",
      now: this.#now(),
      ...(active.nodeVersion > version && { node: this.#node(active) }),
      ...(pods.length > 0 && { pods }),
      ...(removed.length > 0 && { removed }),
      ...(usage.length > 0 && { usage }),
      ...(events.length > 0 && { events }),
    };
  }

  /** Computed once for each change, however many viewers there are. */
  #summary(active: Active, uid: PodUid): PodSummary[] {
    const version = active.pods.get(uid) ?? 0;
    const known = active.summaries.get(uid);
    if (known?.version === version) return [known.summary];
    const shown = this.#o.node.pod(uid);
    if (!shown) {
      // A late event of a pod that is gone.
      active.pods.delete(uid);
      active.rings.removePod(uid);
      active.removed.set(uid, version);
      return [];
    }
    const summary = podSummary(shown, version);
    active.summaries.set(uid, { version, summary });
    return [summary];
  }

  #node(active: Active): NodeState {
    const { nodeVersion: version, images, clientCertificate, last } = active;
    if (active.node?.version === version) return active.node.state;
    const { cpu = null, memory = null, disk = null } = last?.usage.node ?? {};
    const state = nodeState({
      node: this.#o.node,
      now: this.#now(),
      images,
      clientCertificate,
      viewers: this.#viewers.size,
      used: { cpu, memory, "ephemeral-storage": disk },
      agent: last?.agent ?? { cpu: null, memory: null },
    });
    active.node = { version, state };
    return state;
  }
}

function framed(id: string, message: FeedMessage["message"]): FeedMessage {
  const text = `event: ${message.kind}\nid: ${id}\ndata: ${JSON.stringify(message)}\n\n`;
  return { id, message, bytes: Buffer.from(text) };
}
