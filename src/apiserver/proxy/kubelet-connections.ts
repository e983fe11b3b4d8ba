import type { ConnectSubresource } from "../definition.ts";
import type { KubeletConnectionOptions } from "./connection-options.ts";
import { logConnection } from "./log.ts";
import { nodeProxy, podProxy } from "./proxies.ts";
import { streamConnection } from "./streams.ts";

export type ConnectionName = "log" | "exec" | "attach" | "portforward" | "podProxy" | "nodeProxy";

/** The subresources that the API proxies to a kubelet, a node or a pod. */
export function kubeletConnections(
  options: KubeletConnectionOptions,
): Readonly<Record<ConnectionName, ConnectSubresource>> {
  return {
    log: logConnection(options),
    exec: streamConnection("exec", options),
    attach: streamConnection("attach", options),
    portforward: streamConnection("portforward", options),
    podProxy: podProxy(options),
    nodeProxy: nodeProxy(options),
  };
}
