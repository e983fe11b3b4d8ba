import { KubeletError } from "../../../lib/base/errors.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ClusterView } from "../../cluster/cluster-view.ts";

/** The runtime handlers of pods, by their RuntimeClass. */
export class RuntimeHandlers {
  readonly #classes: Pick<ClusterView, "runtimeClass"> | undefined;

  /** Without RuntimeClasses every pod gets the runtime's default handler. */
  constructor(classes?: Pick<ClusterView, "runtimeClass">) {
    this.#classes = classes;
  }

  /** Throws if the RuntimeClass does not exist, or is not known yet. */
  of({ spec: { runtimeClassName: name } }: Pod): string {
    if (!name || !this.#classes) return "";
    const found = this.#classes.runtimeClass(name);
    if (!found) throw new KubeletError("RuntimeClass", `runtimeclass.node.k8s.io "${name}" not found`);
    return found.handler;
  }

  /** The handler; undefined if the RuntimeClass does not exist, or is not known yet. */
  known(pod: Pod): string | undefined {
    try {
      return this.of(pod);
    } catch {
      return undefined;
    }
  }
}
