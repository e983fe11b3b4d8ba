import { idNumber } from "../../../../lib/base/name-rules.ts";
import type { Container, ContainerStatus } from "../../../../lib/model/pod.ts";
import type { FieldProblems } from "../../field-problems.ts";
import type { PodDraft } from "../pod-draft.ts";

const healths = ["Healthy", "Unhealthy", "Unknown"];

export function checkContainerStatuses(pod: PodDraft, problems: FieldProblems): void {
  const { spec, status } = pod;
  for (const [field, containers] of [
    ["containerStatuses", spec.containers],
    ["initContainerStatuses", spec.initContainers ?? []],
    ["ephemeralContainerStatuses", undefined],
  ] as const)
    for (const [i, each] of (status?.[field] ?? []).entries()) {
      const at = `status.${field}[${i}]`;
      checkUser(each, `${at}.user.linux`, spec.os?.name === "windows", problems);
      if (containers) checkAllocated(each, containers, `${at}.allocatedResourcesStatus`, problems);
      else if (each.allocatedResourcesStatus?.length)
        problems.forbidden(`${at}.allocatedResourcesStatus`, "must not be specified in container status");
    }
}

function checkUser({ user }: ContainerStatus, at: string, windows: boolean, problems: FieldProblems): void {
  if (!user?.linux) return;
  if (windows) {
    problems.forbidden(at, "cannot be set for a windows pod");
    return;
  }
  const check = (id: number, path: string) => problems.check(path, id, idNumber(id));
  check(user.linux.uid, `${at}.uid`);
  check(user.linux.gid, `${at}.gid`);
  for (const [i, group] of (user.linux.supplementalGroups ?? []).entries())
    check(group, `${at}.supplementalGroups[${i}]`);
}

function checkAllocated(
  status: ContainerStatus,
  containers: readonly Container[],
  at: string,
  problems: FieldProblems,
): void {
  const container = containers.find(({ name }) => name === status.name);
  for (const [i, allocated] of (status.allocatedResourcesStatus ?? []).entries()) {
    if (container && !isRequested(allocated.name, container))
      problems.invalid(
        `${at}[${i}].name`,
        allocated.name,
        allocated.name.startsWith("claim:")
          ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
          : "must match one of the container's resource requests",
      );
    const seen = new Set<string>();
    for (const [j, { resourceID, health }] of (allocated.resources ?? []).entries()) {
      problems.oneOf(`${at}[${i}].resources[${j}].health`, health, healths);
      if (seen.has(resourceID)) problems.duplicate(`${at}[${i}].resources[${j}].resourceID`, resourceID);
      seen.add(resourceID);
    }
  }
}

function isRequested(name: string, { resources }: Container): boolean {
  if (!name.startsWith("claim:")) return Object.hasOwn(resources?.requests ?? {}, name);
  const claims = (resources?.claims ?? []) as { name: string; request?: string }[];
  return claims.some((claim) => `claim:${claim.name}${claim.request ? `/${claim.request}` : ""}` === name);
}
