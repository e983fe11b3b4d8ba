import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { CertificateReadiness } from "./certificate-readiness.ts";

/** Sends requests only while there is a client certificate; until then they wait. */
export function waitingTransport(transport: KubeTransport, readiness: CertificateReadiness): KubeTransport {
  return {
    async request<T>(call: Parameters<KubeTransport["request"]>[0]) {
      await readiness.wait(call.signal);
      return transport.request<T>(call);
    },
    async stream(call) {
      await readiness.wait(call.signal);
      return transport.stream(call);
    },
    streamsLists: transport.streamsLists,
    /** Also called when a certificate becomes available, so that requests that timed out are retried. */
    onReconnect: (listener) => {
      const unsubscribes = [readiness.onReady(listener), transport.onReconnect?.(listener) ?? (() => {})];
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe();
      };
    },
    close() {
      readiness.close();
      transport.close();
    },
  };
}
