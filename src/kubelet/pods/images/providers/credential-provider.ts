import { createHash } from "node:crypto";
import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { DockerConfig } from "../docker-config.ts";
import { registryMatches } from "../registry-match.ts";
import type { CredentialSource } from "../tracked-credential.ts";
import type { ProviderConfig, TokenAttributes } from "./load-providers.ts";
import { ProviderCache } from "./provider-cache.ts";
import {
  decodeResponse,
  encodeRequest,
  type ProviderRequest,
  type ProviderResponse,
} from "./provider-exchange.ts";
import type { ProviderMetrics } from "./provider-metrics.ts";
import { type ProgramRun, runProgram } from "./run-program.ts";
import type { TokenSource } from "./token-source.ts";

export interface CredentialProviderOptions {
  config: ProviderConfig;
  clock: Clock;
  tokens: TokenSource | undefined;
  metrics: ProviderMetrics;
  environment: () => Readonly<Record<string, string | undefined>>;
  run?: (run: ProgramRun) => Promise<string>;
}

export interface Provided {
  readonly auth: DockerConfig;
  /** The service account that the program was told of, if it was. */
  readonly source?: CredentialSource;
}

/** In whose name a program is asked. */
interface Account {
  readonly source: CredentialSource;
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const timeoutMs = 60_000;
const nothing: Provided = { auth: [] };

/** One program that knows credentials for some images. */
export class CredentialProvider {
  readonly #o: CredentialProviderOptions;
  readonly #cache: ProviderCache;
  /** Runs that are under way, by what they were asked. */
  readonly #running = new Map<string, Promise<ProviderResponse>>();

  constructor(options: CredentialProviderOptions) {
    this.#o = options;
    this.#cache = new ProviderCache(options.clock);
  }

  get name(): string {
    return this.#o.config.name;
  }

  /** What it knows for a repository ("quay.io/team/app"). Fails if the program, or the way to ask it, does. */
  async provide(pod: Pod, repository: string): Promise<Provided> {
    const { matchImages, tokens } = this.#o.config;
    if (!matchImages.some((pattern) => registryMatches(pattern, repository))) return nothing;
    const account = tokens ? await this.#account(pod, tokens) : "none";
    if (account === "unfit") return nothing;
    if (account === "none") return { auth: await this.#auth({ image: repository }, "") };
    const { token, annotations, source } = account;
    const asked = { image: repository, token, annotations };
    return { auth: await this.#auth(asked, holderOf(account, tokens)), source };
  }

  /** "none": asked without one; "unfit": not asked for this pod. */
  async #account(pod: Pod, wanted: TokenAttributes): Promise<Account | "none" | "unfit"> {
    const { namespace, name: podName, uid: podUid } = pod.metadata;
    const name = pod.spec.serviceAccountName ?? "";
    if (name === "") return wanted.requireServiceAccount ? "unfit" : "none";
    const { tokens } = this.#o;
    if (!tokens)
      throw new KubeletError("CredentialProvider", "failed to get service account: no API server is known");
    const facts = await tokens.serviceAccount(namespace, name).catch((error) => {
      throw new KubeletError("CredentialProvider", `failed to get service account: ${messageOf(error)}`, {
        cause: error,
      });
    });
    // By such an annotation a workload may say that it wants this at all.
    if (wanted.requiredAnnotations.some((key) => facts.annotations?.[key] === undefined)) return "unfit";
    const keys = [...wanted.requiredAnnotations, ...wanted.optionalAnnotations];
    const annotations: Record<string, string> = {};
    for (const key of keys.toSorted((a, b) => (a < b ? -1 : 1))) {
      const value = facts.annotations?.[key];
      if (value !== undefined) annotations[key] = value;
    }
    const question = {
      namespace,
      serviceAccount: name,
      serviceAccountUid: facts.uid,
      audience: wanted.audience,
      pod: { uid: podUid, name: podName, namespace },
    };
    const token = await tokens.token(question).catch((error) => {
      throw new KubeletError(
        "CredentialProvider",
        `failed to get service account token: ${messageOf(error)}`,
        { cause: error },
      );
    });
    return { source: { kind: "serviceAccount", uid: facts.uid, namespace, name }, token, annotations };
  }

  async #auth(asked: ProviderRequest, holder: string): Promise<DockerConfig> {
    const kept = this.#cache.get(asked.image, holder);
    if (kept) return kept;
    const { config } = this.#o;
    const { cacheKeyType, cacheMs, auth } = await this.#once(asked);
    if (
      asked.token &&
      config.tokens?.cacheType !== "Token" &&
      auth.some(([, { password }]) => password === asked.token)
    )
      throw new KubeletError(
        "CredentialProvider",
        "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
      );
    const forMs = cacheMs ?? config.defaultCacheMs;
    if (forMs !== 0) this.#cache.put(cacheKeyType, asked.image, holder, auth, forMs);
    return auth;
  }

  /** Those who ask the same at the same time share one run. */
  #once(asked: ProviderRequest): Promise<ProviderResponse> {
    const key = JSON.stringify([asked.image, asked.token, asked.annotations]);
    const running = this.#running.get(key);
    if (running) return running;
    const run = this.#run(asked).finally(() => this.#running.delete(key));
    this.#running.set(key, run);
    return run;
  }

  async #run(asked: ProviderRequest): Promise<ProviderResponse> {
    const { config, clock, metrics, environment, run = runProgram } = this.#o;
    const { name, path, args, apiVersion } = config;
    const env = { ...environment() };
    for (const variable of config.env) env[variable.name] = variable.value;
    const startedAt = clock.monotonic();
    const note = (failed: boolean) => metrics.ran(name, msSince(clock, startedAt) / 1000, failed);
    let output: string;
    try {
      output = await run({ path, args, env, input: encodeRequest(apiVersion, asked), clock, timeoutMs });
    } catch (error) {
      note(true);
      const said = asked.token ? messageOf(error).replaceAll(asked.token, "[token]") : messageOf(error);
      const what = `error execing credential provider plugin ${name} for image ${asked.image}`;
      throw new KubeletError("CredentialProvider", `${what}: ${said}`);
    }
    note(false);
    return decodeResponse(apiVersion, output);
  }
}

/** For whom an answer is good: a service account as it is now, or one token of it. */
function holderOf({ source, token, annotations }: Account, wanted: TokenAttributes | undefined): string {
  const { namespace, name, uid } = source;
  const hash = wanted?.cacheType === "Token" ? createHash("sha256").update(token).digest("hex") : "";
  return JSON.stringify([namespace, name, uid, annotations, hash]);
}
