import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  LinuxContainerSecurityContextSchema,
  SecurityProfileSchema,
} from "../../../../lib/gen/runtime/v1/api_pb.js";
import {
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from "../../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod, PodSecurityContext, SecurityContext } from "../../../../lib/model/pod.ts";
import type { ContainerContext, ImageUser } from "./context.ts";
import { containerConfigError } from "./errors.ts";
import { namespacesFor } from "./namespaces.ts";

type SecurityProfileInit = MessageInitShape<typeof SecurityProfileSchema>;
export type ContainerSecurityInit = MessageInitShape<typeof LinuxContainerSecurityContextSchema>;

const maskedPaths = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/** The container's security context overrides the pod's. */
function effectiveSecurity(pod: Pod, container: Container): SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  const own = Object.entries(container.securityContext ?? {}).filter(([, value]) => value != null);
  return { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot, ...Object.fromEntries(own) };
}

export function buildContainerSecurity(
  pod: Pod,
  container: Container,
  ctx: ContainerContext,
): ContainerSecurityInit {
  const security = effectiveSecurity(pod, container);
  const unmasked = security.procMount === "Unmasked";
  const fromImage = security.runAsUser == null;
  const imageUser = userOf(ctx.imageUser);
  const uid = fromImage ? imageUser.uid : BigInt(security.runAsUser ?? 0);
  return {
    capabilities: security.capabilities && {
      addCapabilities: security.capabilities.add ?? [],
      dropCapabilities: security.capabilities.drop ?? [],
    },
    privileged: security.privileged ?? false,
    namespaceOptions: namespacesFor(pod, ctx.userNamespace, ctx.targetContainerId),
    selinuxOptions: security.seLinuxOptions,
    runAsUser: uid === undefined ? undefined : { value: uid },
    runAsUsername: fromImage ? (imageUser.username ?? "") : "",
    runAsGroup: security.runAsGroup == null ? undefined : { value: BigInt(security.runAsGroup) },
    readonlyRootfs: security.readOnlyRootFilesystem ?? false,
    supplementalGroups: containerGroups(pod.spec.securityContext, ctx.extraGroups),
    supplementalGroupsPolicy: groupsPolicy(pod.spec.securityContext),
    noNewPrivs: security.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...maskedPaths, ...ctx.node.extraMaskedPaths],
    readonlyPaths: unmasked ? [] : readonlyPaths,
    seccomp: seccompFor(pod, container, ctx),
    ...appArmorFor(pod, container),
  };
}

function containerGroups(security: PodSecurityContext | undefined, extra: readonly number[] = []): bigint[] {
  const groups = security?.fsGroup == null ? [] : [security.fsGroup];
  return [...groups, ...(security?.supplementalGroups ?? []), ...extra].map(BigInt);
}

/** Undefined leaves the runtime's default (Merge). */
export function groupsPolicy(security: PodSecurityContext | undefined): SupplementalGroupsPolicy | undefined {
  switch (security?.supplementalGroupsPolicy) {
    case undefined:
    case null:
      return undefined;
    case "Merge":
      return SupplementalGroupsPolicy.Merge;
    case "Strict":
      return SupplementalGroupsPolicy.Strict;
    default:
      throw new RangeError(`unsupported supplementalGroupsPolicy: ${security?.supplementalGroupsPolicy}`);
  }
}

function seccompFor(pod: Pod, container: Container, ctx: ContainerContext): SecurityProfileInit {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (!profile) {
    return { profileType: ctx.settings.seccompDefault ? ProfileType.RuntimeDefault : ProfileType.Unconfined };
  }
  switch (profile.type) {
    case "RuntimeDefault":
      return { profileType: ProfileType.RuntimeDefault };
    case "Localhost":
      if (!profile.localhostProfile) {
        throw containerConfigError("localhostProfile must be set if seccompProfile type is Localhost.");
      }
      return {
        profileType: ProfileType.Localhost,
        localhostRef: join(ctx.settings.rootDir, "seccomp", profile.localhostProfile),
      };
    default:
      return { profileType: ProfileType.Unconfined };
  }
}

const appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";

/** Sets both fields: runtimes that predate the structured `apparmor` read `apparmorProfile`. */
function appArmorFor(
  pod: Pod,
  container: Container,
): Pick<ContainerSecurityInit, "apparmor" | "apparmorProfile"> {
  const profile =
    container.securityContext?.appArmorProfile ??
    annotatedAppArmor(pod.metadata.annotations?.[appArmorAnnotation + container.name]) ??
    pod.spec.securityContext?.appArmorProfile;
  switch (profile?.type) {
    case undefined:
      return {};
    case "RuntimeDefault":
      return { apparmor: { profileType: ProfileType.RuntimeDefault }, apparmorProfile: "runtime/default" };
    case "Unconfined":
      return { apparmor: { profileType: ProfileType.Unconfined }, apparmorProfile: "unconfined" };
    case "Localhost": {
      const name = profile.localhostProfile;
      if (name == null) throw containerConfigError("missing localhost apparmor profile name");
      return {
        apparmor: { profileType: ProfileType.Localhost, localhostRef: name },
        apparmorProfile: `localhost/${name}`,
      };
    }
    default:
      throw containerConfigError(`unknown apparmor profile type: "${profile?.type}"`);
  }
}

/** Manifests older than the field use an annotation. */
function annotatedAppArmor(
  value: string | undefined,
): { type: string; localhostProfile?: string } | undefined {
  if (value === "runtime/default") return { type: "RuntimeDefault" };
  if (value === "unconfined") return { type: "Unconfined" };
  if (value?.startsWith("localhost/"))
    return { type: "Localhost", localhostProfile: value.slice("localhost/".length) };
  return undefined;
}

/** An image without a user runs as root. A numeric user takes precedence over a name. */
function userOf({ uid, username }: ImageUser): ImageUser {
  if (uid !== undefined) return { uid };
  return username ? { username } : { uid: 0n };
}

const maxUid = 2n ** 31n - 1n;

/** Throws if the container must not run as root and would, or if that cannot be verified. */
export function verifyRunAsNonRoot(pod: Pod, container: Container, imageUser: ImageUser): void {
  const security = effectiveSecurity(pod, container);
  if (!security.runAsNonRoot) return;
  const { name, namespace, uid: podUid } = pod.metadata;
  const where = `(pod: "${name}_${namespace}(${podUid})", container: ${container.name})`;
  if (security.runAsUser != null) {
    if (security.runAsUser === 0) {
      throw containerConfigError(`container's runAsUser breaks non-root policy ${where}`);
    }
    return;
  }
  const image = userOf(imageUser);
  if (image.uid === undefined) {
    throw containerConfigError(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), ` +
        `cannot verify user is non-root ${where}`,
    );
  }
  if (image.uid === 0n) {
    throw containerConfigError(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (image.uid < 0n || image.uid > maxUid) {
    throw containerConfigError(
      `container has runAsNonRoot and image has an invalid user id (${image.uid}). (Must be 1-(${maxUid})): ` +
        `must be between 0 and ${maxUid}, inclusive ${where}`,
    );
  }
}
