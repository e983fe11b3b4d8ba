import { orAbort } from "../../../../lib/base/abort.ts";
import type { Clock } from "../../../../lib/base/clock.ts";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../../../lib/base/metrics.ts";
import { type Pod, podRef } from "../../../../lib/model/pod.ts";
import { Keyring } from "../keyring.ts";
import type { TrackedCredential } from "../tracked-credential.ts";
import { CredentialProvider } from "./credential-provider.ts";
import type { PluginRun } from "./exec-plugin.ts";
import type { LoadedProviders } from "./load-providers.ts";
import { providerMetrics } from "./provider-metrics.ts";
import type { TokenSource } from "./token-source.ts";

export interface CredentialProvidersOptions {
  loaded: LoadedProviders;
  clock: Clock;
  logger: Logger;
  /** Without it, plugins that need service account tokens fail. */
  tokens?: TokenSource;
  metrics?: Metrics;
  environment?: () => Readonly<Record<string, string | undefined>>;
  run?: (run: PluginRun) => Promise<string>;
}

/** The node's credential provider plugins. A plugin that fails is logged and does not affect the others. */
export class CredentialProviders {
  readonly #logger: Logger;
  readonly #providers: readonly CredentialProvider[];

  constructor(options: CredentialProvidersOptions) {
    const { loaded, clock, tokens, run, environment = () => process.env } = options;
    this.#logger = options.logger;
    const metrics = providerMetrics(options.metrics ?? createMetrics(), loaded.hash);
    this.#providers = loaded.providers.map(
      (config) => new CredentialProvider({ config, clock, tokens, metrics, environment, run }),
    );
  }

  /** The credentials to try for a repository: longer paths first, then in the order of the configuration. */
  async lookup(pod: Pod, repository: string, signal?: AbortSignal): Promise<TrackedCredential[]> {
    const keyring = new Keyring();
    const provided = this.#providers.map((provider) => this.#provide(provider, pod, repository));
    // An execution is not aborted for one pod: others may wait for it, and its response is cached.
    for (const { auth, source } of await orAbort(Promise.all(provided), signal)) keyring.add(auth, source);
    return keyring.lookup(repository);
  }

  async #provide(provider: CredentialProvider, pod: Pod, repository: string) {
    try {
      return await provider.provide(pod, repository);
    } catch (error) {
      this.#logger.error("Failed to provide credentials for image", {
        provider: provider.name,
        image: repository,
        pod: podRef(pod),
        podUID: pod.metadata.uid,
        err: messageOf(error),
      });
      return { auth: [] };
    }
  }
}
