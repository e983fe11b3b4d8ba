import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { maskText } from "../../../lib/model/numa-mask.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { ResourceShortage } from "../../../lib/model/resource-shortage.ts";
import type { TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";

const unexpected = "UnexpectedAdmissionError";

const under = { container: "with a container-level", pod: "under pod-scope" };

/** A pod whose resources cannot be aligned as the policy requires. */
export class TopologyAffinityError extends ResourceShortage {
  /** For explanations: which resource is where. */
  readonly detail: string;
  /** `podLevel`: the scope in which a pod with pod-level resources is aligned. */
  constructor(detail: string, podLevel?: "container" | "pod") {
    const message =
      podLevel === undefined
        ? "Resources cannot be allocated with Topology locality"
        : `Pod Scope pod with pod-level resources failed admission ${under[podLevel]} topology manager`;
    super("TopologyAffinityError", message);
    this.detail = detail;
  }
}

/** The failure of a pod that was not admitted because of this error. */
export function rejection(error: unknown, details: readonly (string | undefined)[]): PodFailure {
  const reason = error instanceof KubeletError ? error.code : unexpected;
  const message =
    reason === unexpected
      ? `Allocate failed due to ${messageOf(error)}, which is unexpected`
      : messageOf(error);
  const detail = [error instanceof TopologyAffinityError ? error.detail : undefined, ...details]
    .filter(Boolean)
    .join("; ");
  return {
    phase: "Failed",
    reason,
    message: `Pod was rejected: ${message}`,
    ...(detail !== "" && { detail }),
  };
}

/** "cpu: NUMA node 0 or 1; memory: NUMA nodes 0-1": where each resource can be, at best. */
export function hintsText(hints: readonly TopologyHints[]): string {
  return hints
    .flatMap((byResource) => [...byResource])
    .map(([resource, list]) => `${resource}: ${placesText(list)}`)
    .join(", ");
}

const maxPlaces = 4;

function placesText(list: readonly TopologyHint[] | undefined): string {
  if (list === undefined) return "any NUMA node";
  if (list.length === 0) return "no NUMA nodes have enough of it";
  const preferred = list.filter((hint) => hint.preferred);
  const masks = (preferred.length > 0 ? preferred : list).flatMap(({ numaNodes }) => numaNodes ?? []);
  if (masks.length === 0) return "any NUMA node";
  const places = masks.slice(0, maxPlaces).map((mask) => maskText(mask));
  const more = masks.length > maxPlaces ? " or others" : "";
  const nodes = `NUMA ${places.some((place) => /[,-]/.test(place)) ? "nodes" : "node"} ${places.join(" or ")}${more}`;
  return preferred.length > 0 ? nodes : `${nodes}, but fewer nodes would be enough if other pods used less`;
}
