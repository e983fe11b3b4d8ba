import type { DockerConfig } from "./docker-config.ts";
import { registryKey, registryMatches } from "./registry-match.ts";
import type { CredentialSource, TrackedCredential } from "./tracked-credential.ts";

const defaultRegistry = "index.docker.io";

/** Credentials by registry, and which of them to try for an image. */
export class Keyring {
  #credentials = new Map<string, TrackedCredential[]>();

  /** Credentials without a source belong to the node and are for every pod. */
  add(config: DockerConfig, source?: CredentialSource): void {
    for (const [registry, entry] of config) {
      const credential = source ? { ...entry, source } : entry;
      const key = registryKey(registry);
      const known = this.#credentials.get(key);
      if (known) known.push(credential);
      else this.#credentials.set(key, [credential]);
    }
  }

  /** The credentials that match a repository ("quay.io/team/app"), in the order to try them: longer paths first. */
  lookup(repository: string): TrackedCredential[] {
    const keys = [...this.#credentials.keys()].sort((a, b) => (a < b ? 1 : -1));
    const found = keys
      .filter((key) => registryMatches(key, repository))
      .flatMap((key) => this.#credentials.get(key)!);
    if (found.length > 0 || !isInDefaultRegistry(repository)) return found;
    return this.#credentials.get(defaultRegistry) ?? [];
  }
}

function isInDefaultRegistry(repository: string): boolean {
  const [first = "", ...rest] = repository.split("/");
  if (first === "") return false;
  return rest.length === 0 || first === "docker.io" || first === defaultRegistry || !/[.:]/.test(first);
}
