import { readFile } from "node:fs/promises";
import { type Clock, msFromNow } from "../../base/clock.ts";
import { KubeletError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { MonotonicTime } from "../../base/time.ts";
import { ExecAuthenticator } from "./exec-plugin.ts";
import type { PluginMetrics } from "./exec-plugin-metrics.ts";
import type { KubeAccess, UserAccess } from "./kubeconfig.ts";
import { type KeyPair, keyPair, PemFiles } from "./pem-files.ts";

/** The credentials of one request. */
export interface Credentials {
  readonly authorization: string | undefined;
  /** The same object as long as the certificate does not change: another certificate needs new connections. */
  readonly clientCertificate: KeyPair | undefined;
}

export interface Authenticator {
  current(signal?: AbortSignal): Promise<Credentials>;
  /** The server rejected these (401). True if there are new ones to retry with. */
  rejected(credentials: Credentials, signal?: AbortSignal): Promise<boolean>;
}

export interface AuthOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether a plugin may prompt a user at our standard input. */
  readonly stdinIsTerminal?: boolean;
  readonly plugins?: PluginMetrics;
}

export function authenticatorFor(access: KubeAccess, options: AuthOptions): Authenticator {
  const { user, cluster } = access;
  // Secrets are not sent over an unencrypted connection.
  if (cluster.server.protocol !== "https:") return new FixedAuthenticator({ ...anonymous });
  const hasOwn = user.token || user.tokenFile || user.basic || user.clientCertificate;
  if (user.exec && !hasOwn) return new ExecAuthenticator(user.exec, cluster, options);
  return new FixedAuthenticator(user, options);
}

const anonymous: UserAccess = {
  clientCertificate: undefined,
  token: undefined,
  tokenFile: undefined,
  basic: undefined,
  exec: undefined,
};

/** Credentials in the kubeconfig or in files that it names: certificate, token, password. */
class FixedAuthenticator implements Authenticator {
  readonly #pair: PemFiles<KeyPair> | undefined;
  readonly #token: TokenFile | undefined;
  readonly #fixed: string | undefined;

  constructor(user: UserAccess, options?: AuthOptions) {
    const pair = user.clientCertificate;
    if (pair && options) {
      const make = ([cert = "", key = ""]: readonly string[]) =>
        keyPair(cert, key, pair.cert.field, pair.key.field);
      const goodUntil = (value: KeyPair) => value.goodUntil;
      this.#pair = new PemFiles([pair.cert, pair.key], make, { ...options, goodUntil });
    }
    if (user.tokenFile !== undefined && options) {
      this.#token = new TokenFile(user.tokenFile, user.token, options);
    } else if (user.token !== undefined) {
      this.#fixed = `Bearer ${user.token}`;
    } else if (user.basic) {
      const { username, password } = user.basic;
      this.#fixed = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
    }
  }

  async current(): Promise<Credentials> {
    const clientCertificate = await this.#pair?.current();
    const token = await this.#token?.current();
    return { authorization: token === undefined ? this.#fixed : `Bearer ${token}`, clientCertificate };
  }

  async rejected(credentials: Credentials): Promise<boolean> {
    this.#pair?.forget();
    this.#token?.forget();
    const { authorization, clientCertificate } = await this.current();
    return authorization !== credentials.authorization || clientCertificate !== credentials.clientCertificate;
  }
}

/** A token is considered fresh for this long; the writer of such files replaces them well before they expire. */
const tokenFreshMs = 50_000;

/** A file with a token, read again every minute and after a 401. */
class TokenFile {
  readonly #path: string;
  readonly #fallback: string | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #token: string | undefined;
  #goodUntil: MonotonicTime | undefined;

  constructor(path: string, fallback: string | undefined, options: AuthOptions) {
    this.#path = path;
    this.#fallback = fallback;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  async current(): Promise<string> {
    const isGood = this.#goodUntil !== undefined && this.#clock.monotonic() < this.#goodUntil;
    if (this.#token !== undefined && isGood) return this.#token;
    try {
      const token = (await readFile(this.#path, "utf8")).trim();
      if (token === "") throw new Error("it is empty");
      this.#token = token;
      this.#goodUntil = msFromNow(this.#clock, tokenFreshMs);
      return token;
    } catch (error) {
      const message = `token file ${this.#path}: ${messageOf(error)}`;
      const known = this.#token ?? this.#fallback;
      if (known === undefined) throw new KubeletError("Kubeconfig", message, { cause: error });
      this.#logger.warn("Failed to read token file, keeping the previous token", { err: message });
      // Do not read the file again for each request.
      this.#goodUntil = msFromNow(this.#clock, retryTokenMs);
      this.#token = known;
      return known;
    }
  }

  forget(): void {
    this.#goodUntil = undefined;
  }
}

const retryTokenMs = 5000;
