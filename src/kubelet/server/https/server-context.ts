import type { SecureContextOptions } from "node:tls";
import { whenAborted } from "../../../lib/base/abort.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type TlsSettings, tlsOptions } from "./tls-options.ts";

/** A value that may change while the server runs. */
export interface Reloadable<T> {
  current(): T | undefined;
  /** Returns a function that unsubscribes. */
  onChange(listener: (value: T) => void): () => void;
}

export interface ServerTls {
  readonly settings: TlsSettings;
  /** PEM. While there is none, handshakes fail. */
  readonly certificate: Reloadable<{ readonly cert: string; readonly key: string }>;
  /** PEM. Absent: no client certificates are requested. */
  readonly clientCa?: Reloadable<string>;
}

/** The current TLS settings. */
export class ServerContext {
  readonly #tls: ServerTls;
  readonly #fixed: Omit<SecureContextOptions, "ca">;
  #clientCa: string | undefined;

  constructor(tls: ServerTls) {
    this.#tls = tls;
    this.#fixed = tlsOptions(tls.settings);
  }

  get requestsCertificates(): boolean {
    return this.#tls.clientCa !== undefined;
  }

  /** The bundle that new handshakes verify against: the previous one if a change could not be applied. */
  get clientCa(): string | undefined {
    return this.#clientCa;
  }

  /** The initial settings of the server. */
  first(): SecureContextOptions {
    const options = this.#options();
    this.#clientCa = options.ca;
    return options;
  }

  #options(): Omit<SecureContextOptions, "ca"> & { readonly ca?: string } {
    const { certificate, clientCa } = this.#tls;
    const pair = certificate.current();
    const ca = clientCa?.current();
    return {
      ...this.#fixed,
      ...(pair && { cert: pair.cert, key: pair.key }),
      ...(ca !== undefined && { ca }),
    };
  }

  /** Applies to new connections; open ones are not affected here. */
  follow(set: (options: SecureContextOptions) => void, signal: AbortSignal, logger: Logger): void {
    const renew = () => {
      try {
        const options = this.#options();
        set(options);
        this.#clientCa = options.ca;
      } catch (error) {
        const cause = new KubeletError("ServingCertificate", messageOf(error), { cause: error });
        logger.error("Failed to load new serving certificate", { err: cause.message });
      }
    };
    const ends = [this.#tls.certificate.onChange(renew), this.#tls.clientCa?.onChange(renew)];
    whenAborted(signal, () => ends.forEach((end) => void end?.()));
  }
}
