import type { ChildProcess } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { orAbort } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { errnoOf, KubeletError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { epochMs, msBetween, type WallTime, wallTime } from "../../base/time.ts";
import { startProgram } from "../../host/start-program.ts";
import type { Authenticator, AuthOptions, Credentials } from "./auth.ts";
import type { PluginMetrics } from "./exec-plugin-metrics.ts";
import type { ClusterAccess, ExecPlugin } from "./kubeconfig.ts";
import { certificateAuthority, type KeyPair, keyPair, PemFiles } from "./pem-files.ts";

const timeoutMs = 60_000;
const maxOutput = 1024 * 1024;
const maxStderr = 2048;

/** Runs the user's credential plugin and keeps the credentials until they expire or the server rejects them. */
export class ExecAuthenticator implements Authenticator {
  readonly #plugin: ExecPlugin;
  readonly #cluster: ClusterAccess;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stdinIsTerminal: boolean;
  readonly #metrics: PluginMetrics | undefined;
  readonly #authority: PemFiles<string> | undefined;
  #known: { credentials: Credentials; expiresAt: WallTime | undefined } | undefined;
  #refreshing: Promise<Credentials> | undefined;

  constructor(plugin: ExecPlugin, cluster: ClusterAccess, options: AuthOptions) {
    this.#plugin = plugin;
    this.#cluster = cluster;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#stdinIsTerminal = options.stdinIsTerminal ?? false;
    this.#metrics = options.plugins;
    const source = cluster.certificateAuthority;
    if (plugin.provideClusterInfo && source) {
      const make = ([pem = ""]: readonly string[]) => certificateAuthority(pem, source.field);
      this.#authority = new PemFiles([source], make, options);
    }
  }

  async current(signal?: AbortSignal): Promise<Credentials> {
    if (this.#known && !this.#isExpired(this.#known)) return this.#known.credentials;
    return orAbort(this.#refresh(), signal);
  }

  #isExpired({ expiresAt }: { expiresAt: WallTime | undefined }): boolean {
    return expiresAt !== undefined && this.#clock.wall() > expiresAt;
  }

  async rejected(credentials: Credentials, signal?: AbortSignal): Promise<boolean> {
    // Another caller was rejected with the same ones and has already refreshed them.
    if (this.#known && this.#known.credentials !== credentials) return true;
    const fresh = await orAbort(this.#refresh(), signal);
    return (
      fresh.authorization !== credentials.authorization ||
      fresh.clientCertificate !== credentials.clientCertificate
    );
  }

  /** One run at a time, however many requests wait for it; an aborted request does not end it for the others. */
  #refresh(): Promise<Credentials> {
    this.#refreshing ??= this.#run().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #run(): Promise<Credentials> {
    const { command, apiVersion } = this.#plugin;
    try {
      const interactive = this.#interactive();
      const info = JSON.stringify({
        kind: "ExecCredential",
        apiVersion,
        spec: { ...(await this.#clusterInfo()), interactive },
      });
      const output = await this.#spawn(interactive, info);
      const { credentials, expiresAt } = readCredential(output, apiVersion, this.#known?.credentials);
      this.#count(this.#known?.credentials.clientCertificate, credentials.clientCertificate);
      this.#known = { credentials, expiresAt };
      return credentials;
    } catch (error) {
      throw new KubeletError("ExecPlugin", `credential plugin ${command}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  #count(previous: KeyPair | undefined, current: KeyPair | undefined): void {
    if (previous && previous !== current) {
      const { validFromDate } = new X509Certificate(previous.cert);
      this.#metrics?.rotated(msBetween(wallTime(validFromDate), this.#clock.wall()) / 1000);
    }
    this.#metrics?.received(this, current?.goodUntil);
  }

  #interactive(): boolean {
    switch (this.#plugin.interactiveMode) {
      case "Never":
        return false;
      case "IfAvailable":
        return this.#stdinIsTerminal;
      case "Always":
        if (!this.#stdinIsTerminal)
          throw new Error("interactiveMode is Always, and standard input is not a terminal");
        return true;
      default:
        return this.#plugin.interactiveMode satisfies never;
    }
  }

  async #clusterInfo(): Promise<object> {
    if (!this.#plugin.provideClusterInfo) return {};
    const cluster = this.#cluster;
    const authority = await this.#authority?.current();
    return {
      cluster: {
        server: cluster.server.href.replace(/\/$/, ""),
        ...(cluster.tlsServerName && { "tls-server-name": cluster.tlsServerName }),
        ...(cluster.insecureSkipTlsVerify && { "insecure-skip-tls-verify": true }),
        ...(authority && { "certificate-authority-data": Buffer.from(authority).toString("base64") }),
        ...(cluster.proxyUrl && { "proxy-url": cluster.proxyUrl.href.replace(/\/$/, "") }),
        ...(cluster.disableCompression && { "disable-compression": true }),
        config: cluster.execConfig ?? null,
      },
    };
  }

  #spawn(interactive: boolean, info: string): Promise<string> {
    const { command, args, env, installHint } = this.#plugin;
    return new Promise((resolve, reject) => {
      const child = startProgram(
        { program: command, verbatim: args },
        {
          env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
          stdio: [interactive ? "inherit" : "ignore", "pipe", "pipe"],
          // In its own process group, so that its children are killed with it; only the group in the foreground reads from the terminal.
          detached: !interactive,
        },
      );
      let output = "";
      let stderr = "";
      const withStderr = (why: string) => (stderr.trim() ? `${why}: ${stderr.trim()}` : why);
      const stop = (why: string) => {
        cancel();
        killProgram(child, !interactive);
        // Its children may keep the streams open: do not wait for them.
        child.stdout?.destroy();
        child.stderr?.destroy();
        reject(new Error(withStderr(why)));
      };
      // Typing a password may take a while.
      const cancel = interactive
        ? () => {}
        : this.#clock.after(timeoutMs, () => stop(`did not exit within ${timeoutMs / 1000} s`));
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (output.length > maxOutput) stop(`wrote more than ${maxOutput} bytes`);
      });
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        stderr = (stderr + text).slice(-maxStderr);
      });
      child.on("error", (error) => {
        cancel();
        this.#metrics?.called("plugin_not_found_error", 1);
        const hint = installHint ? `\n${installHint}` : "";
        reject(errnoOf(error) === "ENOENT" ? new Error(`there is no such program${hint}`) : error);
      });
      child.on("close", (code, signal) => {
        cancel();
        // Killed by a signal: -1, as in Go. A program that did not start has been counted.
        if (child.pid !== undefined)
          this.#metrics?.called(code === 0 ? "no_error" : "plugin_execution_error", code ?? -1);
        if (code !== 0)
          return reject(
            new Error(withStderr(signal ? `killed by ${signal}` : `failed with exit code ${code}`)),
          );
        if (stderr.trim())
          this.#logger.info("Credential plugin wrote to stderr", { command, output: stderr.trim() });
        resolve(output);
      });
    });
  }
}

function killProgram(child: ChildProcess, isGroup: boolean): void {
  if (child.pid === undefined) return;
  try {
    process.kill(isGroup ? -child.pid : child.pid, "SIGKILL");
  } catch {
    // It has already exited.
  }
}

function readCredential(
  output: string,
  apiVersion: string,
  previous: Credentials | undefined,
): { credentials: Credentials; expiresAt: WallTime | undefined } {
  let credential: { kind?: unknown; apiVersion?: unknown; status?: Record<string, unknown> | null } | null;
  try {
    credential = JSON.parse(output);
  } catch {
    throw new Error("did not write an ExecCredential in JSON");
  }
  if (credential?.kind !== "ExecCredential") throw new Error("did not write an ExecCredential");
  if (credential.apiVersion !== apiVersion)
    throw new Error(`is configured for ${apiVersion} and wrote ${String(credential.apiVersion)}`);
  if (!credential.status) throw new Error("wrote an ExecCredential without a status");
  const field = (name: string): string => {
    const value = credential.status?.[name];
    return typeof value === "string" ? value : "";
  };
  const [token, cert, key] = [field("token"), field("clientCertificateData"), field("clientKeyData")];
  if (!token && !cert && !key) throw new Error("returned neither a token nor a certificate with its key");
  if (!cert !== !key) throw new Error("returned only one of certificate and key");
  const expiry = field("expirationTimestamp");
  const expiresAt = expiry ? wallTime(expiry) : undefined;
  if (expiresAt !== undefined && Number.isNaN(epochMs(expiresAt)))
    throw new Error(`status.expirationTimestamp is not a time: ${expiry}`);
  return {
    credentials: {
      authorization: token ? `Bearer ${token}` : undefined,
      clientCertificate: cert ? samePair(cert, key, previous?.clientCertificate) : undefined,
    },
    expiresAt,
  };
}

/** Keeps the object if it is the same certificate: connections are renewed only for another certificate. */
function samePair(cert: string, key: string, previous: KeyPair | undefined): KeyPair {
  if (previous?.cert === cert && previous.key === key) return previous;
  return keyPair(cert, key, "status.clientCertificateData", "status.clientKeyData");
}
