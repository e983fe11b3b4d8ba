import type { Pod } from "../pod.ts";
import { dnsLabel, dnsSubdomain, pathElement } from "./names.ts";
import { Problems } from "./problem.ts";

/** The names of a pod that are part of paths on the node. The first invalid one, as text; undefined if all are valid. */
export function pathNameProblem({ metadata, spec }: Pod): string | undefined {
  const problems = new Problems();
  problems.check("metadata.name", metadata.name, dnsSubdomain(metadata.name));
  problems.check("metadata.namespace", metadata.namespace, dnsLabel(metadata.namespace));
  problems.check("metadata.uid", metadata.uid, pathElement(metadata.uid));
  for (const list of ["containers", "initContainers", "ephemeralContainers", "volumes"] as const)
    for (const [i, { name }] of (spec[list] ?? []).entries())
      problems.check(`spec.${list}[${i}].name`, name, dnsLabel(name ?? ""));
  const [first] = problems.list;
  return first && `${first.path}: ${first.message}`;
}
