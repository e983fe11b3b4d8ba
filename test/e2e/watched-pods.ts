import { type ClientRequest, request } from "node:http";
import { createInterface } from "node:readline";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";

/** Watches the pods of an agent from its start, so that short-lived states are recorded too. */
export class WatchedPods {
  readonly #socketPath: string;
  readonly #reasons = new Map<string, Set<string>>();
  readonly #ready = new Map<string, Set<string>>();
  #request: ClientRequest | undefined;
  #stopped = false;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  start(): void {
    if (this.#stopped) return;
    const again = () => void setTimeout(() => this.start(), 10).unref();
    this.#request = request({ socketPath: this.#socketPath, path: "/pods?watch" }, (response) => {
      const lines = createInterface(response);
      lines.on("line", (line) => {
        for (const row of (JSON.parse(line) as { pods: PodRow[] }).pods) this.#record(row);
      });
      lines.on("error", () => {});
      response.on("error", () => {}).on("close", again);
    });
    this.#request.on("error", again).end();
  }

  stop(): void {
    this.#stopped = true;
    this.#request?.destroy();
  }

  /** Clears the recorded numbers of ready and started containers and restarts. */
  clearReady(): void {
    this.#ready.clear();
  }

  readyOf(pod: string): string[] {
    return [...(this.#ready.get(pod) ?? [])];
  }

  /** All reasons for which a container of the pod was waiting so far. */
  reasonsOf(pod: string): ReadonlySet<string> {
    return this.#reasons.get(pod) ?? new Set();
  }

  #record(row: PodRow): void {
    // An agent that has just started has no status yet.
    if (!row.status) return;
    const ready = this.#ready.get(row.name) ?? new Set();
    this.#ready.set(row.name, ready);
    const { containerStatuses = [], initContainerStatuses = [] } = row.status;
    const started = [...initContainerStatuses, ...containerStatuses].filter((c) => c.started).length;
    ready.add(`${row.ready} ready, ${started} started, ${row.restarts} restarts`);
    const known = this.#reasons.get(row.name) ?? new Set();
    this.#reasons.set(row.name, known);
    for (const { state } of containerStatuses) if (state?.waiting?.reason) known.add(state.waiting.reason);
  }
}
