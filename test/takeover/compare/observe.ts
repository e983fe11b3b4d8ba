import { isolatedReport } from "../../node/isolated-report.ts";
import type { Kind as Kubelet } from "../kubelet-kinds.ts";
import { anonymizer } from "./facts.ts";
import { observeGuest } from "./guest-observation.ts";
import { type AllFacts, factsOf, type Observation, type Place } from "./kinds.ts";

/** The facts of a node with this kubelet. */
export async function observe(kubelet: Kubelet, place: Place): Promise<AllFacts> {
  const script = new URL("isolated-observation.ts", import.meta.url);
  const observed =
    place === "guest" ? await observeGuest(kubelet) : await isolatedReport<Observation>(script, [kubelet]);
  return factsOf(observed, anonymizer(observed.pods as unknown as Parameters<typeof anonymizer>[0]));
}
