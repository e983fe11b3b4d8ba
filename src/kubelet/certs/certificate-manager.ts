import { abortable } from "../../lib/base/abort.ts";
import { type Clock, msFromNow, msSince } from "../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../lib/base/component.ts";
import { httpStatusOf, messageOf } from "../../lib/base/errors.ts";
import { failureLog } from "../../lib/base/failure-log.ts";
import { Listeners } from "../../lib/base/listeners.ts";
import type { Logger } from "../../lib/base/logger.ts";
import {
  dateOf,
  type MonotonicTime,
  msBetween,
  plusMs,
  type WallTime,
  wallTime,
} from "../../lib/base/time.ts";
import { generateKey, makeRequest, privateKeyPem, type Usage } from "../../lib/base/x509/x509.ts";
import { TransportError } from "../../lib/clients/kube/api-error.ts";
import type { CertificateApi } from "./certificate-api.ts";
import { type CertificatePair, isExpired, readPair } from "./certificate-pair.ts";
import type { PairStore } from "./certificate-store.ts";
import { obtainCertificate } from "./obtain-certificate.ts";
import {
  mismatch,
  nextStep,
  type RequestTemplate,
  retryDelayMs,
  rotationDeadline,
  sameTemplate,
} from "./rotation-plan.ts";

export interface CertificateManagerOptions {
  /** "client-certificate", "serving-certificate". */
  readonly name: string;
  readonly store: PairStore;
  /** The API client with valid credentials: with our certificate if there is one that has not expired. */
  readonly api: (current: CertificatePair | undefined) => CertificateApi | Promise<CertificateApi>;
  /** The template of the next request; undefined while unknown. */
  readonly template: () => RequestTemplate | undefined;
  readonly signerName: string;
  readonly usages: readonly Usage[];
  /** The initial pair if the store has none; it is replaced immediately. */
  readonly initial?: { readonly cert: string; readonly key: string } | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onFailure?: () => void;
  /** A certificate was replaced after this many seconds. */
  readonly onRotated?: (lifetimeSeconds: number) => void;
}

const approvalMs = 15 * 60_000;
const unhealthyAfterMs = 5 * 60_000;
const templateCheckMs = 1000;

/** Keeps a valid certificate: requests the first, and the next before it expires. */
export class CertificateManager implements Component {
  readonly name: string;
  readonly done: Promise<void>;
  readonly #o: CertificateManagerOptions;
  readonly #done = Promise.withResolvers<void>();
  readonly #listeners = new Listeners<[CertificatePair]>();
  #pair: CertificatePair | undefined;
  #deadline = wallTime(0);
  #forced = false;
  #attempts = 0;
  #retryAt: MonotonicTime | undefined;
  #missing: { since: MonotonicTime; reason: string } | undefined;
  #serverHealthy = false;
  #pending: string | undefined;
  #wake = () => {};

  constructor(options: CertificateManagerOptions) {
    this.#o = options;
    this.name = options.name;
    this.done = this.#done.promise;
  }

  /** Undefined if there is none yet, or if it has expired. */
  current(): CertificatePair | undefined {
    return this.#pair && !isExpired(this.#pair, this.#o.clock.wall()) ? this.#pair : undefined;
  }

  /** Called with each certificate that becomes available: loaded at startup, or issued. */
  onChange(listener: (pair: CertificatePair) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Why there is no valid certificate, if known. */
  get reason(): string | undefined {
    return this.current() === undefined ? (this.#missing?.reason ?? this.#pending) : undefined;
  }

  /** True if the API server responded to the last request, even if it rejected it. */
  get serverHealthy(): boolean {
    return this.#serverHealthy;
  }

  /** The template may have changed. */
  wake(): void {
    this.#wake();
  }

  /** Does not wait for the API: the agent also starts without it. */
  async start(signal: AbortSignal): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      this.#done.resolve();
      throw error;
    }
    void this.#run(signal).finally(this.#done.resolve);
  }

  health(): Health {
    if (this.current() !== undefined) return healthy;
    const missing = this.#missing;
    if (!missing || msSince(this.#o.clock, missing.since) < unhealthyAfterMs) return healthy;
    return { ok: false, reason: `there is no valid certificate: ${missing.reason}` };
  }

  async #load(): Promise<void> {
    const { store, initial, clock, logger } = this.#o;
    const stored = await store.current();
    if (stored && !isExpired(stored, clock.wall())) {
      this.#install(stored, undefined);
      // Requests may already be waiting.
      return this.#listeners.notify(stored);
    }
    this.#forced = true;
    if (initial === undefined) return;
    const pair = readPair(initial.cert, initial.key);
    this.#install(pair, undefined);
    if (this.current()) this.#listeners.notify(pair);
    await store.update(initial.cert, initial.key).catch((error) => {
      logger.error("Unable to set the cert/key pair to the bootstrap certificate", { err: messageOf(error) });
    });
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, template, logger, name } = this.#o;
    while (!signal.aborted) {
      const desired = template();
      const [pair, deadline] = [this.#pair, this.#deadline];
      const step = nextStep({
        wall: clock.wall(),
        now: clock.monotonic(),
        template: desired,
        pair,
        deadline,
        forced: this.#forced,
        retryAt: this.#retryAt,
      });
      if (step.do === "wait" || desired === undefined) {
        await this.#pause(step.do === "wait" ? step.ms : 0, signal);
        continue;
      }
      const message = pair ? "Rotating certificates" : "Requesting certificate";
      logger.debug(2, message, { certificate: name, reason: step.why });
      this.#attempts++;
      try {
        await this.#rotate(desired, signal);
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
      }
    }
  }

  async #rotate(desired: RequestTemplate, signal: AbortSignal): Promise<void> {
    const { api, store, signerName, usages, clock, logger, random, onRotated } = this.#o;
    const { privateKey } = generateKey();
    const { commonName, organizations, dnsNames, ipAddresses } = desired;
    const subject = { commonName, organizations };
    const request = makeRequest({ subject, dnsNames, ipAddresses, key: privateKey });
    const other = this.#abortOnTemplateChange(desired);
    let cert: string;
    this.#pending = "a certificate has been requested and is not issued yet";
    try {
      cert = await obtainCertificate(await api(this.current()), { request, signerName, usages }, privateKey, {
        clock,
        logger,
        signal: AbortSignal.any([signal, other.signal]),
        timeoutMs: approvalMs,
      });
    } catch (error) {
      throw other.signal.aborted ? other.signal.reason : error;
    } finally {
      this.#pending = undefined;
      other.release();
    }
    const previous = this.#pair;
    const pair = await store.update(cert, privateKeyPem(privateKey));
    const now = clock.wall();
    this.#serverHealthy = true;
    this.#forced = false;
    this.#install(pair, now);
    if (previous) onRotated?.(msBetween(wallTime(previous.leaf.notBefore), now) / 1000);
    // A certificate that is due again immediately (clock skew, omitted names) must not cause requests in a
    // loop.
    const dueAgain = this.#deadline <= now || mismatch(pair, desired) !== undefined;
    this.#retryAt = dueAgain ? msFromNow(clock, retryDelayMs(this.#attempts, random())) : undefined;
    if (!dueAgain) this.#attempts = 0;
    this.#listeners.notify(pair);
  }

  #failed(error: unknown): void {
    const { clock, logger, name, random, onFailure } = this.#o;
    if (error instanceof TemplateChanged) {
      logger.debug(2, "Certificate template changed, rotating", { certificate: name });
      this.#retryAt = undefined;
      this.#attempts = 0;
      return;
    }
    const at = clock.monotonic();
    const rejected = serverRejectedUs(error);
    this.#serverHealthy = rejected ?? this.#serverHealthy;
    const delayMs = retryDelayMs(this.#attempts, random(), rejected);
    this.#retryAt = plusMs(at, delayMs);
    this.#missing = { since: this.#missing?.since ?? at, reason: messageOf(error) };
    const what = this.#pair
      ? "Certificate rotation failed, will retry"
      : "Certificate request failed, will retry";
    failureLog(
      logger,
      "error",
      error,
    )(what, {
      certificate: name,
      err: messageOf(error),
      retryMs: Math.round(delayMs),
    });
    onFailure?.();
  }

  #install(pair: CertificatePair, arrivedAt: WallTime | undefined): void {
    const { random, logger, name } = this.#o;
    this.#pair = pair;
    this.#missing = undefined;
    this.#deadline = rotationDeadline(pair, arrivedAt, random());
    logger.debug(2, "Certificate rotation deadline determined", {
      certificate: name,
      expiration: pair.leaf.notAfter.toISOString(),
      deadline: dateOf(this.#deadline).toISOString(),
    });
  }

  /** Aborts when neither the request nor the previous certificate matches the template. */
  #abortOnTemplateChange(requested: RequestTemplate): { signal: AbortSignal; release: () => void } {
    const { clock, template } = this.#o;
    const other = new AbortController();
    let cancel = () => {};
    const check = () => {
      cancel();
      const now = template();
      const pair = this.#pair;
      const isOther = now !== undefined && !sameTemplate(requested, now) && !(pair && !mismatch(pair, now));
      if (isOther) other.abort(new TemplateChanged());
      else cancel = clock.after(templateCheckMs, check);
    };
    this.#wake = check;
    cancel = clock.after(templateCheckMs, check);
    const release = () => {
      cancel();
      this.#wake = () => {};
    };
    return { signal: other.signal, release };
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return abortable(signal, (resolve) => {
      this.#wake = resolve;
      const cancel = this.#o.clock.after(ms, resolve);
      return () => {
        cancel();
        this.#wake = () => {};
      };
    }).catch(() => {});
  }
}

/** The requested certificate no longer matches the template. */
class TemplateChanged extends Error {}

/**
 * Whether a failed request shows an API server that works but rejects us: then other credentials may help. Undefined if
 * the failure does not show it.
 */
function serverRejectedUs(error: unknown): boolean | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof TransportError) return false;
    const status = httpStatusOf(cause);
    if (status !== undefined) return status === 401 || status === 403 || status === 404;
  }
  return undefined;
}
