import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { ServiceAccountTokens } from "../../volumes/content/tokens/service-account-tokens.ts";
import type { TokenSource } from "./token-source.ts";

interface ServiceAccount {
  readonly metadata: { readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
}

const requestTimeoutMs = 10_000;

/** Service accounts and their tokens for credential provider plugins, from the same cache as token volumes. */
export function credentialTokens(
  api: Pick<KubeTransport, "request">,
  tokens: Pick<ServiceAccountTokens, "token">,
): TokenSource {
  return {
    async serviceAccount(namespace, name) {
      const [encodedNamespace, encodedName] = [namespace, name].map(encodeURIComponent);
      const path = `/api/v1/namespaces/${encodedNamespace}/serviceaccounts/${encodedName}`;
      // Requested for each pull, so that a removed annotation takes effect immediately.
      const { metadata } = await api.request<ServiceAccount>({
        method: "GET",
        path,
        timeoutMs: requestTimeoutMs,
      });
      return { uid: metadata.uid, annotations: metadata.annotations };
    },
    async token({ audience, ...request }) {
      return (await tokens.token({ ...request, audiences: [audience] })).token;
    },
  };
}
