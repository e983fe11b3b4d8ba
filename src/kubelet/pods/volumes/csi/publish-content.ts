import { messageOf } from "../../../../lib/base/errors.ts";
import type { CSIDriverSpec } from "../../../../lib/gen/kubernetes/storage.d.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { CsiDeps, PodToken } from "./csi-deps.ts";
import { csiText, transient } from "./csi-failure.ts";
import type { CsiSource, StringMap } from "./source.ts";

/** Volume context and secrets of NodePublishVolume. */
export interface PublishContent {
  readonly volumeContext: StringMap;
  readonly secrets: StringMap;
}

/** The volume's attributes, the pod info if the driver requests it, its tokens, and the publish secret. */
export async function publishContent(
  deps: Pick<CsiDeps, "secrets" | "tokens">,
  pod: Pod,
  source: CsiSource,
  driver: CSIDriverSpec | undefined,
  signal: AbortSignal,
): Promise<PublishContent> {
  const tokens = await tokenAttributes(deps, pod, driver, signal);
  const inSecrets = driver?.serviceAccountTokenInSecrets === true;
  return {
    volumeContext: {
      ...source.attributes,
      ...(driver?.podInfoOnMount && podAttributes(pod, source.mode === "Ephemeral")),
      ...(!inSecrets && tokens),
    },
    secrets: { ...(await secretValues(deps, source, signal)), ...(inSecrets && tokens) },
  };
}

function podAttributes(pod: Pod, isEphemeral: boolean): StringMap {
  const { name, namespace, uid } = pod.metadata;
  return {
    "csi.storage.k8s.io/pod.name": name,
    "csi.storage.k8s.io/pod.namespace": namespace,
    "csi.storage.k8s.io/pod.uid": uid,
    "csi.storage.k8s.io/serviceAccount.name": pod.spec.serviceAccountName ?? "",
    "csi.storage.k8s.io/ephemeral": String(isEphemeral),
  };
}

async function secretValues(
  { secrets }: Pick<CsiDeps, "secrets">,
  { publishSecret }: CsiSource,
  signal: AbortSignal,
): Promise<StringMap> {
  if (!publishSecret) return {};
  try {
    return await secrets.get(publishSecret, signal);
  } catch (error) {
    const { namespace, name } = publishSecret;
    throw transient(`fetching NodePublishSecretRef ${namespace}/${name} failed: ${messageOf(error)}`, error);
  }
}

async function tokenAttributes(
  { tokens }: Pick<CsiDeps, "tokens">,
  pod: Pod,
  driver: CSIDriverSpec | undefined,
  signal: AbortSignal,
): Promise<StringMap> {
  const requests = driver?.tokenRequests ?? [];
  if (requests.length === 0) return {};
  try {
    if (!tokens) throw new Error("ServiceAccountTokenGetter is nil");
    const byAudience: [string, PodToken][] = [];
    for (const { audience = "", expirationSeconds } of requests) {
      const audiences = audience ? [audience] : [];
      const { token, expirationTimestamp } = await tokens.get(pod, { audiences, expirationSeconds }, signal);
      byAudience.push([audience, { token, expirationTimestamp }]);
    }
    byAudience.sort(([a], [b]) => (a < b ? -1 : 1));
    return { "csi.storage.k8s.io/serviceAccount.tokens": JSON.stringify(Object.fromEntries(byAudience)) };
  } catch (error) {
    signal.throwIfAborted();
    // The misspelling is what users search for.
    const what = "mounter.SetUpAt failed to get service accoount token attributes";
    throw transient(csiText(`${what}: ${messageOf(error)}`), error);
  }
}
