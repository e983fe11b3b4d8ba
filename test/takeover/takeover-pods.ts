import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { busyboxName } from "../node/test-node.ts";

const command = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1 & wait; done"];

export function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: busyboxName, imagePullPolicy: "Never", command, ...more } as Container;
}

const field = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });
const mount = (name: string) => ({ name, mountPath: `/v/${name}` });

function pod(name: string, spec: Partial<PodSpec>, labels: Record<string, string> = {}): Pod {
  const more = {
    terminationGracePeriodSeconds: 1,
    dnsPolicy: "Default",
    automountServiceAccountToken: name === "volumes",
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels },
    spec: { ...more, ...spec },
  } as unknown as Pod;
}

const limits = { requests: { cpu: "20m", memory: "16Mi" }, limits: { cpu: "200m", memory: "64Mi" } };
const exec = (script: string) => ({ exec: { command: ["sh", "-c", script] } });

/** API pods; each has state that a kubelet keeps on disk, in the runtime or in the status. */
export const apiPods: readonly Pod[] = [
  pod("plain", { containers: [container("c")] }),
  pod("limits", { containers: [container("c", { resources: limits })] }),
  pod("pod-level", {
    resources: { requests: { cpu: "30m", memory: "24Mi" }, limits: { cpu: "300m", memory: "96Mi" } },
    containers: [container("c"), container("d", { resources: { requests: { cpu: "10m" } } })],
  }),
  pod("sidecar", {
    initContainers: [
      container("first", { command: ["true"], resources: limits }),
      container("side", { restartPolicy: "Always", startupProbe: { ...exec("true"), periodSeconds: 1 } }),
    ],
    containers: [container("c", { readinessProbe: { ...exec("true"), periodSeconds: 1 } })],
  }),
  pod(
    "volumes",
    {
      containers: [
        container("c", { volumeMounts: ["about", "config", "keys", "all", "scratch"].map(mount) }),
      ],
      volumes: [
        { name: "about", downwardAPI: { items: [field("labels", "metadata.labels")] } },
        { name: "config", configMap: { name: "settings" } },
        { name: "keys", secret: { secretName: "keys" } },
        {
          name: "all",
          projected: {
            sources: [
              { downwardAPI: { items: [field("labels", "metadata.labels")] } },
              { serviceAccountToken: { path: "token", audience: "somebody", expirationSeconds: 600 } },
            ],
          },
        },
        { name: "scratch", emptyDir: {} },
      ],
    },
    { round: "0" },
  ),
];

/** Manifests, as JSON. The reference kubelet's result is in `recorded/`. */
export const manifests: Readonly<Record<string, unknown>> = {
  "small.json": {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "small" },
    spec: { hostNetwork: true, containers: [container("c")] },
  },
  "full.json": {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "full", namespace: "kube-system", labels: { tier: "node", app: "full" } },
    spec: {
      terminationGracePeriodSeconds: 1,
      priorityClassName: "system-node-critical",
      priority: 2000001000,
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        container("c", {
          env: [
            { name: "A", value: "1" },
            { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          ],
          resources: limits,
          livenessProbe: {
            ...exec("true"),
            initialDelaySeconds: 10,
            timeoutSeconds: 15,
            failureThreshold: 8,
          },
          volumeMounts: [mount("about"), { name: "host", mountPath: "/host", readOnly: true }],
        }),
      ],
      volumes: [
        { name: "about", downwardAPI: { items: [field("labels", "metadata.labels")] } },
        { name: "host", hostPath: { path: "/etc", type: "DirectoryOrCreate" } },
      ],
    },
  },
};
