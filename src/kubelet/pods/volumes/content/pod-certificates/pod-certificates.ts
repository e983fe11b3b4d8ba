import { Backoff } from "../../../../../lib/base/backoff.ts";
import { type Clock, sleep } from "../../../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../../../lib/base/component.ts";
import { isAbort, KubeletError, messageOf } from "../../../../../lib/base/errors.ts";
import { failureLog } from "../../../../../lib/base/failure-log.ts";
import type { Logger } from "../../../../../lib/base/logger.ts";
import type { Metrics } from "../../../../../lib/base/metrics.ts";
import { plusMs } from "../../../../../lib/base/time.ts";
import type { Reflector } from "../../../../../lib/clients/kube/reflector.ts";
import type { KubeTransport } from "../../../../../lib/clients/kube/transport-interface.ts";
import type { Pod, PodUid } from "../../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../../lib/model/pod-events.ts";
import { newCertificateKey } from "./certificate-key.ts";
import {
  type CredentialState,
  credentialLabel,
  credentialOf,
  nextCredentialStep,
} from "./credential-state.ts";
import {
  createRequest,
  type PodCertificateSource,
  type WatchedRequest,
  watchRequests,
} from "./request-api.ts";

export interface PodCertificatesOptions {
  readonly api: Pick<KubeTransport, "request" | "stream">;
  readonly nodeName: string;
  /** Undefined until the node is registered. */
  readonly nodeUid: () => string | undefined;
  readonly events: PodEvents;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The files of the pod's volumes are out of date. */
  readonly onChange: (uid: PodUid) => void;
  readonly random?: () => number;
}

/** One source of a projected volume. */
interface Record {
  readonly key: string;
  readonly pod: Pod;
  readonly source: PodCertificateSource;
  state: CredentialState;
  /** Set while a step is being taken. */
  running: Promise<void> | undefined;
  /** Something has changed since the current step began. */
  again: boolean;
}

const checkMs = 60_000;
const jitterMs = 5 * 60_000;
const assumeDeletedMs = 10 * 60_000;
const backoffLimits = { initialMs: 500, maxMs: 60_000, resetMs: 120_000 };

/**
 * Keys and certificates of pods (podCertificate sources of projected volumes). They are in memory only: after a restart
 * new ones are requested, and the volumes keep the previous ones until then. No request is sent before the first pod needs one.
 */
export class PodCertificates implements Component {
  readonly name = "pod-certificates";
  readonly #o: PodCertificatesOptions;
  readonly #records = new Map<string, Record>();
  readonly #backoff = new Backoff(backoffLimits);
  #signal: AbortSignal = AbortSignal.abort();
  #watch: Reflector<WatchedRequest> | undefined;
  #checks: Promise<void> = Promise.resolve();

  constructor(options: PodCertificatesOptions) {
    this.#o = options;
    options.metrics.gauge({
      name: "kubelet_podcertificate_states",
      help: "Number of podCertificate sources of projected volumes, by signer_name and state.",
      labels: ["signer_name", "state"],
      collect: (gauge) => {
        gauge.reset();
        for (const { source, state } of this.#records.values())
          gauge.inc({ signer_name: source.signerName, state: credentialLabel(state, options.clock.wall()) });
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
  }

  get done(): Promise<void> {
    const steps = [...this.#records.values()].map(({ running }) => running);
    return Promise.all([this.#checks, this.#watch?.done, ...steps]).then(() => {});
  }

  health(): Health {
    return this.#watch?.health() ?? healthy;
  }

  /** The current key and certificates of a source. The first call requests them, and throws, as all do until they are issued. */
  get(
    pod: Pod,
    volume: string,
    index: number,
    source: PodCertificateSource,
  ): { privateKey: string; certificateChain: string } {
    const key = `${pod.metadata.uid}/${volume}/${index}`;
    let record = this.#records.get(key);
    if (!record) {
      record = { key, pod, source, state: { kind: "none" }, running: undefined, again: false };
      this.#records.set(key, record);
      this.#startWatch();
      this.#advance(record);
    }
    return credentialOf(record.state);
  }

  /** Call when the pod's volume is gone. */
  delete(uid: PodUid): void {
    for (const [key, { pod }] of this.#records) if (pod.metadata.uid === uid) this.#records.delete(key);
    this.#backoff.forget(`${uid}/`);
  }

  #startWatch(): void {
    if (this.#watch) return;
    const { api, nodeName, clock, logger } = this.#o;
    this.#watch = watchRequests({
      api,
      nodeName,
      clock,
      logger,
      onChange: (uid) => {
        for (const record of this.#records.values())
          if (record.pod.metadata.uid === uid) this.#advance(record);
      },
    });
    void this.#watch.start(this.#signal);
    this.#checks = this.#check().catch((error: unknown) => {
      if (!isAbort(error)) throw error;
    });
  }

  /** Renewals are due by the wall clock, which may be set: no timer waits for them. */
  async #check(): Promise<void> {
    const { clock, random = Math.random } = this.#o;
    for (;;) {
      await sleep(clock, checkMs + random() * checkMs, this.#signal);
      for (const record of this.#records.values()) this.#advance(record);
    }
  }

  #advance(record: Record): void {
    record.again = true;
    record.running ??= this.#run(record).finally(() => {
      record.running = undefined;
    });
  }

  /** One step at a time, until nothing has changed; a step that fails is repeated after a back-off. */
  async #run(record: Record): Promise<void> {
    const { clock, logger } = this.#o;
    const { key, pod } = record;
    // The caller continues first, and finds the record unchanged.
    await Promise.resolve();
    while (record.again && this.#records.get(key) === record && !this.#signal.aborted) {
      record.again = false;
      try {
        await this.#step(record);
        this.#backoff.succeeded(key);
      } catch (error) {
        if (this.#signal.aborted) return;
        const isFirst = this.#backoff.readyAt(key) === undefined;
        const delayMs = this.#backoff.failed(key, clock.monotonic());
        const log = failureLog(logger, isFirst ? "error" : 2, error);
        log("Failed to request pod certificate, will retry", {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          podUID: pod.metadata.uid,
          signerName: record.source.signerName,
          err: messageOf(error),
        });
        record.again = true;
        await sleep(clock, delayMs, this.#signal).catch(() => {});
      }
    }
  }

  async #step(record: Record): Promise<void> {
    const { clock, events, onChange } = this.#o;
    const { pod } = record;
    const { namespace, uid } = pod.metadata;
    const step = nextCredentialStep(record.state, {
      namespace,
      find: (name) => this.#watch?.store.get(namespace, name),
      now: clock.wall(),
      jitterMs: this.#jitter(),
    });
    record.state = step.state;
    for (const { reason, message } of step.events) events.warning(pod, reason, message);
    if (step.isNew) onChange(uid);
    if (step.creates) await this.#create(record);
  }

  async #create(record: Record): Promise<void> {
    const { api, nodeName, nodeUid } = this.#o;
    const { pod, source, state } = record;
    if (state.kind === "denied" || state.kind === "failed") return;
    const uid = nodeUid();
    if (uid === undefined)
      throw new KubeletError(
        "PodCertificate",
        `while getting node object from local cache: node "${nodeName}" not found`,
      );
    const { privateKey, request } = await newCertificateKey(source.keyType);
    const node = { name: nodeName, uid };
    const { name, createdAt } = await createRequest(api, { pod, source, node, request }, this.#signal);
    const abandonAt = plusMs(createdAt, assumeDeletedMs + this.#jitter());
    record.state = { ...state, pending: { privateKey, name, abandonAt } };
    // The watch may have reported it before the response arrived.
    record.again = true;
  }

  #jitter(): number {
    return (this.#o.random ?? Math.random)() * jitterMs;
  }
}

export function podCertificatesUnsupported(): KubeletError {
  return new KubeletError(
    "PodCertificate",
    "pod certificates are not supported without an API server, or with the feature gate PodCertificateRequest disabled",
  );
}
