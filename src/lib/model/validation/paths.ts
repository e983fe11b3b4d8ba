import { dnsLabel, dnsSubdomain, type Messages } from "../../base/name-rules.ts";
import type { Pod } from "../pod.ts";
import { Problems } from "./problem.ts";

export function noBacksteps(path: string): Messages {
  return path.split("/").includes("..") ? ["must not contain '..'"] : [];
}

/** A relative path that remains inside its base directory. */
export function descendingPath(path: string): Messages {
  return [...(path.startsWith("/") ? ["must be a relative path"] : []), ...noBacksteps(path)];
}

/** Checks what `descendingPath` checks, and that no name starts with "..": those are reserved for the atomic writer of volumes. */
export function volumeFilePath(path: string): Messages {
  const reserved = path.startsWith("..") && !path.startsWith("../");
  return [...descendingPath(path), ...(reserved ? ["must not start with '..'"] : [])];
}

/** A UID: part of paths and cgroup names of a pod. */
export function pathElement(uid: string): Messages {
  if (uid.length <= 128 && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(uid)) return [];
  return ["must be at most 128 letters, digits, '-', '_' or '.', and start with a letter or digit"];
}

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
