import type { Container, EphemeralContainer, PodSpec, Volume } from "../../../../lib/model/pod.ts";
import { checkContainers } from "../../../../lib/model/validation/containers.ts";
import { Problems } from "../../../../lib/model/validation/problem.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { same } from "../../same.ts";

const at = "spec.ephemeralContainers";
const notAllowed = "cannot be set for an Ephemeral Container";

/** An ephemeral container is not part of the service: fields that others would rely on are forbidden. */
const forbidden = [
  ...["ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"],
  ...["resizePolicy", "restartPolicy", "restartPolicyRules"],
] as const;

export function checkEphemeralContainers(spec: PodSpec, problems: FieldProblems): void {
  const added = spec.ephemeralContainers ?? [];
  if (added.length === 0) return;
  checkAsContainers(spec, problems);
  const others = new Set([...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name));
  for (const [i, container] of added.entries()) {
    if (others.has(container.name)) problems.duplicate(`${at}[${i}].name`, container.name);
    const target = container.targetContainerName;
    if (target && !others.has(target)) problems.notFound(`${at}[${i}].targetContainerName`, target);
    for (const field of forbidden)
      if (!same(container[field], undefined)) problems.forbidden(`${at}[${i}].${field}`, notAllowed);
    for (const [j, mount] of (container.volumeMounts ?? []).entries())
      for (const field of ["subPath", "subPathExpr"] as const)
        if (mount[field]) problems.forbidden(`${at}[${i}].volumeMounts[${j}].${field}`, notAllowed);
  }
}

/** Applies the rules of all containers, without the forbidden fields. */
function checkAsContainers(spec: PodSpec, problems: FieldProblems): void {
  const containers = (spec.ephemeralContainers ?? []).map((container) => {
    const rest: Partial<EphemeralContainer> = { ...container };
    for (const field of forbidden) delete rest[field];
    return rest as Container;
  });
  const volumes = new Map<string, Volume>((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const found = new Problems();
  checkContainers({ ...spec, containers, initContainers: [] }, volumes, found);
  for (const { path, message } of found.list) problems.add(path.replace(/^spec\.containers/, at), message);
}
