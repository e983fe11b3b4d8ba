import type { RuntimeState } from "../clients/cri/runtime-state.ts";
import type { StatusResponse } from "../gen/runtime/v1/api_pb.js";
import type { HandlerFeatures } from "../pods/user-namespaces/user-namespaces.ts";

/** What the runtime can do, as it last said; a runtime that is away for a moment can still do it. */
export class RuntimeFeatures {
  readonly #state: () => RuntimeState;
  #last: StatusResponse | undefined;

  constructor(state: () => RuntimeState) {
    this.#state = state;
  }

  handlers(): HandlerFeatures[] {
    return (this.#status()?.runtimeHandlers ?? []).map(({ name, features }) => ({
      name,
      userNamespaces: features?.userNamespaces ?? false,
    }));
  }

  recursiveReadOnly(handler: string): boolean {
    const found = this.#status()?.runtimeHandlers.find(({ name }) => name === handler);
    return found?.features?.recursiveReadOnlyMounts ?? false;
  }

  /** Undefined until the runtime has answered once. */
  supplementalGroupsPolicy(): boolean | undefined {
    const status = this.#status();
    return status && (status.features?.supplementalGroupsPolicy ?? false);
  }

  #status(): StatusResponse | undefined {
    const state = this.#state();
    if (state.kind === "up" || state.kind === "not-ready") this.#last = state.status;
    return this.#last;
  }
}
