import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { TokenSource } from "../pods/images/providers/token-source.ts";
import type { ServiceAccountTokens } from "../pods/volumes/content/tokens/service-account-tokens.ts";

interface ServiceAccount {
  readonly metadata: { readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
}

const requestMs = 10_000;

/** What credential programs are told of a pod's service account, with tokens from where volumes have theirs. */
export function credentialTokens(
  api: Pick<KubeTransport, "request">,
  tokens: Pick<ServiceAccountTokens, "token">,
): TokenSource {
  return {
    async serviceAccount(namespace, name) {
      const [where, who] = [namespace, name].map(encodeURIComponent);
      const path = `/api/v1/namespaces/${where}/serviceaccounts/${who}`;
      // Asked anew for each pull: an annotation that was taken away counts from then on.
      const { metadata } = await api.request<ServiceAccount>({ method: "GET", path, timeoutMs: requestMs });
      return { uid: metadata.uid, annotations: metadata.annotations };
    },
    async token({ audience, ...question }) {
      return (await tokens.token({ ...question, audiences: [audience] })).token;
    },
  };
}
