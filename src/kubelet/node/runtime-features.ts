import type { RuntimeState } from "../../lib/clients/cri/runtime-state.ts";
import type { StatusResponse } from "../../lib/gen/runtime/v1/api_pb.js";

/** A runtime handler, as a RuntimeClass names it. */
export interface RuntimeHandler {
  readonly name: string;
  readonly userNamespaces: boolean;
  readonly recursiveReadOnlyMounts: boolean;
}

/** The features that the runtime last reported, kept while it is unavailable. */
export class RuntimeFeatures {
  readonly #state: () => RuntimeState;
  #last: StatusResponse | undefined;

  constructor(state: () => RuntimeState) {
    this.#state = state;
  }

  handlers(): RuntimeHandler[] {
    return (this.#status()?.runtimeHandlers ?? []).map(({ name, features }) => ({
      name,
      userNamespaces: features?.userNamespaces ?? false,
      recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
    }));
  }

  recursiveReadOnly(handler: string): boolean {
    return this.handlers().some(
      ({ name, recursiveReadOnlyMounts }) => name === handler && recursiveReadOnlyMounts,
    );
  }

  /** Undefined until the first response of the runtime. A runtime that reports no features does not support it. */
  supplementalGroupsPolicy(): boolean | undefined {
    const status = this.#status();
    return status && (status.features?.supplementalGroupsPolicy ?? false);
  }

  /** For the node status: undefined if the runtime reports no features. */
  reportedSupplementalGroupsPolicy(): boolean | undefined {
    return this.#status()?.features?.supplementalGroupsPolicy;
  }

  /** True if the runtime supports a user namespace in a pod with the network of the host. */
  userNamespacesHostNetwork(): boolean {
    return this.#status()?.features?.userNamespacesHostNetwork ?? false;
  }

  #status(): StatusResponse | undefined {
    const state = this.#state();
    if (state.kind === "up" || state.kind === "not-ready") this.#last = state.status;
    return this.#last;
  }
}
