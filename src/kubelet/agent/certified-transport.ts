import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { CertificateGate } from "./certificate-gate.ts";

/** Sends requests only while there is a client certificate; until then they wait at the gate. */
export function certifiedTransport(transport: KubeTransport, gate: CertificateGate): KubeTransport {
  return {
    async request<T>(call: Parameters<KubeTransport["request"]>[0]) {
      await gate.pass(call.signal);
      return transport.request<T>(call);
    },
    async stream(call) {
      await gate.pass(call.signal);
      return transport.stream(call);
    },
    /** Also called when the gate opens, so that requests that timed out at the gate are retried. */
    onReconnect: (listener) => {
      const ends = [gate.onOpen(listener), transport.onReconnect?.(listener) ?? (() => {})];
      return () => {
        for (const end of ends) end();
      };
    },
    close() {
      gate.close();
      transport.close();
    },
  };
}
