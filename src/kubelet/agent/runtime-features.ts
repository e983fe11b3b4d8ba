import type { RuntimeState } from "../../lib/clients/cri/runtime-state.ts";
import type { StatusResponse } from "../../lib/gen/runtime/v1/api_pb.js";

/** One way in which the runtime runs containers. */
export interface RuntimeHandler {
  readonly name: string;
  readonly userNamespaces: boolean;
  readonly recursiveReadOnlyMounts: boolean;
}

/** What the runtime can do, as it last said; a runtime that is away for a moment can still do it. */
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
