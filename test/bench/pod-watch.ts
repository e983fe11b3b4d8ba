import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { Reflector } from "../../src/lib/clients/kube/reflector.ts";
import type { KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";
import { benchNode, podsPath } from "./bench-api.ts";
import { preciseNow } from "./statistics.ts";
import { longestWaitMs } from "./until.ts";

interface WithConditions {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** When pods and the node became Ready, and when pods were gone, as seen by a client of the API server. */
export class PodWatch {
  readonly #stop = new AbortController();
  readonly #watches: Reflector<WithConditions>[];
  readonly #ready = new Map<string, number>();
  readonly #gone = new Map<string, number>();
  readonly #known = new Set<string>();
  #nodeReadyAt: number | undefined;
  #changed = Promise.withResolvers<void>();
  #failure: Error | undefined;

  constructor(transport: KubeTransport) {
    const common = { transport, clock: systemClock, logger: silentLogger, streamList: false };
    const transform = (raw: unknown) => raw as WithConditions;
    this.#watches = [
      new Reflector<WithConditions>({
        ...common,
        transform,
        name: "pods",
        path: podsPath,
        onChange: ({ type, object }) => this.#onPod(object, type === "deleted"),
      }),
      new Reflector<WithConditions>({
        ...common,
        transform,
        name: "nodes",
        path: "/api/v1/nodes",
        fieldSelector: `metadata.name=${benchNode}`,
        onChange: ({ type, object }) => this.#onNode(object, type === "deleted"),
      }),
    ];
  }

  async start(): Promise<void> {
    for (const watch of this.#watches) await watch.start(this.#stop.signal);
    await Promise.all(this.#watches.map((watch) => watch.synced));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#watches.map((watch) => watch.done));
  }

  /** The time at which each pod became Ready. */
  async ready(names: readonly string[]): Promise<number[]> {
    await this.#until(`${names.length} pods are Ready`, () => names.every((name) => this.#ready.has(name)));
    return names.map((name) => this.#ready.get(name)!);
  }

  async gone(names: readonly string[]): Promise<number[]> {
    await this.#until(`${names.length} pods are gone`, () => names.every((name) => this.#gone.has(name)));
    return names.map((name) => this.#gone.get(name)!);
  }

  async nodeReady(): Promise<number> {
    await this.#until("the node is Ready", () => this.#nodeReadyAt !== undefined);
    return this.#nodeReadyAt!;
  }

  async nodeGone(): Promise<void> {
    await this.#until("the node is gone", () => this.#nodeReadyAt === undefined);
  }

  /** Makes all waits fail: the awaited states cannot be reached. */
  fail(error: Error): void {
    this.#failure = error;
    this.#notify();
  }

  /** Names of pods that exist. */
  get existing(): string[] {
    return [...this.#known];
  }

  #onPod(pod: WithConditions, isGone: boolean): void {
    const { name } = pod.metadata;
    if (isGone) {
      this.#known.delete(name);
      this.#ready.delete(name);
      this.#gone.set(name, preciseNow());
    } else {
      this.#known.add(name);
      this.#gone.delete(name);
      if (!isReady(pod)) this.#ready.delete(name);
      else if (!this.#ready.has(name)) this.#ready.set(name, preciseNow());
    }
    this.#notify();
  }

  #onNode(node: WithConditions, isGone: boolean): void {
    if (isGone || !isReady(node)) this.#nodeReadyAt = undefined;
    else this.#nodeReadyAt ??= preciseNow();
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async #until(what: string, isTrue: () => boolean): Promise<void> {
    const late = Promise.withResolvers<never>();
    const seconds = longestWaitMs / 1000;
    const timer = setTimeout(() => late.reject(new Error(`${what}: not within ${seconds} s`)), longestWaitMs);
    try {
      while (!isTrue()) {
        if (this.#failure) throw this.#failure;
        await Promise.race([this.#changed.promise, late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function isReady({ status }: WithConditions): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
