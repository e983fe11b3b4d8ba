import type { LinuxContainerResourcesInit } from "../../../lib/clients/cri/cri.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { NodeInfo, RuntimeSettings } from "./config/context.ts";
import { buildContainerResources, buildOverhead, usesSwap } from "./config/resources.ts";

/** The resources of containers, as their requests have them, apart from CPU sets. */
export class ContainerResources {
  readonly #context: { readonly node: NodeInfo; readonly settings: RuntimeSettings };

  constructor(context: { readonly node: NodeInfo; readonly settings: RuntimeSettings }) {
    this.#context = context;
  }

  of(pod: Pod, container: Container): LinuxContainerResourcesInit {
    return buildContainerResources(pod, container, this.#context);
  }

  /** The overhead of a pod's sandbox. */
  overhead(pod: Pod): LinuxContainerResourcesInit {
    return buildOverhead(pod, this.#context);
  }

  /** The container may use swap, with its current resources. */
  mayUseSwap(pod: Pod, container: Container): boolean {
    return usesSwap(pod, container, this.#context);
  }
}
