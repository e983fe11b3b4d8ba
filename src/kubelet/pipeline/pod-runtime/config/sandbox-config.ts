import { isIPv6 } from "node:net";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PodSandboxConfigInit } from "../../../../lib/clients/cri/cri.ts";
import type {
  LinuxSandboxSecurityContextSchema,
  PortMappingSchema,
} from "../../../../lib/gen/runtime/v1/api_pb.js";
import {
  SecurityProfile_ProfileType as ProfileType,
  Protocol,
} from "../../../../lib/gen/runtime/v1/api_pb.js";
import { sandboxAnnotations, sandboxLabels } from "../../../../lib/model/labels.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import { normalizeSysctl } from "../../../../lib/model/sysctl.ts";
import type { SandboxContext } from "./context.ts";
import { withCode } from "./errors.ts";
import { namespacesFor } from "./namespaces.ts";
import { podLogDir } from "./paths.ts";
import { buildOverhead, buildSandboxResources } from "./resources.ts";
import { groupsPolicy } from "./security-context.ts";

type SandboxSecurityInit = MessageInitShape<typeof LinuxSandboxSecurityContextSchema>;
type PortMappingInit = MessageInitShape<typeof PortMappingSchema>;

/** The CRI request for the sandbox of a pod. */
export function buildSandboxConfig(pod: Pod, ctx: SandboxContext): PodSandboxConfigInit {
  return withCode("ConfigPodSandboxError", () => sandboxConfig(pod, ctx));
}

function sandboxConfig(pod: Pod, ctx: SandboxContext): PodSandboxConfigInit {
  const { name, namespace, uid } = pod.metadata;
  const { dns } = ctx;
  return {
    metadata: { name, namespace, uid, attempt: ctx.attempt },
    hostname: pod.spec.hostNetwork ? "" : ctx.hostname,
    logDirectory: podLogDir(ctx.settings.podLogsDir, pod.metadata),
    dnsConfig: { servers: [...dns.servers], searches: [...dns.searches], options: [...dns.options] },
    portMappings: pod.spec.containers.flatMap(portMappings),
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod),
    linux: {
      cgroupParent: ctx.cgroupParent,
      securityContext: sandboxSecurity(pod, ctx),
      sysctls: Object.fromEntries(
        (pod.spec.securityContext?.sysctls ?? []).map((s) => [normalizeSysctl(s.name), s.value]),
      ),
      overhead: buildOverhead(pod, ctx),
      resources: buildSandboxResources(pod, ctx),
    },
  };
}

function sandboxSecurity(pod: Pod, ctx: SandboxContext): SandboxSecurityInit {
  const security = pod.spec.securityContext ?? {};
  const groups = security.fsGroup == null ? [] : [security.fsGroup];
  return {
    namespaceOptions: namespacesFor(pod, ctx.userNamespace),
    selinuxOptions: security.seLinuxOptions,
    runAsUser: security.runAsUser == null ? undefined : { value: BigInt(security.runAsUser) },
    runAsGroup: security.runAsGroup == null ? undefined : { value: BigInt(security.runAsGroup) },
    supplementalGroups: [...groups, ...(ctx.extraGroups ?? []), ...(security.supplementalGroups ?? [])].map(
      BigInt,
    ),
    supplementalGroupsPolicy: groupsPolicy(security),
    privileged: hasPrivilegedContainer(pod),
    // The pause process needs no more than the default profile, regardless of what the containers have.
    seccomp: { profileType: ProfileType.RuntimeDefault },
  };
}

function hasPrivilegedContainer(pod: Pod): boolean {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers].some(
    (c) => c.securityContext?.privileged,
  );
}

const protocols: Record<string, Protocol> = { TCP: Protocol.TCP, UDP: Protocol.UDP, SCTP: Protocol.SCTP };

/** A port that is declared twice in a container is mapped once. */
function portMappings(container: Container): PortMappingInit[] {
  const seen = new Set<string>();
  const mappings: PortMappingInit[] = [];
  for (const port of container.ports ?? []) {
    const { hostIP = "", hostPort = 0, containerPort, protocol = "TCP" } = port;
    const family = hostIP === "" ? "any" : isIPv6(hostIP) ? "v6" : "v4";
    const key = port.name || `${family}-${protocol}-${hostIP}:${containerPort}:${hostPort}`;
    if (seen.has(key)) continue;
    seen.add(key);
    mappings.push({ protocol: protocols[protocol] ?? Protocol.TCP, containerPort, hostPort, hostIp: hostIP });
  }
  return mappings;
}
