import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../src/kubelet/state/observed-pods.ts";
import { wallTime } from "../../src/lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import type { Container, Pod, PodSpec, PodUid } from "../../src/lib/model/pod.ts";

export const testUid = "11111111-2222-3333-4444-555555555555" as PodUid;

export function aContainer(name: string, more: Partial<Container> = {}): Container {
  return { name, image: "busybox:1", imagePullPolicy: "IfNotPresent", ...more };
}

export function aPod(spec: Partial<PodSpec> = {}, meta: Partial<Pod["metadata"]> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "p",
      namespace: "default",
      uid: testUid,
      annotations: { "kubernetes.io/config.source": "file" },
      ...meta,
    },
    spec: {
      restartPolicy: "Always",
      containers: [aContainer("a")],
      terminationGracePeriodSeconds: 1,
      ...spec,
    },
  };
}

export function aSandbox(more: Partial<ObservedSandbox> = {}): ObservedSandbox {
  return {
    id: "s0" as SandboxId,
    state: "ready",
    attempt: 0,
    createdAt: wallTime(1000),
    ips: ["10.0.0.1"],
    hostNetwork: false,
    annotations: {},
    ...more,
  };
}

export function anObservedContainer(name: string, more: Partial<ObservedContainer> = {}): ObservedContainer {
  const attempt = more.attempt ?? 0;
  return {
    id: `${name}-${attempt}` as ContainerId,
    name,
    sandboxId: "s0" as SandboxId,
    state: "running",
    attempt,
    hash: "h",
    image: "busybox:1",
    imageRef: "sha256:1",
    createdAt: wallTime(2000 + attempt),
    startedAt: wallTime(2000 + attempt),
    finishedAt: wallTime(more.state === "exited" ? 3000 + attempt : 0),
    exitCode: 0,
    reason: "",
    message: "",
    logPath: "",
    annotations: {},
    ...more,
  };
}

export function anObservedPod(
  containers: ObservedContainer[],
  sandboxes: ObservedSandbox[] = [aSandbox()],
): ObservedPod {
  return { uid: testUid, name: "p", namespace: "default", sandboxes, containers };
}
