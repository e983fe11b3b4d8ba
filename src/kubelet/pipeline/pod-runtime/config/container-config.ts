import { bytesOf } from "../../../../lib/base/escaped-bytes.ts";
import type { ContainerConfigInit } from "../../../../lib/clients/cri/cri.ts";
import { Signal } from "../../../../lib/gen/runtime/v1/api_pb.js";
import { containerAnnotations, containerLabels } from "../../../../lib/model/labels.ts";
import type { Container, Lifecycle, Pod } from "../../../../lib/model/pod.ts";
import type { ContainerContext, MountInit, UserNamespaceInit } from "./context.ts";
import { buildEnv, expandCommand } from "./env.ts";
import { containerConfigError, withCode } from "./errors.ts";
import { buildMounts } from "./mounts.ts";
import { containerLogPath } from "./paths.ts";
import { buildContainerResources } from "./resources.ts";
import { buildContainerSecurity, verifyRunAsNonRoot } from "./security-context.ts";

/** The CRI request for a container. Errors have the reason that users see in the pod's status. */
export function buildContainerConfig(
  pod: Pod,
  container: Container,
  ctx: ContainerContext,
): ContainerConfigInit {
  return withCode("CreateContainerConfigError", () => containerConfig(pod, container, ctx));
}

function containerConfig(pod: Pod, container: Container, ctx: ContainerContext): ContainerConfigInit {
  const env = buildEnv(pod, container, ctx);
  const mounts = buildMounts(pod, container, env, ctx);
  verifyRunAsNonRoot(pod, container, ctx.imageUser);
  return {
    metadata: { name: container.name, attempt: ctx.attempt },
    image: { image: ctx.imageRef, userSpecifiedImage: container.image ?? "" },
    ...expandCommand(container, env),
    workingDir: container.workingDir ?? "",
    envs: [...env].map(([key, value]) => ({ key, value: bytesOf(value) })),
    mounts: pod.spec.hostUsers === false ? mapped(mounts, ctx.userNamespace) : mounts,
    devices: [...(ctx.devices ?? [])],
    CDIDevices: (ctx.cdiDevices ?? []).map((name) => ({ name })),
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, ctx.attempt, ctx.annotations),
    logPath: containerLogPath(container.name, ctx.attempt),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: {
      resources: buildContainerResources(pod, container, ctx),
      securityContext: buildContainerSecurity(pod, container, ctx),
    },
    stopSignal: stopSignal(container, ctx.settings.gates.containerStopSignals),
  };
}

/** Adds ID mappings to the mounts of a pod with a user namespace. */
function mapped(mounts: MountInit[], userNamespace: UserNamespaceInit | undefined): MountInit[] {
  return mounts.map(
    (mount) =>
      ({ ...mount, uidMappings: userNamespace?.uids, gidMappings: userNamespace?.gids }) as MountInit,
  );
}

function stopSignal(container: Container, enabled: boolean): Signal {
  const name = (container.lifecycle as Lifecycle | undefined)?.stopSignal;
  if (!enabled || !name) return Signal.RUNTIME_DEFAULT;
  const signal = Signal[name.replace("+", "PLUS").replace("-", "MINUS") as keyof typeof Signal];
  if (signal === undefined) throw containerConfigError(`"${name}" is not a signal`);
  return signal;
}
