import type { Container, PodSpec } from "../../src/lib/model/pod.ts";
import { sh } from "../e2e/lifecycle-suite.ts";
import { sleeper } from "../e2e/manifests.ts";
import { busyboxName } from "../node/test-node.ts";

/** A pod that is broken in one way, and the pattern that the first line of its explanation must match. */
export interface BrokenPod {
  readonly name: string;
  readonly names: RegExp;
  /** Fields of its only container, which sleeps otherwise. */
  readonly container?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
}

/** The taint of the node that all pods are bound to. */
export const taint = "dedicated=database:NoExecute";

/** Objects to create before the pods. */
export const objects: readonly { readonly path: string; readonly body: object }[] = [
  {
    path: "/api/v1/namespaces/default/configmaps",
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { size: "10" } },
  },
  {
    path: "/apis/node.k8s.io/v1/runtimeclasses",
    body: {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "isolated" },
      handler: "no-such-handler",
    },
  },
];

const volume = (source: Record<string, unknown>): Pick<BrokenPod, "container" | "spec"> => ({
  container: { volumeMounts: [{ name: "data", mountPath: "/data" }] },
  spec: { volumes: [{ name: "data", ...source }] } as Partial<PodSpec>,
});
const fast = { periodSeconds: 1, failureThreshold: 1 };
const extraContainer = (name: string, more: Partial<Container>): Container => ({
  name,
  image: busyboxName,
  imagePullPolicy: "Never" as const,
  command: sleeper,
  ...more,
});

export const brokenPods: readonly BrokenPod[] = [
  {
    name: "image",
    names: /127\.0\.0\.1:1\/no\/such:1.*connection refused/,
    container: { image: "127.0.0.1:1/no/such:1", imagePullPolicy: "IfNotPresent" },
  },
  {
    name: "policy",
    names: /"localhost\/absent:1" is not present with pull policy of Never/,
    container: { image: "localhost/absent:1", imagePullPolicy: "Never" },
  },
  {
    name: "image-name",
    names: /container c: .*"Upper\/Case:1"/,
    container: { image: "Upper/Case:1", imagePullPolicy: "IfNotPresent" },
  },
  {
    name: "config-map",
    names: /configmap "absent-settings" not found/,
    container: { envFrom: [{ configMapRef: { name: "absent-settings" } }] },
  },
  {
    name: "secret",
    names: /volume data.*secret "absent-password" not found/,
    ...volume({ secret: { secretName: "absent-password" } }),
  },
  {
    name: "key",
    names: /couldn't find key color in ConfigMap default\/settings/,
    container: {
      env: [{ name: "COLOR", valueFrom: { configMapKeyRef: { name: "settings", key: "color" } } }],
    },
  },
  {
    name: "volume-key",
    names: /volume data.*references non-existent config key: color/,
    ...volume({ configMap: { name: "settings", items: [{ key: "color", path: "color" }] } }),
  },
  {
    name: "command",
    names: /\bc\b.*"\/no\/such\/program".*no such file or directory/,
    container: { command: ["/no/such/program"] },
  },
  {
    name: "crash",
    names: /\bc\b.*exited with code 3 \(Error\): database is locked/,
    container: { command: sh("echo database is locked > /dev/termination-log; exit 3") },
  },
  {
    name: "oom",
    names: /\bc\b.*OOMKilled.*memory limit.* 24Mi/,
    container: {
      command: ["tail", "/dev/zero"],
      resources: { limits: { memory: "24Mi" } },
    },
  },
  {
    name: "init",
    names: /init container migrate.*exited with code 4 \(Error\): schema 7 is missing/,
    spec: {
      initContainers: [
        extraContainer("migrate", { command: sh("echo schema 7 is missing > /dev/termination-log; exit 4") }),
      ],
    },
  },
  {
    name: "sidecar",
    names: /sidecar proxy.*exited with code 5 \(Error\): no upstream/,
    spec: {
      initContainers: [
        extraContainer("proxy", {
          restartPolicy: "Always",
          command: sh("echo no upstream > /dev/termination-log; exit 5"),
        }),
      ],
    },
  },
  {
    name: "sidecar-startup",
    names: /startup probe of sidecar proxy.*not warm/,
    spec: {
      initContainers: [
        extraContainer("proxy", {
          restartPolicy: "Always",
          startupProbe: {
            exec: { command: sh("echo not warm; exit 1") },
            periodSeconds: 1,
            failureThreshold: 1000,
          },
        }),
      ],
    },
  },
  {
    name: "liveness-exec",
    names: /^(?=.*\bc\b).*liveness probe.*no heartbeat/,
    container: { livenessProbe: { exec: { command: sh("echo no heartbeat; exit 1") }, ...fast } },
  },
  {
    name: "readiness-http",
    names: /readiness probe of container c.*statuscode: 404/,
    container: {
      command: sh("mkdir -p /tmp/www; exec httpd -f -p 8080 -h /tmp/www"),
      readinessProbe: { httpGet: { port: 8080, path: "/ready" }, ...fast },
    },
  },
  {
    name: "readiness-grpc",
    names: /readiness probe of container c.*:50051/,
    container: { readinessProbe: { grpc: { port: 50051 }, ...fast } },
  },
  {
    name: "startup-tcp",
    names: /^(?=.*\bc\b).*startup probe.*:9090: connect: connection refused/,
    container: { startupProbe: { tcpSocket: { port: 9090 }, ...fast } },
  },
  {
    name: "hook",
    names: /container c\b.*postStart hook.*no registry/,
    container: { lifecycle: { postStart: { exec: { command: sh("echo no registry; exit 6") } } } },
  },
  {
    name: "non-root",
    names: /\bc\b.*runAsNonRoot and image will run as root/,
    spec: { securityContext: { runAsNonRoot: true } },
  },
  {
    name: "seccomp",
    names: /profiles\/absent\.json.*no such file or directory/,
    spec: {
      securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "profiles/absent.json" } },
    },
  },
  {
    name: "size",
    names: /OutOfcpu.*cpu, requested: 4000000, used: \d+, capacity: \d+/,
    container: { resources: { requests: { cpu: "4k" } } },
  },
  {
    name: "selector",
    names: /NodeAffinity.*nodeSelector.*disk=ssd/,
    spec: { nodeSelector: { "kubernetes.io/os": "linux", disk: "ssd" } },
  },
  {
    name: "affinity",
    names: /NodeAffinity.*zone In \[east, west\]/,
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "zone", operator: "In", values: ["east", "west"] }] },
            ],
          },
        },
      },
    } as Partial<PodSpec>,
  },
  {
    name: "taint",
    names: /TaintToleration.*dedicated=database:NoExecute/,
    spec: { tolerations: [] },
  },
  {
    name: "sysctl",
    names: /SysctlForbidden.*"kernel\.msgmax"/,
    spec: { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "65536" }] } },
  },
  {
    name: "claim",
    names: /volume.*\bdata\b.*"absent-claim" not found/,
    ...volume({ persistentVolumeClaim: { claimName: "absent-claim" } }),
  },
  {
    name: "resource-claim",
    names: /ResourceClaim absent-device.*not found/,
    container: { resources: { claims: [{ name: "device" }] } },
    spec: { resourceClaims: [{ name: "device", resourceClaimName: "absent-device" }] },
  },
  {
    name: "resource-claim-template",
    names: /ResourceClaim not created yet/,
    container: { resources: { claims: [{ name: "device" }] } },
    spec: { resourceClaims: [{ name: "device", resourceClaimTemplateName: "absent-template" }] },
  },
  {
    name: "host-path",
    names: /volume data.*hostPath type check failed: \/no\/such\/directory is not a directory/,
    ...volume({ hostPath: { path: "/no/such/directory", type: "Directory" } }),
  },
  {
    name: "csi-driver",
    names: /volume data.*absent\.csi\.example\.com.*not found in the list of registered CSI drivers/,
    ...volume({ csi: { driver: "absent.csi.example.com" } }),
  },
  {
    name: "gate",
    names: /readiness gate "example\.com\/approved"/,
    spec: { readinessGates: [{ conditionType: "example.com/approved" }] },
  },
  {
    name: "runtime-class",
    names: /no-such-handler/,
    spec: { runtimeClassName: "isolated" },
  },
  {
    name: "deadline",
    names: /DeadlineExceeded.*activeDeadlineSeconds.* 4\b/,
    spec: { activeDeadlineSeconds: 4 },
  },
  {
    name: "failed-job",
    names: /container c exited with code 7 \(Error\): nothing to import/,
    container: { command: sh("echo nothing to import > /dev/termination-log; exit 7") },
    spec: { restartPolicy: "Never" },
  },
  {
    name: "failed-init",
    names: /init container check.*exited with code 8/,
    spec: { restartPolicy: "Never", initContainers: [extraContainer("check", { command: sh("exit 8") })] },
  },
  {
    name: "host-port",
    names: /NodePorts.*hostPort 18080\/TCP.*default\/holder/,
    container: { ports: [{ containerPort: 80, hostPort: 18080 }] },
  },
];
