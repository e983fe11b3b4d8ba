import { idNumber, sysctlName } from "../../base/name-rules.ts";
import { core } from "../../schema/types/core/core.ts";
import type { Container, PodSpec } from "../pod.ts";
import { descendingPath } from "./paths.ts";
import type { Problems } from "./problem.ts";

type Profile = { type?: string; localhostProfile?: string };
type NewPodSecurity = { appArmorProfile?: Profile; seLinuxChangePolicy?: string };

export function checkPodSecurity(spec: PodSpec, problems: Problems): void {
  const at = "spec.securityContext";
  const context: NonNullable<PodSpec["securityContext"]> & NewPodSecurity = spec.securityContext ?? {};
  for (const field of ["fsGroup", "runAsUser", "runAsGroup"] as const)
    checkId(context[field], `${at}.${field}`, problems);
  for (const [i, group] of (context.supplementalGroups ?? []).entries())
    checkId(group, `${at}.supplementalGroups[${i}]`, problems);
  if (spec.shareProcessNamespace && spec.hostPID)
    problems.invalid(
      "spec.shareProcessNamespace",
      true,
      "ShareProcessNamespace and HostPID cannot both be enabled",
    );
  checkSysctls(spec, problems);
  oneOf(
    context.fsGroupChangePolicy,
    core.values("PodFSGroupChangePolicy"),
    `${at}.fsGroupChangePolicy`,
    problems,
  );
  oneOf(
    context.supplementalGroupsPolicy,
    core.values("SupplementalGroupsPolicy"),
    `${at}.supplementalGroupsPolicy`,
    problems,
  );
  oneOf(context.seLinuxChangePolicy, ["Recursive", "MountOption"], `${at}.seLinuxChangePolicy`, problems);
  checkProfiles(context, at, problems);
  checkHostUsers(spec, problems);
  if (spec.os?.name === "linux" && context.windowsOptions)
    problems.forbidden(`${at}.windowsOptions`, "windows options cannot be set for a linux pod");
}

export function checkContainerSecurity(
  container: Container,
  at: string,
  spec: PodSpec,
  problems: Problems,
): void {
  const context: NonNullable<Container["securityContext"]> & NewPodSecurity = container.securityContext ?? {};
  const path = `${at}.securityContext`;
  for (const field of ["runAsUser", "runAsGroup"] as const)
    checkId(context[field], `${path}.${field}`, problems);
  oneOf(context.procMount, core.values("ProcMountType"), `${path}.procMount`, problems);
  if (context.procMount === "Unmasked" && spec.hostUsers !== false)
    problems.invalid(`${path}.procMount`, "Unmasked", "`hostUsers` must be false to use `Unmasked`");
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged)
      problems.invalid(path, {}, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    if (context.capabilities?.add?.includes("CAP_SYS_ADMIN"))
      problems.invalid(
        path,
        {},
        "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
      );
  }
  checkProfiles(context, path, problems);
  if (spec.os?.name === "linux" && context.windowsOptions)
    problems.forbidden(`${path}.windowsOptions`, "windows options cannot be set for a linux pod");
}

function checkSysctls(spec: PodSpec, problems: Problems): void {
  const seen = new Set<string>();
  for (const [i, { name }] of (spec.securityContext?.sysctls ?? []).entries()) {
    const at = `spec.securityContext.sysctls[${i}].name`;
    if (!name) problems.required(at);
    else if (seen.has(name)) problems.duplicate(at, name);
    else problems.check(at, name, sysctlName(name));
    seen.add(name);
    const dotted = (name ?? "").replaceAll("/", ".");
    if (spec.hostNetwork && dotted.startsWith("net."))
      problems.invalid(at, name, "may not be specified when 'hostNetwork' is true");
    if (spec.hostIPC && /^(kernel\.(shm|msg|sem)|fs\.mqueue\.)/.test(dotted))
      problems.invalid(at, name, "may not be specified when 'hostIPC' is true");
  }
}

/** A user namespace cannot be combined with host namespaces. */
function checkHostUsers(spec: PodSpec, problems: Problems): void {
  if (spec.hostUsers !== false) return;
  for (const field of ["hostNetwork", "hostPID", "hostIPC"] as const)
    if (spec[field]) problems.forbidden(`spec.${field}`, "when `hostUsers` is false");
  for (const kind of ["containers", "initContainers"] as const)
    for (const [i, container] of (spec[kind] ?? []).entries())
      if (container.volumeDevices?.length)
        problems.forbidden(`spec.${kind}[${i}].volumeDevices`, "when `hostUsers` is false");
}

function checkProfiles(
  context: { seccompProfile?: Profile; appArmorProfile?: Profile },
  at: string,
  problems: Problems,
): void {
  for (const [field, title, types] of [
    ["seccompProfile", "seccomp", "SeccompProfileType"],
    ["appArmorProfile", "AppArmor", "AppArmorProfileType"],
  ] as const) {
    const profile = context[field];
    if (!profile) continue;
    const path = `${at}.${field}`;
    const local = profile.localhostProfile;
    if (!profile.type) problems.required(`${path}.type`, `type is required when ${field} is set`);
    else if (!core.values(types).includes(profile.type))
      problems.unsupported(`${path}.type`, profile.type, core.values(types));
    else if (profile.type !== "Localhost") {
      if (local !== undefined)
        problems.invalid(
          `${path}.localhostProfile`,
          local,
          `can only be set when ${title} type is Localhost`,
        );
    } else if (local === undefined || (local === "" && field === "appArmorProfile"))
      problems.required(`${path}.localhostProfile`, `must be set when ${title} type is Localhost`);
    else if (field === "seccompProfile")
      problems.check(`${path}.localhostProfile`, local, descendingPath(local));
    else if (local.trim() !== local)
      problems.invalid(`${path}.localhostProfile`, local, "must not be padded with whitespace");
    else if (local.length > 4095) problems.tooLong(`${path}.localhostProfile`, 4095);
  }
}

function checkId(id: number | undefined, at: string, problems: Problems): void {
  if (id !== undefined) problems.check(at, id, idNumber(id));
}

export function oneOf(
  value: string | undefined,
  allowed: readonly string[],
  at: string,
  problems: Problems,
): void {
  if (value !== undefined && !allowed.includes(value)) problems.unsupported(at, value, allowed);
}
