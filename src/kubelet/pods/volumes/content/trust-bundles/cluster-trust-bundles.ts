import { createHash } from "node:crypto";
import { type Clock, msFromNow } from "../../../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../../../lib/base/component.ts";
import { KubeletError, messageOf, orNotFound } from "../../../../../lib/base/errors.ts";
import { Listeners } from "../../../../../lib/base/listeners.ts";
import type { Logger } from "../../../../../lib/base/logger.ts";
import type { MonotonicTime } from "../../../../../lib/base/time.ts";
import { endsWithin } from "../../../../../lib/base/wait.ts";
import { pem, pemBlocks } from "../../../../../lib/base/x509/pem.ts";
import { Reflector } from "../../../../../lib/clients/kube/reflector.ts";
import type { KubeTransport } from "../../../../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../../../../lib/clients/kube/watch-stream.ts";
import type { LabelSelector } from "../../../../../lib/gen/kubernetes/meta.d.ts";

/** Certificates to trust, as PEM. `optional`: if nothing is found, the result is an empty text instead of an error. */
export interface TrustBundles {
  byName(name: string, optional: boolean, signal: AbortSignal): Promise<string>;
  bySigner(
    signerName: string,
    selector: LabelSelector | undefined,
    optional: boolean,
    signal: AbortSignal,
  ): Promise<string>;
}

interface Bundle {
  readonly name: string;
  readonly signerName: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly pem: string;
}

export interface ClusterTrustBundlesOptions {
  api: Pick<KubeTransport, "request" | "stream">;
  clock: Clock;
  logger: Logger;
}

const group = "/apis/certificates.k8s.io";
const versions = ["v1beta1", "v1alpha1"] as const;
const firstListMs = 10_000;
const requestMs = 10_000;
const recheckMs = 60_000;

/** The cluster's trust bundles. No request is sent before the first pod needs one. */
export class ClusterTrustBundles implements TrustBundles, Component {
  readonly name = "cluster-trust-bundles";
  readonly #o: ClusterTrustBundlesOptions;
  readonly #listeners = new Listeners();
  #signal: AbortSignal = AbortSignal.abort();
  #watch: Promise<Reflector<Bundle>> | undefined;
  #running: Reflector<Bundle> | undefined;
  #recheckAt: MonotonicTime | undefined;

  constructor(options: ClusterTrustBundlesOptions) {
    this.#o = options;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
  }

  get done(): Promise<void> {
    return this.#running?.done ?? Promise.resolve();
  }

  health(): Health {
    return this.#running?.health() ?? healthy;
  }

  async byName(name: string, optional: boolean, signal: AbortSignal): Promise<string> {
    const bundle = (await this.#bundles(signal)).store.get("", name);
    if (bundle) return trustAnchors([bundle.pem]);
    if (optional) return "";
    const message = `clustertrustbundle.certificates.k8s.io "${name}" not found`;
    throw new KubeletError("TrustBundle", `while getting ClusterTrustBundle: ${message}`);
  }

  async bySigner(
    signerName: string,
    selector: LabelSelector | undefined,
    optional: boolean,
    signal: AbortSignal,
  ): Promise<string> {
    const matches = labelMatcher(selector);
    const bundles = (await this.#bundles(signal)).store.list();
    const found = bundles.filter((bundle) => bundle.signerName === signerName && matches(bundle.labels));
    if (found.length > 0) return trustAnchors(found.map((bundle) => bundle.pem));
    if (optional) return "";
    const message = "combination of signerName and labelSelector matched zero ClusterTrustBundles";
    throw new KubeletError("TrustBundle", message);
  }

  /** Calls the listener when any bundle has changed. */
  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  async #bundles(signal: AbortSignal): Promise<Reflector<Bundle>> {
    // An API server may start to serve trust bundles later, so this is checked again, but not for each pod.
    if (this.#recheckAt !== undefined && this.#o.clock.monotonic() >= this.#recheckAt) {
      this.#recheckAt = undefined;
      this.#watch = undefined;
    }
    this.#watch ??= this.#startWatch();
    const watch = await this.#watch;
    if (!watch.hasSynced) await endsWithin(this.#o.clock, firstListMs, watch.synced, signal);
    if (!watch.hasSynced)
      throw new KubeletError("TrustBundle", "ClusterTrustBundle informer has not yet synced");
    return watch;
  }

  async #startWatch(): Promise<Reflector<Bundle>> {
    const version = await this.#version().catch((error: unknown) => {
      this.#watch = undefined;
      throw new KubeletError(
        "TrustBundle",
        `failed to ensure informer manager for ClusterTrustBundles: ${messageOf(error)}`,
        { cause: error },
      );
    });
    if (!version) {
      this.#recheckAt = msFromNow(this.#o.clock, recheckMs);
      throw trustBundlesUnsupported();
    }
    const watch = new Reflector<Bundle>({
      name: "clustertrustbundles",
      path: `${group}/${version}/clustertrustbundles`,
      transport: this.#o.api,
      clock: this.#o.clock,
      logger: this.#o.logger,
      transform: toBundle,
      onBatch: () => this.#listeners.notify(),
    });
    this.#running = watch;
    await watch.start(this.#signal);
    return watch;
  }

  async #version(): Promise<string | undefined> {
    for (const version of versions) {
      const found = await orNotFound(
        this.#o.api.request<{ resources?: readonly { name?: string }[] }>({
          method: "GET",
          path: `${group}/${version}`,
          timeoutMs: requestMs,
        }),
      );
      if (found?.resources?.some(({ name }) => name === "clustertrustbundles")) return version;
    }
    return undefined;
  }
}

export function trustBundlesUnsupported(): KubeletError {
  return new KubeletError(
    "TrustBundle",
    "ClusterTrustBundle projection is not supported in static kubelet mode",
  );
}

function toBundle(raw: RawObject): Bundle {
  const { metadata, spec } = raw as {
    metadata?: { name?: unknown; labels?: Readonly<Record<string, string>> };
    spec?: { signerName?: unknown; trustBundle?: unknown };
  };
  return {
    name: String(metadata?.name ?? ""),
    signerName: String(spec?.signerName ?? ""),
    labels: metadata?.labels,
    pem: String(spec?.trustBundle ?? ""),
  };
}

type Labels = Readonly<Record<string, string>>;

/** No selector matches nothing, an empty one everything. */
export function labelMatcher(selector: LabelSelector | undefined): (labels: Labels | undefined) => boolean {
  if (!selector) return () => false;
  const rules = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ruleOf(key, "In", [value])),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values }) => ruleOf(key, operator, values)),
  ];
  return (labels = {}) => rules.every((rule) => rule(labels));
}

function ruleOf(key: string, operator: string, values: readonly string[] = []): (labels: Labels) => boolean {
  const has = (labels: Labels) => Object.hasOwn(labels, key);
  const isOneOf = (labels: Labels) => has(labels) && values.includes(labels[key] ?? "");
  switch (operator) {
    case "In":
      return isOneOf;
    case "NotIn":
      return (labels) => !isOneOf(labels);
    case "Exists":
      return has;
    case "DoesNotExist":
      return (labels) => !has(labels);
    default:
      throw new KubeletError("LabelSelector", `"${operator}" is not a valid label selector operator`);
  }
}

/**
 * The certificates of these bundles in one PEM text, each once and without comments. Their order is arbitrary, but stable for the
 * same certificates: a restart changes no file.
 */
export function trustAnchors(bundles: readonly string[]): string {
  const byHash = new Map<string, Buffer>();
  for (const bundle of bundles)
    for (const { der } of pemBlocks(bundle)) byHash.set(createHash("sha256").update(der).digest("hex"), der);
  return [...byHash]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, der]) => pem("CERTIFICATE", der))
    .join("");
}
