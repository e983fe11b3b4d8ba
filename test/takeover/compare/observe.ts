import { isolatedReport } from "../../node/isolated-report.ts";
import type { Kind as Kubelet } from "../kubelet-kinds.ts";
import { anonymizer } from "./facts.ts";
import { type AllFacts, factsOf, type Observation } from "./kinds.ts";

/** The facts of a node with this kubelet, on an isolated host of its own. */
export async function observe(kubelet: Kubelet): Promise<AllFacts> {
  const script = new URL("isolated-observation.ts", import.meta.url);
  const observed = await isolatedReport<Observation>(script, [kubelet]);
  return factsOf(observed, anonymizer(observed.pods as unknown as Parameters<typeof anonymizer>[0]));
}
