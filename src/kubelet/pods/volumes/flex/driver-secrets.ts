import { KubeletError } from "../../../../lib/base/errors.ts";
import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { FlexOptions } from "./flex-driver.ts";

const timeoutMs = 10_000;

/** Secrets of volumes, fetched when needed and not cached. A driver gets only secrets of its own type. */
export function driverSecrets(transport: Pick<KubeTransport, "request">): FlexOptions["secrets"] {
  return {
    async get({ namespace, name }, type, signal) {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
      const secret = await transport.request<{ type?: string; data?: Record<string, string> }>({
        method: "GET",
        path,
        signal,
        timeoutMs,
      });
      if (secret.type !== type) throw new KubeletError("FlexVolume", `cannot get secret of type ${type}`);
      return secret.data ?? {};
    },
  };
}
