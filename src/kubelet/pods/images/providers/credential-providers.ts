import type { Clock } from "../../../../lib/base/clock.ts";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../../../lib/base/metrics.ts";
import { orAbort } from "../../../../lib/clients/kube/deadline.ts";
import { type Pod, podRef } from "../../../../lib/model/pod.ts";
import { Keyring } from "../keyring.ts";
import type { TrackedCredential } from "../tracked-credential.ts";
import { CredentialProvider } from "./credential-provider.ts";
import type { LoadedProviders } from "./load-providers.ts";
import { providerMetrics } from "./provider-metrics.ts";
import type { ProgramRun } from "./run-program.ts";
import type { TokenSource } from "./token-source.ts";

export interface CredentialProvidersOptions {
  loaded: LoadedProviders;
  clock: Clock;
  logger: Logger;
  /** Without it, programs that want tokens of service accounts are of no use. */
  tokens?: TokenSource;
  metrics?: Metrics;
  environment?: () => Readonly<Record<string, string | undefined>>;
  run?: (run: ProgramRun) => Promise<string>;
}

/** The node's credential programs. One that fails gives nothing, and keeps no other from giving. */
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

  /** What to try for a repository: of longer paths first, then of programs as they are configured. */
  async lookup(pod: Pod, repository: string, signal?: AbortSignal): Promise<TrackedCredential[]> {
    const keyring = new Keyring();
    const asked = this.#providers.map((provider) => this.#provide(provider, pod, repository));
    // A run is not ended for one pod: others may wait for it, and its answer is kept.
    for (const { auth, source } of await orAbort(Promise.all(asked), signal)) keyring.add(auth, source);
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
