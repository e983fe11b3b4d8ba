import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { PodExplanation } from "../kubelet/explain/pod-explanation.ts";
import type { ManifestPutResult } from "../kubelet/server/manifests/applied-manifest.ts";
import type { Pod, PodStatus, PodUid } from "../lib/model/pod.ts";
import type { Summary } from "../lib/model/stats-summary.ts";
import type { ThresholdState } from "../lib/model/threshold-state.ts";

/*
 * The interface between the agent and the node console, which import only types of each other: the agent implements `ConsoleNode` and
 * serves a `NodeConsole`; the console implements that, and reads everything from the node. All reads are of state in memory unless
 * they return a promise.
 */

/** A request for a path of the console. */
export interface ConsoleExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborted when the client disconnects, or the server stops. */
  readonly signal: AbortSignal;
}

export interface ConsoleUpgrade extends ConsoleExchange {
  readonly socket: Duplex;
  /** Data that was already read after the request head. */
  readonly head: Buffer;
}

/** The console, for the agent that serves it. The methods for changes do nothing while no page is open. */
export interface NodeConsole {
  handle(exchange: ConsoleExchange): Promise<void>;
  upgrade(exchange: ConsoleUpgrade): Promise<void>;
  podChanged(uid: PodUid): void;
  podRemoved(uid: PodUid): void;
  nodeChanged(): void;
  event(event: ConsoleEvent): void;
  /** The path of a link that logs in once: "/console/#login=…". */
  link(): string;
  /** Ends all streams and sessions. */
  stop(): void;
}

/** A Kubernetes event, as recorded by a component of the agent. */
export interface ConsoleEvent {
  /** Undefined for an event of the node. */
  readonly pod?: { readonly uid: string; readonly namespace: string; readonly name: string };
  readonly container?: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface ConsoleUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A permission on the node, as for the other paths of the kubelet API. */
export interface ConsolePermission {
  readonly verb: string;
  /** One of them is sufficient. */
  readonly subresources: readonly string[];
}

/** Authentication and authorization of the kubelet API. */
export interface ConsoleAccess {
  /** Authenticates by client certificate or bearer token. Undefined if the request has no valid one. Never anonymous. */
  authenticate(request: IncomingMessage): Promise<ConsoleUser | undefined>;
  allows(user: ConsoleUser, permission: ConsolePermission): Promise<boolean>;
}

/** The applied manifests. */
export interface ConsoleManifests {
  list(): readonly { readonly name: string; readonly pods: readonly Pod[] }[];
  put(name: string, bytes: Uint8Array): Promise<ManifestPutResult>;
  /** The result that `put` would have. */
  check(name: string, bytes: Uint8Array): Promise<ManifestPutResult>;
  remove(name: string): Promise<boolean>;
}

/** Changes that users of the console may make. */
export interface ConsoleChanges {
  readonly manifests: ConsoleManifests;
  /** Deletes a pod from the API server; undefined if there is none. */
  readonly deleteApiPod: ((pod: Pod, graceSeconds: number | undefined) => Promise<void>) | undefined;
  /** Stops the running container; its restart policy decides what follows. False if it does not run. */
  stopContainer(uid: PodUid, container: string): Promise<boolean>;
}

export interface ConsolePod {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
  /** Undefined for an orphaned pod. */
  readonly pod: Pod | undefined;
  readonly status: PodStatus | undefined;
  readonly explanation: PodExplanation;
  readonly terminating: boolean;
}

export interface ConsoleProbe {
  readonly container: string;
  readonly kind: "startup" | "liveness" | "readiness";
  readonly outcome: "success" | "failure" | "unknown" | undefined;
  readonly failures: number;
  readonly lastFailure: { readonly text: string; readonly at: number } | undefined;
}

/** The state of the node; amounts are quantities. */
export interface ConsoleNodeState {
  readonly cause: string | null;
  readonly notReady: readonly string[];
  readonly pressure: readonly string[];
  /** The conditions that the API server has; empty without one. */
  readonly published: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastTransitionTime: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
  readonly thresholds: readonly ThresholdState[];
  readonly lastEviction: { readonly pod: string; readonly why: string; readonly at: string } | null;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  readonly runtime: {
    readonly name: string;
    readonly version: string;
    readonly endpoint: string;
    readonly state: "unknown" | "up" | "not-ready" | "unavailable";
    readonly problem: string | undefined;
  };
  /** Undefined without an API server. */
  readonly api: { readonly server: string; readonly problem: string | undefined } | undefined;
  /** PEM, of those in memory. */
  readonly certificates: readonly { readonly name: "serving" | "client"; readonly certificate: string }[];
}

export interface ConsoleImage {
  readonly name: string;
  readonly id: string;
  readonly bytes: number;
  readonly pinned: boolean;
}

export interface ConsoleVersions {
  readonly kubelet: string;
  readonly kernel: string;
  readonly os: string;
  readonly architecture: string;
  readonly cgroups: string;
  readonly node: string;
}

/** Takes paths of the kubelet API, but checks no permissions: the caller has checked them. */
export interface ConsoleStreams {
  logs(exchange: ConsoleExchange, of: ConsoleContainer, query: URLSearchParams): Promise<void>;
  exec(exchange: ConsoleUpgrade, of: ConsoleContainer, query: URLSearchParams): Promise<void>;
}

export interface ConsoleContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
}

/** The node as the console reads it. */
export interface ConsoleNode {
  readonly name: string;
  readonly versions: ConsoleVersions;
  readonly bootedAt: number;
  readonly startedAt: number;
  uids(): PodUid[];
  pod(uid: PodUid): ConsolePod | undefined;
  /** The pods that use resources: neither completed nor failed. */
  activePods(): readonly Pod[];
  probes(uid: PodUid): readonly ConsoleProbe[];
  state(): ConsoleNodeState;
  /** CPU and memory, or with `whole` also disk and network. */
  usage(whole: boolean): Promise<Summary>;
  process(): Promise<{ readonly cpuSeconds: number; readonly residentBytes: number }>;
  images(): Promise<readonly ConsoleImage[]>;
  /** PEM; undefined if the node has none. */
  clientCertificate(): Promise<string | undefined>;
  readonly streams: ConsoleStreams;
  /** Undefined: the node cannot be changed from the console; `whyReadOnly` explains it. */
  readonly changes: ConsoleChanges | undefined;
  readonly whyReadOnly: string;
  /** Undefined: only links log in, and their users may do everything. */
  readonly access: ConsoleAccess | undefined;
  /** Where it is served: the origins that are its own, without a trailing slash. */
  origins(): readonly string[];
  /** The command that prints a new link. */
  readonly linkCommand: string;
}
