import type { Container, Pod, Volume } from "../../lib/model/pod.ts";
import { isSidecar } from "../../lib/model/restart-policy.ts";
import type { PodInfo } from "./explain-pod.ts";
import { shellArgument, type Values } from "./reading/shape.ts";

/** The part of the information about a pod that sentences and commands name. */
export type CauseContext = Pick<PodInfo, "id" | "pod" | "source" | "nodeName">;

/** The names in sentences and commands: the pod, and the container that the cause is about. */
export function causeValues({ id, pod, source, nodeName }: CauseContext, name?: string): Values {
  const container = name === undefined ? undefined : containerOf(pod, name);
  const secrets = pod?.spec.imagePullSecrets?.map((secret) => secret.name) ?? [];
  const inPod = `${id.name} -n ${id.namespace}${name === undefined ? "" : ` -c ${name}`}`;
  // Without an API there is no kubectl.
  const hasApi = source === "api";
  const containerId = `$(crictl ps -a -q --latest --name '^${name ?? ""}' --label io.kubernetes.pod.uid=${id.uid})`;
  return {
    pod: id.name,
    namespace: id.namespace,
    node: nodeName,
    subject: name === undefined ? "the pod" : titleOf(pod, name),
    container: name,
    image: container?.image,
    restartPolicy: pod?.spec.restartPolicy ?? "Always",
    runtimeClass: pod?.spec.runtimeClassName,
    secret: secrets.join(", "),
    logs: hasApi ? `kubectl logs ${inPod}` : `crictl logs ${containerId}`,
    previousLogs: hasApi ? `kubectl logs ${inPod} --previous` : `crictl logs ${containerId}`,
    exec: hasApi ? `kubectl exec ${inPod}` : `crictl exec ${containerId}`,
  };
}

/** "init container migrate", "sidecar proxy", "container web". */
export function titleOf(pod: Pod | undefined, name: string): string {
  const init = pod?.spec.initContainers?.find((c) => c.name === name);
  if (!init) return `container ${name}`;
  return isSidecar(init) ? `sidecar ${name}` : `init container ${name}`;
}

function containerOf(pod: Pod | undefined, name: string): Container | undefined {
  const { initContainers = [], containers = [] } = pod?.spec ?? {};
  return [...initContainers, ...containers].find((container) => container.name === name);
}

/** The target and the command of a probe, and how its command exited. */
export function probeValues(
  pod: Pod | undefined,
  probe: { readonly kind: string; readonly container: string; readonly exitCode?: number },
): Values {
  const container = containerOf(pod, probe.container);
  const spec = {
    liveness: container?.livenessProbe,
    readiness: container?.readinessProbe,
    startup: container?.startupProbe,
  }[probe.kind];
  const http = spec?.httpGet;
  const path = http?.path?.replace(/^(?!\/)/, "/") ?? "/";
  const port = http?.port ?? spec?.tcpSocket?.port ?? spec?.grpc?.port;
  return {
    target: http ? `${http.host ?? ""}:${port}${path}` : `${spec?.tcpSocket?.host ?? ""}:${port}`,
    command: spec?.exec?.command?.map(quoted).join(" "),
    code: probe.exitCode?.toString(),
  };
}

function quoted(argument: string): string {
  return argument === "" ? "''" : shellArgument(argument);
}

/** The reason in "waiting for volume data: …", the volume, and the object that it needs. */
export function volumeText(error: string, pod: Pod | undefined): { text: string; values: Values } {
  const { name, text } = volumeReason(error);
  const volume = pod?.spec.volumes?.find((one) => one.name === name);
  const object = volume && objectOf(volume, pod?.metadata.name);
  return {
    text,
    values: {
      subject: name === undefined ? "a volume" : `volume ${name}`,
      object: object?.name ? `${object.kind} ${object.name}` : "its object",
      objectKind: object?.kind,
      objectName: object?.name,
    },
  };
}

function volumeReason(error: string): { name: string | undefined; text: string } {
  const waiting = /^waiting for volume ([\w.-]+): /.exec(error);
  if (waiting) return { name: waiting[1], text: error.slice(waiting[0].length) };
  const unmounted = /^unmounted volumes=\[([\w.-]+)/.exec(error);
  const end = error.indexOf("]: ");
  if (!unmounted || end < 0) return { name: undefined, text: error };
  return { name: unmounted[1], text: error.slice(end + "]: ".length) };
}

const objectFields: Readonly<Record<string, readonly [kind: string, field: string]>> = {
  configMap: ["ConfigMap", "name"],
  secret: ["Secret", "secretName"],
  persistentVolumeClaim: ["PersistentVolumeClaim", "claimName"],
  csi: ["CSI driver", "driver"],
  flexVolume: ["flexVolume driver", "driver"],
};

function objectOf(volume: Volume, podName = ""): { kind: string; name: string | undefined } | undefined {
  // Kubernetes names the claim of such a volume after its pod.
  if (volume.ephemeral) return { kind: "PersistentVolumeClaim", name: `${podName}-${volume.name}` };
  for (const [field, source] of Object.entries(volume)) {
    if (!Object.hasOwn(objectFields, field)) continue;
    const [kind, nameField] = objectFields[field]!;
    return { kind, name: (source as Record<string, string | undefined>)[nameField] };
  }
  return undefined;
}

/** The output and exit code of a postStart hook's command, or the error of its request. */
export function hookText(
  error: string,
  pod: Pod | undefined,
  name: string,
): { text: string; values: Values } {
  const ran = /' exited with (?<code>\d+): .*, message: (?<output>".*")$/s.exec(error)?.groups;
  if (ran) {
    const command = containerOf(pod, name)?.lifecycle?.postStart?.exec?.command;
    const values = { code: ran.code, command: command?.map(quoted).join(" ") };
    return { text: parsed(ran.output ?? "").trim(), values };
  }
  const address = /Get "https?:\/\/([^"]+)"/.exec(error)?.[1];
  const target = address === undefined ? "its target" : address.slice(address.search(/[:/]|$/));
  return { text: error.replace(/^.*? failed - error: /s, ""), values: { target } };
}

function parsed(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
