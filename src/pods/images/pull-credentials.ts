import { KubeletError, messageOf } from "../../base/errors.ts";
import type { AuthConfigInit } from "../../clients/cri/cri.ts";
import type { Pod } from "../../model/pod.ts";
import type { PodEvents } from "../../model/pod-events.ts";
import { type DockerConfig, parseDockerCfg, parseDockerConfigJson } from "./docker-config.ts";
import { repositoryOf } from "./image-name.ts";
import { Keyring } from "./keyring.ts";

/** What pulling needs of a secret; values are base64, as the API sends them. */
export interface PullSecret {
  type?: string;
  data?: Readonly<Record<string, string>>;
}

export interface PullCredentialsOptions {
  /** Undefined if there is no such secret, or no way to ask for it. */
  secret: (namespace: string, name: string) => Promise<PullSecret | undefined>;
  node: { read(): Promise<DockerConfig> };
  events: PodEvents;
}

const forms = [
  { type: "kubernetes.io/dockerconfigjson", key: ".dockerconfigjson", parse: parseDockerConfigJson },
  { type: "kubernetes.io/dockercfg", key: ".dockercfg", parse: parseDockerCfg },
];

/** What to say to a registry when a pod pulls: first what the pod's secrets give, then the node's own. */
export class PullCredentials {
  readonly #o: PullCredentialsOptions;

  constructor(options: PullCredentialsOptions) {
    this.#o = options;
  }

  /** The credentials to try, in this order. None means: pull without. */
  async credentials(pod: Pod, image: string): Promise<AuthConfigInit[]> {
    const repository = repositoryOf(image);
    if (!repository) return [];
    const ofPod = new Keyring();
    for (const config of await this.#ofSecrets(pod)) ofPod.add(config);
    const ofNode = new Keyring();
    ofNode.add(await this.#o.node.read());
    return [...ofPod.lookup(repository), ...ofNode.lookup(repository)].map(({ username, password }) => ({
      username,
      password,
    }));
  }

  async #ofSecrets(pod: Pod): Promise<DockerConfig[]> {
    const { namespace } = pod.metadata;
    const configs: DockerConfig[] = [];
    const missing: string[] = [];
    for (const { name } of pod.spec.imagePullSecrets ?? []) {
      if (!name) continue;
      const secret = await this.#o.secret(namespace, name).catch(() => undefined);
      if (secret) configs.push(...configOf(secret, `${namespace}/${name}`));
      else missing.push(name);
    }
    if (missing.length > 0)
      this.#o.events.warning(
        pod,
        "FailedToRetrieveImagePullSecret",
        `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`,
      );
    return configs;
  }
}

/** Secrets of other types are not ours to read. */
function configOf(secret: PullSecret, name: string): DockerConfig[] {
  for (const { type, key, parse } of forms) {
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
