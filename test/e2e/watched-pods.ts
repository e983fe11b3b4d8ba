import { type ClientRequest, request } from "node:http";
import { createInterface } from "node:readline";
import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";

/** Watches the overview of an agent from the start, so that short-lived states are seen too. */
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
        for (const row of (JSON.parse(line) as { pods: PodRow[] }).pods) this.#note(row);
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

  /** From now on: in how far a pod was ready, in all states that it was seen in, and which of its containers had started. */
  forgetReady(): void {
    this.#ready.clear();
  }

  readyOf(pod: string): string[] {
    return [...(this.#ready.get(pod) ?? [])];
  }

  /** All reasons for which a container of the pod was waiting so far. */
  reasonsOf(pod: string): ReadonlySet<string> {
    return this.#reasons.get(pod) ?? new Set();
  }

  #note(row: PodRow): void {
    // An agent that has just started knows nothing yet, and reports that.
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
