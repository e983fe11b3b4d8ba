/**
 * The protocol between the console page and the node: URLs, headers and all JSON bodies. The page imports this file, so it has
 * no imports and no dependencies on Node.js.
 *
 * | request | response |
 * |---|---|
 * | `GET /console/` | the page (`index.html`); no session needed, it has no data of the node |
 * | `GET /console/assets/<name>-<hash>.<ext>` | a file of the page; immutable |
 * | `POST /console/api/login` | `LoginRequest` → `Login`: by the token of a link, or by client certificate or `Authorization: Bearer` |
 * | `POST /console/api/logout` | 204, ends the session |
 * | `GET /console/api/session` | `Session`; 401 without a session: the page shows how to log in (`LoginInfo` in the error) |
 * | `GET /console/api/stream` | SSE, see `StreamMessage` |
 * | `GET /console/api/pods/<uid>` | `PodDetail` |
 * | `GET /console/api/pods/<uid>/yaml` | `PodYaml` |
 * | `GET /console/api/pods/<uid>/usage` | `PodUsage`: its whole history |
 * | `GET /console/api/images` | `ImageList` |
 * | `GET /console/api/pods/<uid>/logs/<container>?follow=true&previous=true&timestamps=true&tailLines=500` | text/plain stream, as the kubelet API; further parameters: sinceSeconds, limitBytes, stream |
 * | `GET /console/api/pods/<uid>/exec/<container>?command=sh&command=-c&…&tty=true&stdin=true&stdout=true` | WebSocket, subprotocol `v5.channel.k8s.io`; with tty there is no stderr |
 * | `POST /console/api/apply` | `ApplyRequest` → `ApplyResult`, or an error with `problems` |
 * | `POST /console/api/pods/<uid>/delete` | `DeleteRequest` → `ChangeResult` |
 * | `POST /console/api/pods/<uid>/containers/<name>/restart` | `{}` → `ChangeResult` |
 *
 * Names in paths are percent-encoded. Anything else under /console is 404; a known path with another method is 405.
 * If the console is off, every path is 404.
 *
 * Every request below `/console/api` except `login` has the key of the session in the header `x-console-key`; a WebSocket, whose headers a page
 * cannot set, offers it as a further subprotocol, `kubelet-console-key.<key>`. There are no cookies: nothing that a browser adds
 * on its own is sufficient for any request.
 *
 * Link: `/console/#login=<token>`. Browsers do not send the fragment; the page removes it from its address and exchanges the token for a session.
 *
 * A key is valid for one run of the kubelet. The page keeps it in `localStorage`, for a reload and for other tabs. `Login.resumeKey` remains in the
 * memory of the page that logged in, as a key that cannot be exported: after a restart of the kubelet it derives the key for the new run,
 * HMAC-SHA-256 of `LoginInfo.challenge`, a space and the origin of the page, as base64url.
 *
 * Writes (every POST) need the content type application/json and an `Origin` of the console itself. WebSockets need that `Origin`; browsers send it.
 *
 * Times are milliseconds since the epoch, durations are milliseconds, CPU is in cores, sizes are bytes, rates are per second.
 * A number that is not known is null. All texts come from users' objects, logs and programs: never HTML.
 */

export const consolePath = "/console";
export const keyHeader = "x-console-key";
/** Followed by the key. */
export const keyProtocol = "kubelet-console-key.";
/** Followed by the token of the link. */
export const loginFragment = "#login=";

/** The body of each response with a status of 400 or above (except logs, which are text/plain). */
export interface ConsoleError {
  readonly error: {
    readonly code: ErrorCode;
    /** One line for users. */
    readonly message: string;
    /** 422 and 409 of apply. */
    readonly problems?: readonly ManifestProblem[];
    /** 401. */
    readonly login?: LoginInfo;
  };
}

export type ErrorCode =
  | "bad-request" // 400
  | "unauthenticated" // 401: no session, or it expired
  | "forbidden" // 403: the user may not do this
  | "cross-site" // 403: Origin, Sec-Fetch-Site or Host do not match
  | "not-found" // 404
  | "method" // 405
  | "conflict" // 409: for example the pod comes from a manifest file
  | "too-large" // 413
  | "media-type" // 415
  | "invalid" // 422: the manifest has errors
  | "busy" // 429: too many viewers or logins
  | "internal" // 500
  | "unavailable"; // 503: the container runtime does not respond, the node is stopping

export interface LoginInfo {
  /** "link": run `command` for a new link; "token": the user may enter a bearer token; a client certificate works with "token", too. */
  readonly method: "link" | "token";
  /** "kubelet console --node default" */
  readonly command: string;
  /** New for each run of the kubelet: with it, a page that has a resume key derives the key of its session. */
  readonly challenge?: string;
}

export interface LoginRequest {
  /** The token of the link. If it is absent, the client certificate or the bearer token of the request authenticates the user. */
  readonly token?: string;
}

export interface Login {
  readonly key: string;
  /** Never sent, never stored. Null: the session ends with the kubelet. */
  readonly resumeKey: string | null;
  readonly session: Session;
}

export interface Session {
  readonly user: string;
  readonly node: string;
  readonly expiresAt: number;
  /** For this user, on this node. What is false is not shown, or shown as disabled with `why`. */
  readonly may: {
    readonly logs: boolean;
    readonly exec: boolean;
    readonly apply: boolean;
    readonly deletePods: boolean;
    readonly restart: boolean;
  };
  /** Why changes are not possible; null if they are. */
  readonly readOnlyBecause: string | null;
}

/*
 * The stream. Each SSE message has an `event` (the `kind`), an `id` and `data` (the JSON of the message). After a request with
 * the last id in the header `last-event-id` the server continues with `changes`, or sends a `snapshot` if it cannot. The page replaces all state with a
 * snapshot. At most 5 messages a second; a slow viewer gets fewer, with the newest state. There is a message every 15 s at least, if
 * only an empty `changes` without an id: a page that received nothing for 40 s shows that it is disconnected. A page that gets a 401 queries /console/api/session.
 */
export type StreamMessage = Snapshot | Changes | Bye;

export interface Snapshot {
  readonly kind: "snapshot";
  /** The node's clock, to correct the browser's. */
  readonly now: number;
  readonly node: NodeState;
  readonly pods: readonly PodSummary[];
  readonly usage: UsageHistory;
  /** The newest last, at most 200. */
  readonly events: readonly PodEvent[];
}

/** Absent: unchanged. */
export interface Changes {
  readonly kind: "changes";
  readonly now: number;
  readonly node?: NodeState;
  /** New and changed pods. */
  readonly pods?: readonly PodSummary[];
  /** UIDs. */
  readonly removed?: readonly string[];
  /** Usually one. After a reconnect or for a slow viewer there may be several, or a gap. */
  readonly usage?: readonly UsageSample[];
  /** New events, and events whose count changed (same id: replace). */
  readonly events?: readonly PodEvent[];
}

/** The last message: no data follows. The page does not reconnect on its own after "session". */
export interface Bye {
  readonly kind: "bye";
  readonly reason: "session" | "stopping";
}

export type Health = "ok" | "warning" | "error";

export interface PodSummary {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** "file", "http", "applied", "api", or "none" for an orphaned pod. */
  readonly source: string;
  /** "Pending", "Running", "Succeeded", "Failed", "Unknown" or "Terminating". */
  readonly phase: string;
  /** Like the STATUS column of kubectl: "Running", "CrashLoopBackOff", "Completed", "ImagePullBackOff", … */
  readonly status: string;
  readonly health: Health;
  readonly ready: boolean;
  readonly readyContainers: number;
  readonly totalContainers: number;
  readonly restarts: number;
  readonly ip: string;
  readonly startedAt: number | null;
  /** When the pod was created in the API, or received by the kubelet. */
  readonly createdAt: number | null;
  /** A static pod, or one with a system priority: the node depends on it. */
  readonly critical: boolean;
  readonly qosClass: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Why it is not ready, in one line; null if it is ready or completed. */
  readonly cause: string | null;
  /** The step in progress, in one line, and when it started. */
  readonly waitsFor: { readonly text: string; readonly since: number; readonly until: number | null } | null;
  /** Increases with each change of the pod or its timeline. A page that shows the detail of the pod then fetches it again. */
  readonly revision: number;
}

export interface PodDetail {
  readonly revision: number;
  readonly now: number;
  readonly summary: PodSummary;
  readonly explanation: Explanation;
  /** Steps of start, restart and end, the oldest first; the last may be in progress. */
  readonly timeline: readonly TimelineStep[];
  /** Older steps that are no longer known. */
  readonly droppedSteps: number;
  /** How the pod became ready for the first time. Null if it was never ready, or ran before the kubelet started. */
  readonly start: {
    readonly readyAt: number;
    readonly tookMs: number;
    readonly steps: readonly { readonly step: string; readonly ms: number }[];
  } | null;
  /** Init containers first. */
  readonly containers: readonly ContainerDetail[];
  readonly volumes: readonly VolumeDetail[];
  readonly conditions: readonly Condition[];
  readonly events: readonly PodEvent[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly priority: number | null;
  readonly restartPolicy: string;
  readonly hostNetwork: boolean;
  readonly serviceAccount: string;
  /** "ReplicaSet/web-5d8", or "" */
  readonly controlledBy: string;
  /** Whether `delete` can succeed, and if not why ("comes from the file /etc/kubernetes/manifests/web.yaml: remove the file"). */
  readonly mayDelete: boolean;
  readonly deleteHint: string;
}

export interface Explanation {
  readonly cause: string | null;
  /** The text that the cause was read from; null if the cause contains it. */
  readonly raw: string | null;
  /** More lines: failed probes, last exits, unmounted volumes. */
  readonly details: readonly string[];
  readonly lastError: { readonly text: string; readonly at: number } | null;
  readonly waitsFor: {
    readonly step: string;
    readonly text: string;
    readonly container: string | null;
    readonly since: number;
    readonly until: number | null;
  } | null;
  /** Bytes of the image that is being pulled; null if none is, or if they are not known. */
  readonly pull: { readonly image: string; readonly done: number; readonly total: number } | null;
  /** The next thing to try, in one sentence; null if there is nothing to do. */
  readonly next: string | null;
}

export interface TimelineStep {
  /** "admission", "network", "volumes", "sandbox", "image", "container", "hook", "init", "backoff", "startup", "readiness", "stop", … (docs/EXPLAIN.md) */
  readonly step: string;
  /** The same for each attempt of a step. */
  readonly text: string;
  readonly container: string | null;
  readonly startedAt: number;
  /** Null: in progress. */
  readonly endedAt: number | null;
  /** When it ends on its own or is retried, if known. */
  readonly until: number | null;
  /** The kubelet only waits for the next attempt. */
  readonly isBackOff: boolean;
  readonly failed: boolean;
  /** Why it failed, in one sentence; null if it did not, or if that is the cause of the pod's state. */
  readonly error: string | null;
}

export interface ContainerDetail {
  readonly name: string;
  readonly kind: "container" | "init" | "sidecar" | "ephemeral";
  readonly image: string;
  /** Without scheme; "" if it was never created. */
  readonly id: string;
  readonly state: "waiting" | "running" | "terminated";
  /** Reason of waiting or terminated: "CrashLoopBackOff", "Completed", "OOMKilled"; "" if running. */
  readonly reason: string;
  readonly message: string;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restarts: number;
  /** The run before; null if there was none. Then `previous` logs exist. */
  readonly last: {
    readonly reason: string;
    readonly message: string;
    readonly exitCode: number;
    readonly startedAt: number | null;
    readonly finishedAt: number | null;
  } | null;
  readonly probes: readonly ProbeDetail[];
  readonly resources: {
    readonly cpuRequest: number | null;
    readonly cpuLimit: number | null;
    readonly memoryRequest: number | null;
    readonly memoryLimit: number | null;
    /** The newest sample. */
    readonly cpu: number | null;
    readonly memory: number | null;
  };
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  readonly mounts: readonly { readonly volume: string; readonly path: string; readonly readOnly: boolean }[];
  readonly tty: boolean;
}

export interface ProbeDetail {
  readonly kind: "startup" | "liveness" | "readiness";
  /** "HTTP GET :8080/healthz", "exec cat /tmp/ok", "TCP :5432", "gRPC :9000" */
  readonly text: string;
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  /** Null: no result yet. */
  readonly result: "success" | "failure" | null;
  /** The number of consecutive failures. */
  readonly failures: number;
  readonly lastFailure: { readonly text: string; readonly at: number } | null;
}

export interface VolumeDetail {
  readonly name: string;
  /** "ConfigMap", "Secret", "EmptyDir", "HostPath", "PersistentVolumeClaim", "Projected", "DownwardAPI", "CSI", … */
  readonly kind: string;
  /** Name of the object or PVC, or path; "" if there is none. Never content. */
  readonly detail: string;
  /** Null if the pod does not wait for it; otherwise why it is not mounted. */
  readonly problem: string | null;
}

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly since: number | null;
}

export interface PodEvent {
  readonly id: number;
  /** "" for events of the node. */
  readonly uid: string;
  /** "namespace/name", or the node's name. */
  readonly object: string;
  readonly container: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface PodYaml {
  readonly uid: string;
  /** Spec and status. It refers to Secrets but never contains their values. */
  readonly yaml: string;
}

export interface NodeState {
  readonly name: string;
  readonly health: Health;
  /** Why the node is not ready or under pressure, in one line; null if all is well. */
  readonly cause: string | null;
  readonly conditions: readonly Condition[];
  /** Eviction thresholds with the distance to them. Amounts are texts: "1.2Gi", "83%". */
  readonly thresholds: readonly {
    readonly signal: string;
    readonly kind: "hard" | "soft";
    readonly value: string;
    readonly threshold: string | null;
    readonly available: string | null;
    readonly capacity: string | null;
    readonly met: boolean;
    readonly evictsInSeconds: number | null;
  }[];
  readonly lastEviction: { readonly pod: string; readonly why: string; readonly at: number } | null;
  /** "cpu", "memory", "ephemeral-storage", "pods", and extended resources. CPU in cores, storage in bytes, others are counts. */
  readonly resources: readonly {
    readonly name: string;
    readonly capacity: number | null;
    readonly allocatable: number | null;
    /** Sum of the requests of the node's pods. */
    readonly requested: number;
    readonly used: number | null;
  }[];
  readonly versions: {
    readonly kubelet: string;
    readonly kernel: string;
    readonly os: string;
    readonly architecture: string;
    readonly cgroups: string;
    /** The version of Node.js. */
    readonly node: string;
  };
  readonly addresses: readonly string[];
  readonly runtime: {
    readonly name: string;
    readonly version: string;
    readonly endpoint: string;
    readonly state: "unknown" | "up" | "not-ready" | "unavailable";
    readonly problem: string | null;
  };
  readonly api: {
    /** "none": a node without API server. */
    readonly state: "none" | "connected" | "disconnected";
    readonly server: string;
    readonly problem: string | null;
  };
  readonly certificates: readonly {
    readonly name: "serving" | "client";
    readonly subject: string;
    readonly notBefore: number;
    readonly notAfter: number;
    readonly health: Health;
  }[];
  /** Null until they are known. The list: `GET /console/api/images`. */
  readonly images: { readonly count: number; readonly bytes: number } | null;
  /** The resource usage of the kubelet's own process. */
  readonly agent: {
    readonly pid: number;
    readonly startedAt: number;
    readonly cpu: number | null;
    readonly memory: number | null;
    readonly viewers: number;
  };
  readonly bootedAt: number;
}

export interface ImageList {
  readonly count: number;
  readonly bytes: number;
  /** The largest first, at most 500. */
  readonly items: readonly {
    readonly name: string;
    readonly id: string;
    readonly bytes: number;
    readonly pinned: boolean;
  }[];
}

/**
 * CPU in cores, memory (working set) and disk in bytes, network in bytes per second. CPU and memory are sampled every 5 s, disk and network every
 * 15 s: the samples between repeat them.
 */
export interface Usage {
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly disk: number | null;
  readonly rx: number | null;
  readonly tx: number | null;
}

export interface UsageSample {
  readonly at: number;
  readonly node: Usage;
  /** By UID. */
  readonly pods: Readonly<Record<string, Usage>>;
}

/**
 * For uPlot: `times`, and one array per series; null: no value. At most one hour, from the first viewer on: nothing is sampled while no page
 * is open. The arrays of pods are shorter: they belong to the last of `times`, at most 60.
 */
export interface UsageHistory {
  readonly intervalMs: number;
  readonly times: readonly number[];
  readonly node: UsageSeries;
  /** By UID. */
  readonly pods: Readonly<Record<string, UsageSeries>>;
}

/** All arrays have the same length. */
export interface PodUsage {
  readonly intervalMs: number;
  readonly times: readonly number[];
  readonly series: UsageSeries;
}

export interface UsageSeries {
  readonly cpu: readonly (number | null)[];
  readonly memory: readonly (number | null)[];
  readonly disk: readonly (number | null)[];
  readonly rx: readonly (number | null)[];
  readonly tx: readonly (number | null)[];
}

export interface ApplyRequest {
  /** YAML or JSON; one or more pods, separated by "---". At most 1 MiB and 50,000 YAML tokens. */
  readonly manifest: string;
  /** True: only validate. */
  readonly dryRun?: boolean;
}

export interface ApplyResult {
  readonly results: readonly {
    readonly namespace: string;
    readonly name: string;
    /** "valid" is the result of a dry run. */
    readonly result: "created" | "replaced" | "unchanged" | "valid";
    /** "" for a dry run. */
    readonly uid: string;
  }[];
  readonly warnings: readonly ManifestProblem[];
}

export interface ManifestProblem {
  /** In the text that was sent, from 1; null if unknown. */
  readonly line: number | null;
  readonly column: number | null;
  /** "spec.containers[0].image"; "" if it is about the whole document. */
  readonly field: string;
  readonly message: string;
}

export interface DeleteRequest {
  /** Undefined: the pod's own grace period. */
  readonly graceSeconds?: number;
}

export interface ChangeResult {
  /** The effect, in one sentence: "Container web is stopping and will be started again". */
  readonly message: string;
}
