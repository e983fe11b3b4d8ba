import type { MessageInitShape } from "@bufbuild/protobuf";
import type { NamespaceOptionSchema } from "../../../../lib/gen/runtime/v1/api_pb.js";
import { NamespaceMode } from "../../../../lib/gen/runtime/v1/api_pb.js";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { UserNamespaceInit } from "./context.ts";

export type NamespaceOptionInit = MessageInitShape<typeof NamespaceOptionSchema>;

/** The namespaces that the pod's containers share with the node or with each other. */
export function namespacesFor(
  pod: Pod,
  userNamespace: UserNamespaceInit | undefined,
  targetContainerId?: string,
): NamespaceOptionInit {
  const { hostIPC, hostNetwork, hostPID, hostUsers, shareProcessNamespace } = pod.spec;
  const pid = hostPID
    ? NamespaceMode.NODE
    : shareProcessNamespace
      ? NamespaceMode.POD
      : NamespaceMode.CONTAINER;
  const target =
    targetContainerId !== undefined && pid === NamespaceMode.CONTAINER ? targetContainerId : undefined;
  if (hostUsers === false && !userNamespace) {
    throw new RangeError("hostUsers: false needs a user namespace, and none was set up for this pod");
  }
  return {
    ipc: hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: target === undefined ? pid : NamespaceMode.TARGET,
    targetId: target ?? "",
    usernsOptions: hostUsers === false && userNamespace ? userNamespace : { mode: NamespaceMode.NODE },
  };
}
