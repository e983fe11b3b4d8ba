import type { KubeTransport } from "../clients/kube/transport-interface.ts";

/** Who has the node's certificate, or will have it. */
export interface CertificateHolder {
  /** Undefined if there is none, or only one that has expired. */
  current(): unknown;
  whenAvailable(signal: AbortSignal): Promise<unknown>;
}

/**
 * Requests wait for a certificate to show, however long somebody takes to approve it: without one they could only be
 * refused, again and again, and whoever was refused would not be there at once when it comes.
 */
export function certifiedTransport(transport: KubeTransport, holder: CertificateHolder): KubeTransport {
  const closed = new AbortController();
  const certified = async (signal: AbortSignal = closed.signal) => {
    if (holder.current() === undefined) await holder.whenAvailable(AbortSignal.any([signal, closed.signal]));
  };
  return {
    async request<T>(call: Parameters<KubeTransport["request"]>[0]) {
      await certified(call.signal);
      return transport.request<T>(call);
    },
    async stream(call) {
      await certified(call.signal);
      return transport.stream(call);
    },
    onBack: (listener) => transport.onBack?.(listener) ?? (() => {}),
    close() {
      closed.abort();
      transport.close();
    },
  };
}
