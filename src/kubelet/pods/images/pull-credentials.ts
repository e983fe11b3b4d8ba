import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import { type DockerConfig, parseDockerCfg, parseDockerConfigJson } from "./docker-config.ts";
import { repositoryOf } from "./image-name.ts";
import { Keyring } from "./keyring.ts";
import type { CredentialSource, TrackedCredential } from "./tracked-credential.ts";

/** The fields of a pull secret; values are base64, as the API sends them. */
export interface PullSecret {
  metadata?: { readonly uid?: string };
  type?: string;
  data?: Readonly<Record<string, string>>;
}

export interface PullCredentialsOptions {
  /** Undefined if there is no such secret, or no source of secrets. */
  secret: (namespace: string, name: string, signal: AbortSignal) => Promise<PullSecret | undefined>;
  node: { read(): Promise<DockerConfig> };
  /** The node's credential provider plugins, if it has any. */
  providers?: { lookup(pod: Pod, repository: string, signal?: AbortSignal): Promise<TrackedCredential[]> };
  events: PodEvents;
}

const formats = [
  { type: "kubernetes.io/dockerconfigjson", key: ".dockerconfigjson", parse: parseDockerConfigJson },
  { type: "kubernetes.io/dockercfg", key: ".dockercfg", parse: parseDockerCfg },
];

/** The credentials for a pull of a pod: of the pod's secrets, then of the node, then of credential provider plugins. */
export class PullCredentials {
  readonly #o: PullCredentialsOptions;

  constructor(options: PullCredentialsOptions) {
    this.#o = options;
  }

  /** The credentials to try, in this order. None means: pull anonymously. */
  async credentials(pod: Pod, image: string, signal: AbortSignal): Promise<TrackedCredential[]> {
    const repository = repositoryOf(image);
    if (!repository) return [];
    const ofPod = await this.#ofSecrets(pod, signal);
    const ofNode = new Keyring();
    ofNode.add(await this.#o.node.read());
    const ofPlugins = (await this.#o.providers?.lookup(pod, repository, signal)) ?? [];
    return [...ofPod.lookup(repository), ...ofNode.lookup(repository), ...ofPlugins];
  }

  /** Reports the pull secrets of a pod that cannot be retrieved: with each sync, whether or not an image has to be pulled. */
  async reportMissing(pod: Pod, signal: AbortSignal): Promise<void> {
    const { missing } = await this.#secretsOf(pod, signal);
    if (missing.length > 0)
      this.#o.events.warning(
        pod,
        "FailedToRetrieveImagePullSecret",
        `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`,
      );
  }

  async #ofSecrets(pod: Pod, signal: AbortSignal): Promise<Keyring> {
    const { namespace } = pod.metadata;
    const keyring = new Keyring();
    for (const { name, secret } of (await this.#secretsOf(pod, signal)).found) {
      const uid = secret.metadata?.uid ?? "";
      const source: CredentialSource = { kind: "secret", uid, namespace, name };
      for (const config of configOf(secret, `${namespace}/${name}`)) keyring.add(config, source);
    }
    return keyring;
  }

  async #secretsOf(pod: Pod, signal: AbortSignal) {
    const found: { name: string; secret: PullSecret }[] = [];
    const missing: string[] = [];
    for (const { name } of pod.spec.imagePullSecrets ?? []) {
      if (!name) continue;
      const secret = await this.#o.secret(pod.metadata.namespace, name, signal).catch((error) => {
        if (isAbort(error)) throw error;
      });
      if (secret) found.push({ name, secret });
      else missing.push(name);
    }
    return { found, missing };
  }
}

/** Secrets of other types are ignored. */
function configOf(secret: PullSecret, name: string): DockerConfig[] {
  for (const { type, key, parse } of formats) {
    const data = secret.data?.[key];
    if (secret.type !== type || !data) continue;
    try {
      return [parse(Buffer.from(data, "base64").toString("utf8"))];
    } catch (error) {
      throw new KubeletError("ErrImagePull", `pull secret ${name}: ${messageOf(error)}`, { cause: error });
    }
  }
  return [];
}
