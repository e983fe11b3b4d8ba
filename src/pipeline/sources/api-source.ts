import type { PodSource } from "./source.ts";

/**
 * The seam for pods of the API server: list and watch with the field selector spec.nodeName, begun when the node is
 * registered. An implementation emits only once its first list is complete, so that sources-ready keeps its meaning.
 */
export interface ApiPodSource extends PodSource {
  readonly name: "api";
}
