import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { type Clock, msSince } from "../../base/clock.ts";
import { KubeletError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { type MonotonicTime, plusMs, type WallTime, wallTime } from "../../base/time.ts";
import type { PemSource } from "./kubeconfig.ts";
import type { AuthorityRead } from "./request-metrics.ts";

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
  /** When the certificate is over; milliseconds since the epoch. */
  readonly goodUntil?: WallTime;
}

/** How often files are looked at, at most: each look is a stat() of each of them, before a request. */
const lookEveryMs = 1000;
/** What is over by then is looked at each time: its successor may have come at the last moment. */
const lastMomentsMs = 5000;

/**
 * Something made of PEM files, made anew when they change. The same object is handed out until then, so that a caller
 * sees a change by comparing. What cannot be read or does not fit together (half of a pair was replaced) is looked at
 * again later, and meanwhile what was there before goes on.
 */
export class PemFiles<T> {
  readonly #sources: readonly PemSource[];
  readonly #make: (pems: readonly string[]) => T;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #current: { value: T; hash: string } | undefined;
  #seen = "";
  #lookedAt: MonotonicTime | undefined;
  #looking: Promise<T> | undefined;
  #complaint = "";
  readonly #goodUntil: (value: T) => WallTime | undefined;
  readonly #onReadAgain: (result: AuthorityRead) => void;

  constructor(
    sources: readonly PemSource[],
    make: (pems: readonly string[]) => T,
    options: {
      clock: Clock;
      logger: Logger;
      goodUntil?: (value: T) => WallTime | undefined;
      /** Called when the files were read another time. */
      onReadAgain?: ((result: AuthorityRead) => void) | undefined;
    },
  ) {
    this.#onReadAgain = options.onReadAgain ?? (() => {});
    this.#goodUntil = options.goodUntil ?? (() => undefined);
    this.#sources = sources;
    this.#make = make;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  async current(): Promise<T> {
    const lookedNow = this.#lookedAt !== undefined && msSince(this.#clock, this.#lookedAt) < lookEveryMs;
    if (this.#current && lookedNow && !this.#isOver(this.#current.value)) return this.#current.value;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  #isOver(value: T): boolean {
    const until = this.#goodUntil(value);
    return until !== undefined && plusMs(this.#clock.wall(), lastMomentsMs) >= until;
  }

  /** The next who asks has the files looked at. */
  forget(): void {
    this.#lookedAt = undefined;
  }

  async #look(): Promise<T> {
    this.#lookedAt = this.#clock.monotonic();
    let isRead = false;
    try {
      const seen = (await Promise.all(this.#sources.map(version))).join("\n");
      if (this.#current && seen === this.#seen) return this.#current.value;
      const pems = await Promise.all(this.#sources.map(read));
      isRead = true;
      const hash = createHash("sha256").update(pems.join("\0")).digest("hex");
      if (hash === this.#current?.hash) this.#onReadAgain("unchanged");
      else {
        const value = this.#make(pems);
        if (this.#current) this.#onReadAgain("updated");
        if (this.#current) this.#logger.info("Reloaded certificate files", { files: this.#files() });
        this.#current = { value, hash };
      }
      this.#seen = seen;
      this.#complaint = "";
      return this.#current.value;
    } catch (error) {
      if (!this.#current) throw error;
      this.#onReadAgain(isRead ? "ca_parse_error" : "read_error");
      const complaint = messageOf(error);
      if (complaint !== this.#complaint) {
        this.#complaint = complaint;
        this.#logger.warn("Failed to reload certificate files, keeping the previous certificate", {
          err: complaint,
        });
      }
      return this.#current.value;
    }
  }

  #files(): string[] {
    return this.#sources.flatMap((source) => (source.kind === "file" ? [source.path] : []));
  }
}

async function version(source: PemSource): Promise<string> {
  if (source.kind === "data") return "";
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(source.path, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    throw new KubeletError("Kubeconfig", `${source.field}: ${messageOf(error)}`, { cause: error });
  }
}

async function read(source: PemSource): Promise<string> {
  if (source.kind === "data") return source.pem;
  try {
    return await readFile(source.path, "utf8");
  } catch (error) {
    throw new KubeletError("Kubeconfig", `${source.field}: ${messageOf(error)}`, { cause: error });
  }
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

function parse<T>(field: string, what: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new KubeletError("Kubeconfig", `${field}: holds no ${what}: ${messageOf(error)}`, { cause: error });
  }
}

/** Throws if there is no certificate in it. */
export function certificateAuthority(pem: string, field: string): string {
  parse(field, "certificate", () => new X509Certificate(pem));
  return pem;
}
