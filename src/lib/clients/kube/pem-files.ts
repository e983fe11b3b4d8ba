import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Clock, msSince } from "../../base/clock.ts";
import { KubeletError, messageOf } from "../../base/errors.ts";
import { FileBackedValue, fileVersion, type Part } from "../../base/file-backed-value.ts";
import type { Logger } from "../../base/logger.ts";
import { type MonotonicTime, plusMs, type WallTime, wallTime } from "../../base/time.ts";
import type { PemSource } from "./kubeconfig.ts";
import type { CaReload } from "./request-metrics.ts";

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
  /** When the certificate expires; milliseconds since the epoch. */
  readonly goodUntil?: WallTime;
}

/** The minimum time between two checks. A check happens before a request and calls stat() on each file. */
const checkIntervalMs = 1000;
/** Certificates that expire by then are checked each time: they may be renewed at the last moment. */
const lastMomentsMs = 5000;

/**
 * A value built from PEM files, and built again when they change. The same object is returned until then, so that a caller sees
 * a change by comparing. Files that cannot be read or do not match (half of a pair was replaced) are read again later,
 * and in the meantime the previous value is kept.
 */
export class PemFiles<T> {
  readonly #sources: readonly PemSource[];
  readonly #value: FileBackedValue<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #checkedAt: MonotonicTime | undefined;
  #checking: Promise<T> | undefined;
  #lastError = "";
  /** During a reload: whether all files have been read. An error after that means that their content is invalid. */
  #isRead = false;
  readonly #goodUntil: (value: T) => WallTime | undefined;
  readonly #onReload: (result: CaReload) => void;
  readonly #reloads: boolean;

  constructor(
    sources: readonly PemSource[],
    make: (pems: readonly string[]) => T,
    options: {
      clock: Clock;
      logger: Logger;
      goodUntil?: (value: T) => WallTime | undefined;
      /** Called after a reload. */
      onReload?: ((result: CaReload) => void) | undefined;
      /** False: the files are read once. */
      reloads?: boolean | undefined;
    },
  ) {
    this.#reloads = options.reloads ?? true;
    this.#onReload = options.onReload ?? (() => {});
    this.#goodUntil = options.goodUntil ?? (() => undefined);
    this.#sources = sources;
    this.#value = new FileBackedValue(sources.map(partOf), (pems) => {
      this.#isRead = true;
      return make(pems);
    });
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  async current(): Promise<T> {
    const checkedRecently =
      this.#checkedAt !== undefined && msSince(this.#clock, this.#checkedAt) < checkIntervalMs;
    const { value } = this.#value;
    if (value !== undefined && !this.#reloads) return value;
    if (value !== undefined && checkedRecently && !this.#expiresSoon(value)) return value;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  #expiresSoon(value: T): boolean {
    const until = this.#goodUntil(value);
    return until !== undefined && plusMs(this.#clock.wall(), lastMomentsMs) >= until;
  }

  /** The next call checks the files. */
  forget(): void {
    this.#checkedAt = undefined;
  }

  async #check(): Promise<T> {
    this.#checkedAt = this.#clock.monotonic();
    this.#isRead = false;
    try {
      const result = await this.#value.reload();
      if (result === "same") this.#onReload("unchanged");
      if (result === "changed") {
        this.#onReload("updated");
        this.#logger.info("Reloaded certificate files", { files: this.#files() });
      }
      this.#lastError = "";
    } catch (error) {
      if (this.#value.value === undefined) throw error;
      this.#onReload(this.#isRead ? "ca_parse_error" : "read_error");
      const message = messageOf(error);
      if (message !== this.#lastError) {
        this.#lastError = message;
        this.#logger.warn("Failed to reload certificate files, keeping the previous certificate", {
          err: message,
        });
      }
    }
    return this.#value.value as T;
  }

  #files(): string[] {
    return this.#sources.flatMap((source) => (source.kind === "file" ? [source.path] : []));
  }
}

function partOf(source: PemSource): Part {
  if (source.kind === "data") return { version: async () => "", read: async () => source.pem };
  const named = (error: unknown) => {
    throw new KubeletError("Kubeconfig", `${source.field}: ${messageOf(error)}`, { cause: error });
  };
  return {
    version: () => fileVersion(source.path).catch(named),
    read: () => readFile(source.path, "utf8").catch(named),
  };
}

/** Throws if the two are not a certificate and the key that belongs to it. */
export function keyPair(cert: string, key: string, certField: string, keyField: string): KeyPair {
  const certificate = parse(certField, "certificate", () => new X509Certificate(cert));
  const privateKey = parse(keyField, "private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new KubeletError("Kubeconfig", `${keyField}: is not the key of the certificate in ${certField}`);
  }
  return { cert, key, goodUntil: wallTime(certificate.validToDate) };
}

function parse<T>(field: string, kind: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new KubeletError("Kubeconfig", `${field}: contains no ${kind}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Throws if it contains no certificate. */
export function certificateAuthority(pem: string, field: string): string {
  parse(field, "certificate", () => new X509Certificate(pem));
  return pem;
}
