import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { Secrets } from "./csi-deps.ts";
import { csiText } from "./csi-failure.ts";

/** Secrets that volumes refer to, fetched when needed and not cached. */
export function kubeSecrets(transport: Pick<KubeTransport, "request">): Secrets {
  return {
    async get({ namespace, name }, signal) {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
      try {
        const secret = await transport.request<{ data?: Record<string, string> }>({
          method: "GET",
          path,
          signal,
          timeoutMs: 10_000,
        });
        const values = Object.entries(secret.data ?? {});
        return Object.fromEntries(
          values.map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
        );
      } catch (error) {
        signal.throwIfAborted();
        const what = `failed to find the secret ${name} in the namespace ${namespace} with error`;
        throw new KubeletError("VolumeSecret", csiText(`${what}: ${messageOf(error)}`), { cause: error });
      }
    },
  };
}
