import { type Clock, sleep } from "../../../../lib/base/clock.ts";
import type { ServiceAccount } from "../../../../lib/gen/kubernetes/core.d.ts";
import type { PodSpec, Volume } from "../../../../lib/model/pod.ts";
import { checkNoApiReferences } from "../../../../lib/model/validation/api-references.ts";
import type { RequestContext } from "../../../definition.ts";
import { asModelPod, isMirror, type PodDraft } from "../pod-draft.ts";
import { forbidden } from "./forbidden.ts";

const prefix = "kube-api-access-";

const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";

/** An hour and a little: tokens that were mounted by default are distinguished by it. */
const expirationSeconds = 3607;

const standard = "default";
/** A controller creates the default account of a new namespace shortly after it. */
const waitMs = 150;
const attempts = 10;

export interface ServiceAccountOptions {
  readonly clock: Clock;
  /** False: no token is mounted, regardless of what the pod and the account specify. */
  readonly mountTokens: boolean;
  /** An unused name with this prefix. */
  readonly newName: (base: string) => string;
}

/** Each pod has a service account in its namespace, which must exist. Mirror pods have none. */
export async function admitServiceAccount(
  pod: PodDraft,
  context: RequestContext,
  options: ServiceAccountOptions,
): Promise<void> {
  if (isMirror(pod)) return checkMirror(pod);
  const { spec } = pod;
  spec.serviceAccountName ||= standard;
  spec.serviceAccount = spec.serviceAccountName;
  const account = await find(pod, spec.serviceAccountName, context, options.clock);
  const automount = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  if (options.mountTokens && automount) mountToken(spec, options.newName);
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name }) => ({ name }));
}

/** A static pod runs without the API server, so its mirror pod may not have a service account, Secrets or tokens. Node restriction checks the rest. */
function checkMirror(pod: PodDraft): void {
  if (pod.spec.serviceAccountName) throw forbidden(pod, "a mirror pod may not reference service accounts");
  const references = checkNoApiReferences(asModelPod(pod));
  if (references.some(({ message }) => message.endsWith(" secrets")))
    throw forbidden(pod, "a mirror pod may not reference secrets");
  if (references.some(({ path }) => path.endsWith(".serviceAccountToken")))
    throw forbidden(pod, "a mirror pod may not use ServiceAccountToken volume projections");
}

async function find(
  pod: PodDraft,
  name: string,
  { objects, signal }: RequestContext,
  clock: Clock,
): Promise<ServiceAccount> {
  const namespace = pod.metadata.namespace ?? "";
  for (let left = name === standard ? attempts : 1; ; left--) {
    const account = await objects.get({ resource: "serviceaccounts", namespace, name });
    if (account) return account as ServiceAccount;
    if (left <= 1)
      throw forbidden(
        pod,
        `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
      );
    await sleep(clock, waitMs, signal);
  }
}

/** Mounts the token in each container, except where another volume is mounted at that path. */
function mountToken(spec: PodSpec, newName: (base: string) => string): void {
  const present = spec.volumes?.find(({ name }) => name.startsWith(prefix));
  const name = present?.name ?? newName(prefix);
  let needed = false;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === mountPath)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
    needed = true;
  }
  if (needed && !present) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: expirationSeconds, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  };
}
