import { createHash } from "node:crypto";
import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { DockerConfig } from "../docker-config.ts";
import { registryMatches } from "../registry-match.ts";
import type { CredentialSource } from "../tracked-credential.ts";
import { execPlugin, type PluginRun } from "./exec-plugin.ts";
import type { ProviderConfig, TokenAttributes } from "./load-providers.ts";
import { ProviderCache } from "./provider-cache.ts";
import {
  decodeResponse,
  encodeRequest,
  type ProviderRequest,
  type ProviderResponse,
} from "./provider-exchange.ts";
import type { ProviderMetrics } from "./provider-metrics.ts";
import type { TokenSource } from "./token-source.ts";

export interface CredentialProviderOptions {
  config: ProviderConfig;
  clock: Clock;
  tokens: TokenSource | undefined;
  metrics: ProviderMetrics;
  environment: () => Readonly<Record<string, string | undefined>>;
  run?: (run: PluginRun) => Promise<string>;
}

export interface ProvidedCredentials {
  readonly auth: DockerConfig;
  /** The service account that was passed to the plugin, if any. */
  readonly source?: CredentialSource;
}

/** The service account that a plugin is executed for. */
interface Account {
  readonly source: CredentialSource;
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const timeoutMs = 60_000;
const noCredentials: ProvidedCredentials = { auth: [] };

/** One credential provider plugin. */
export class CredentialProvider {
  readonly #o: CredentialProviderOptions;
  readonly #cache: ProviderCache;
  /** Executions in progress, by request. */
  readonly #running = new Map<string, Promise<ProviderResponse>>();

  constructor(options: CredentialProviderOptions) {
    this.#o = options;
    this.#cache = new ProviderCache(options.clock);
  }

  get name(): string {
    return this.#o.config.name;
  }

  /** The credentials for a repository ("quay.io/team/app"). Fails if the plugin or the service account token does. */
  async provide(pod: Pod, repository: string): Promise<ProvidedCredentials> {
    const { matchImages, tokens } = this.#o.config;
    if (!matchImages.some((pattern) => registryMatches(pattern, repository))) return noCredentials;
    const account = tokens ? await this.#account(pod, tokens) : "none";
    if (account === "ineligible") return noCredentials;
    if (account === "none") return { auth: await this.#auth({ image: repository }, "") };
    const { token, annotations, source } = account;
    const request = { image: repository, token, annotations };
    return { auth: await this.#auth(request, accountCacheKeyOf(account, tokens)), source };
  }

  /** "none": executed without one; "ineligible": not executed for this pod. */
  async #account(pod: Pod, attributes: TokenAttributes): Promise<Account | "none" | "ineligible"> {
    const { namespace, name: podName, uid: podUid } = pod.metadata;
    const name = pod.spec.serviceAccountName ?? "";
    if (name === "") return attributes.requireServiceAccount ? "ineligible" : "none";
    const { tokens } = this.#o;
    if (!tokens)
      throw new KubeletError("CredentialProvider", "failed to get service account: no API server is known");
    const account = await tokens.serviceAccount(namespace, name).catch((error) => {
      throw new KubeletError("CredentialProvider", `failed to get service account: ${messageOf(error)}`, {
        cause: error,
      });
    });
    // Workloads opt in by such an annotation.
    if (attributes.requiredAnnotations.some((key) => account.annotations?.[key] === undefined))
      return "ineligible";
    const keys = [...attributes.requiredAnnotations, ...attributes.optionalAnnotations];
    const annotations: Record<string, string> = {};
    for (const key of keys.toSorted((a, b) => (a < b ? -1 : 1))) {
      const value = account.annotations?.[key];
      if (value !== undefined) annotations[key] = value;
    }
    const request = {
      namespace,
      serviceAccount: name,
      serviceAccountUid: account.uid,
      audience: attributes.audience,
      pod: { uid: podUid, name: podName, namespace },
    };
    const token = await tokens.token(request).catch((error) => {
      throw new KubeletError(
        "CredentialProvider",
        `failed to get service account token: ${messageOf(error)}`,
        { cause: error },
      );
    });
    return { source: { kind: "serviceAccount", uid: account.uid, namespace, name }, token, annotations };
  }

  async #auth(request: ProviderRequest, accountKey: string): Promise<DockerConfig> {
    const cached = this.#cache.get(request.image, accountKey);
    if (cached) return cached;
    const { config } = this.#o;
    const { cacheKeyType, cacheMs, auth } = await this.#once(request);
    if (
      request.token &&
      config.tokens?.cacheType !== "Token" &&
      auth.some(([, { password }]) => password === request.token)
    )
      throw new KubeletError(
        "CredentialProvider",
        "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
      );
    const forMs = cacheMs ?? config.defaultCacheMs;
    if (forMs !== 0) this.#cache.set(cacheKeyType, request.image, accountKey, auth, forMs);
    return auth;
  }

  /** Equal requests at the same time share one execution. */
  #once(request: ProviderRequest): Promise<ProviderResponse> {
    const key = JSON.stringify([request.image, request.token, request.annotations]);
    const running = this.#running.get(key);
    if (running) return running;
    const run = this.#run(request).finally(() => this.#running.delete(key));
    this.#running.set(key, run);
    return run;
  }

  async #run(request: ProviderRequest): Promise<ProviderResponse> {
    const { config, clock, metrics, environment, run = execPlugin } = this.#o;
    const { name, path, args, apiVersion } = config;
    const env = { ...environment() };
    for (const variable of config.env) env[variable.name] = variable.value;
    const startedAt = clock.monotonic();
    const record = (failed: boolean) => metrics.ran(name, msSince(clock, startedAt) / 1000, failed);
    let output: string;
    try {
      const input = encodeRequest(apiVersion, request);
      const secret = request.token ? { secret: request.token } : {};
      output = await run({ path, args, env, input, ...secret, clock, timeoutMs });
    } catch (error) {
      record(true);
      const message = request.token
        ? messageOf(error).replaceAll(request.token, "[token]")
        : messageOf(error);
      const what = `error execing credential provider plugin ${name} for image ${request.image}`;
      throw new KubeletError("CredentialProvider", `${what}: ${message}`);
    }
    record(false);
    return decodeResponse(apiVersion, output);
  }
}

/** The part of the cache key for a service account: with its annotations and, if responses are cached by token, the hash of the token. */
function accountCacheKeyOf(
  { source, token, annotations }: Account,
  attributes: TokenAttributes | undefined,
): string {
  const { namespace, name, uid } = source;
  const hash = attributes?.cacheType === "Token" ? createHash("sha256").update(token).digest("hex") : "";
  return JSON.stringify([namespace, name, uid, annotations, hash]);
}
