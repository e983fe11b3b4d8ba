import type { Container, Pod, PodUid } from "../../lib/model/pod.ts";
import {
  type CriRequests,
  type CriRequestsOptions,
  criRequests,
} from "../pipeline/pod-runtime/cri-requests.ts";
import { RuntimeHandlers } from "../pipeline/pod-runtime/runtime-handlers.ts";
import { readFileKeys } from "../pods/env-files/file-keys.ts";
import { PodNameResolution, type PodNameResolutionOptions } from "../pods/network/pod-name-resolution.ts";
import { type HandlerFeatures, requireUserNamespaces } from "../pods/user-namespaces/user-namespaces.ts";

export interface PodRequestsOptions
  extends Omit<CriRequestsOptions, "names" | "handlers" | "userNamespace" | "fileKeys">,
    PodNameResolutionOptions {
  /** Without it no pod can have a user namespace. */
  userNamespaces?: { mappingsFor(uid: PodUid): Promise<{ first: number; length: number }> };
  features?: { handlers(): readonly HandlerFeatures[] };
  /** The handlers of RuntimeClasses; without it every pod gets the default one. */
  handlers?: RuntimeHandlers;
  /** The path of a mounted volume on the node. */
  volumeDir: (pod: Pod, volume: string) => string | undefined;
}

/** The CRI requests, with names, users and files of this node's pods. */
export function podRequests(o: PodRequestsOptions): CriRequests {
  return criRequests({
    ...o,
    names: new PodNameResolution(o),
    handlers: o.handlers ?? new RuntimeHandlers(),
    userNamespace: async (uid, handler) => {
      requireUserNamespaces(handler, o.features?.handlers() ?? []);
      return o.userNamespaces?.mappingsFor(uid);
    },
    fileKeys: (pod: Pod, container: Container) => readFileKeys(pod, container, o.volumeDir),
  });
}
