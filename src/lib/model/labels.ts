import { apiJson, containerHash } from "./container-hash.ts";
import type { Container, Pod } from "./pod.ts";

/** Labels and annotations that a kubelet sets on its sandboxes and containers. After a restart it finds them by these. */
export const labelPodName = "io.kubernetes.pod.name";
export const labelPodNamespace = "io.kubernetes.pod.namespace";
export const labelPodUid = "io.kubernetes.pod.uid";
export const labelContainerName = "io.kubernetes.container.name";

export const annotationContainerHash = "io.kubernetes.container.hash";
const annotationRestartCount = "io.kubernetes.container.restartCount";
export const annotationTerminationMessagePath = "io.kubernetes.container.terminationMessagePath";
export const annotationTerminationMessagePolicy = "io.kubernetes.container.terminationMessagePolicy";
const annotationPreStopHandler = "io.kubernetes.container.preStopHandler";
const annotationContainerPorts = "io.kubernetes.container.ports";
const annotationDeletionGracePeriod = "io.kubernetes.pod.deletionGracePeriod";
const annotationTerminationGracePeriod = "io.kubernetes.pod.terminationGracePeriod";

type Handler = NonNullable<NonNullable<Container["lifecycle"]>["preStop"]>;
type Port = NonNullable<Container["ports"]>[number];

export function sandboxLabels(pod: Pod): Record<string, string> {
  return { ...pod.metadata.labels, ...identity(pod) };
}

export function sandboxAnnotations(pod: Pod): Record<string, string> {
  return { ...pod.metadata.annotations };
}

export function containerLabels(pod: Pod, container: Container): Record<string, string> {
  return { ...identity(pod), [labelContainerName]: container.name };
}

/** `extra` comes from device plugins; the kubelet's own annotations take precedence. */
export function containerAnnotations(
  pod: Pod,
  container: Container,
  restartCount: number,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const annotations: Record<string, string> = {
    ...extra,
    [annotationContainerHash]: containerHash(container),
    [annotationRestartCount]: String(restartCount),
    [annotationTerminationMessagePath]: container.terminationMessagePath ?? "",
    [annotationTerminationMessagePolicy]: container.terminationMessagePolicy ?? "",
  };
  const { deletionGracePeriodSeconds } = pod.metadata;
  const { terminationGracePeriodSeconds } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  if (deletionGracePeriodSeconds != null) {
    annotations[annotationDeletionGracePeriod] = String(deletionGracePeriodSeconds);
  }
  if (terminationGracePeriodSeconds != null) {
    annotations[annotationTerminationGracePeriod] = String(terminationGracePeriodSeconds);
  }
  if (preStop) annotations[annotationPreStopHandler] = apiJson(orderedHandler(preStop));
  if (container.ports?.length)
    annotations[annotationContainerPorts] = apiJson(container.ports.map(orderedPort));
  return annotations;
}

function identity(pod: Pod): Record<string, string> {
  return {
    [labelPodName]: pod.metadata.name,
    [labelPodNamespace]: pod.metadata.namespace,
    [labelPodUid]: pod.metadata.uid,
  };
}

/** Fields in the order of the API types, regardless of their order in the manifest. */
function orderedHandler(handler: Handler): object {
  const { exec, httpGet, tcpSocket, sleep } = handler;
  return {
    exec,
    httpGet: httpGet && {
      path: httpGet.path,
      port: httpGet.port,
      host: httpGet.host,
      scheme: httpGet.scheme,
      httpHeaders: httpGet.httpHeaders?.map(({ name, value }) => ({ name, value })),
    },
    tcpSocket: tcpSocket && { port: tcpSocket.port, host: tcpSocket.host },
    sleep,
  };
}

function orderedPort({ name, hostPort, containerPort, protocol, hostIP }: Port): object {
  return { name, hostPort, containerPort, protocol, hostIP };
}

export interface ContainerInfo {
  /** Hexadecimal, as containerHash returns it. */
  readonly hash: string | undefined;
  readonly restartCount: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
}

/** The parts of the pod spec in a container's annotations: the pod may be deleted by now. Invalid ones count as absent. */
export function readContainerInfo(annotations: Readonly<Record<string, string | undefined>>): ContainerInfo {
  return {
    hash: annotations[annotationContainerHash] || undefined,
    restartCount: integer(annotations[annotationRestartCount]) ?? 0,
    terminationMessagePath: annotations[annotationTerminationMessagePath] ?? "",
    terminationMessagePolicy: annotations[annotationTerminationMessagePolicy] ?? "",
  };
}

function integer(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}
