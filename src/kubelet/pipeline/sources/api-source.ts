import { whenAborted } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { type Health, healthy } from "../../../lib/base/component.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { Reflector } from "../../../lib/clients/kube/reflector.ts";
import type { ObjectReader } from "../../../lib/clients/kube/store.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../../lib/clients/kube/watch-stream.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { decode } from "../../../lib/model/validation/decode-value.ts";
import { pathNameProblem } from "../../../lib/model/validation/paths.ts";
import { formatValue } from "../../../lib/model/validation/problem.ts";
import { core } from "../../../lib/schema/types/core/core.ts";
import type { PodSource } from "./source.ts";

export interface ApiSourceOptions {
  transport: Pick<KubeTransport, "request" | "stream" | "onReconnect">;
  nodeName: string;
  /** Pods are listed when this has resolved: their admission depends on the node object. */
  after: Promise<void>;
  clock: Clock;
  logger: Logger;
  /** A pod from the API server has changed or is deleted; called before the new set is emitted. */
  onPod?: (pod: Pod) => void;
}

/**
 * The pods that an API server has bound to this node. Emits nothing until its first list is complete; while the server is
 * unreachable, the last set is kept.
 */
export class ApiSource implements PodSource {
  readonly name = "api";
  readonly #o: ApiSourceOptions;
  readonly #watch: Reflector<Pod>;
  #run: Promise<void> = Promise.resolve();
  #emit: (() => void) | undefined;
  #isEmitPending = false;

  constructor(options: ApiSourceOptions) {
    const { transport, nodeName, clock, logger, onPod } = options;
    this.#o = options;
    this.#watch = new Reflector<Pod>({
      name: "pods",
      path: "/api/v1/pods",
      fieldSelector: `spec.nodeName=${nodeName}`,
      transport,
      clock,
      logger,
      transform: asPod,
      onChange: ({ object }) => onPod?.(object),
      onBatch: () => this.#emitSoon(),
    });
  }

  /** The pods from the API server, including mirror pods. */
  get pods(): ObjectReader<Pod> {
    return this.#watch.store;
  }

  get done(): Promise<void> {
    return this.#run;
  }

  health(): Health {
    return this.#emit ? this.#watch.health() : healthy;
  }

  /** Does not wait for the server: pods of other sources run without it. */
  async start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    this.#emit = () => {
      if (!signal.aborted) emit(this.pods.list());
    };
    this.#run = this.#runWatch(signal);
  }

  async #runWatch(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => whenAborted(signal, resolve));
    await Promise.race([this.#o.after, aborted]);
    if (signal.aborted) return;
    this.#o.logger.info("Watching pods from the API server");
    await this.#watch.start(signal);
    await this.#watch.done;
  }

  /** Emits once for all changes of one event loop turn: each set is compared as a whole. */
  #emitSoon(): void {
    if (this.#isEmitPending) return;
    this.#isEmitPending = true;
    setImmediate(() => {
      this.#isEmitPending = false;
      this.#emit?.();
    });
  }
}

const podType = core.struct("Pod")!;
const statusType = core.struct("PodStatus")!;

function unknownFields(status: unknown): object {
  return Object.fromEntries(
    Object.entries(status as object).filter(([name]) => !statusType.fields.has(name)),
  );
}

/**
 * The API server has defaulted and validated the pod. Types are checked again, because a value of another type would fail anywhere in the
 * agent. Names that become paths are checked too: no response of a server may lead to files outside of the pod's own directories.
 */
function asPod(raw: RawObject): Pod {
  if (raw.kind !== undefined && raw.kind !== "Pod")
    throw new KubeletError("ApiPod", `it is a ${formatValue(raw.kind)} and not a Pod`);
  const { value, problems } = decode(podType, raw);
  const [problem] = problems.list;
  if (problem) throw new KubeletError("ApiPod", `${problem.path}: ${problem.message}`);
  const { metadata, spec, status } = value as Partial<Pod>;
  if (!metadata?.uid || !metadata.namespace || !spec?.containers)
    throw new KubeletError("ApiPod", "it has no UID, no namespace or no containers");
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec,
    // Fields of the status that only a newer API server knows are written back as they are.
    ...(status && { status: { ...unknownFields(raw.status), ...status } }),
  };
  const unsafe = pathNameProblem(pod);
  if (unsafe !== undefined) throw new KubeletError("ApiPod", unsafe);
  return pod;
}
