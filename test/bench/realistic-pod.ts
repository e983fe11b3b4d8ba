/**
 * A running pod as an API server sends it, about 6 KiB as JSON, of which managed fields are a seventh. From version to version its
 * first container has another ID and restart count, and two conditions have changed.
 */
export function realisticPod(index: number, version: number) {
  const name = `web-${index}-7d4b9c6f5-x${index}`;
  const uid = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
  const time = new Date(1_767_225_600_000 + index * 1000).toISOString();
  const restarted = new Date(1_767_225_600_000 + version * 1000).toISOString();
  return {
    metadata: {
      name,
      generateName: `web-${index}-7d4b9c6f5-`,
      namespace: `team-${index % 20}`,
      uid,
      resourceVersion: String(version),
      creationTimestamp: time,
      labels: {
        app: `web-${index}`,
        "pod-template-hash": "7d4b9c6f5",
        tier: "frontend",
        team: `${index % 20}`,
      },
      annotations: {
        "example.com/deployed-at": time,
        "example.com/checksum": "9f86d081884c7d65".repeat(4),
      },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `web-${index}-7d4b9c6f5`, uid, controller: true },
      ],
      managedFields: managers.map((manager) => ({
        manager,
        operation: "Update",
        apiVersion: "v1",
        time,
        fieldsType: "FieldsV1",
        fieldsV1: fields,
      })),
    },
    spec: {
      volumes: [
        { name: "config", configMap: { name: `web-${index}`, defaultMode: 420 } },
        { name: "kube-api-access", projected: { sources: tokenSources, defaultMode: 420 } },
      ],
      containers: ["web", "proxy"].map((container) => ({
        name: container,
        image: `registry.example.com/team/${container}:v1.2.${index}`,
        command: [`/bin/${container}`, "--listen=:8080", "--config=/etc/config/app.yaml"],
        ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
        env: variables.map((variable) => ({ name: variable, value: `${variable.toLowerCase()}-of-${name}` })),
        resources: { limits: { cpu: "500m", memory: "256Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
        volumeMounts: [
          { name: "config", mountPath: "/etc/config", readOnly: true },
          {
            name: "kube-api-access",
            mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
            readOnly: true,
          },
        ],
        livenessProbe: { ...probe, httpGet: { path: "/live", port: "http", scheme: "HTTP" } },
        readinessProbe: { ...probe, httpGet: { path: "/ready", port: "http", scheme: "HTTP" } },
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        imagePullPolicy: "IfNotPresent",
        securityContext: {
          allowPrivilegeEscalation: false,
          runAsNonRoot: true,
          capabilities: { drop: ["ALL"] },
        },
      })),
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      serviceAccountName: "default",
      nodeName: "node-1",
      tolerations: ["not-ready", "unreachable"].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      })),
      priority: 0,
      enableServiceLinks: true,
    },
    status: {
      phase: "Running",
      conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
        type,
        status: "True",
        lastProbeTime: null,
        lastTransitionTime: type.endsWith("Ready") ? restarted : time,
      })),
      hostIP: "192.0.2.10",
      podIP: `10.0.${index >> 8}.${index & 255}`,
      podIPs: [{ ip: `10.0.${index >> 8}.${index & 255}` }],
      startTime: time,
      containerStatuses: ["web", "proxy"].map((container) => ({
        name: container,
        state: { running: { startedAt: container === "web" ? restarted : time } },
        lastState: {},
        ready: true,
        restartCount: container === "web" ? version : 0,
        image: `registry.example.com/team/${container}:v1.2.${index}`,
        imageID: `registry.example.com/team/${container}@sha256:${"ab12".repeat(16)}`,
        containerID: `containerd://${String(container === "web" ? version : index).padStart(64, "0")}`,
        started: true,
      })),
      qosClass: "Burstable",
    },
  };
}

const managers = ["kube-controller-manager", "kubelet"];
const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const variables = ["LOG_LEVEL", "REGION", "CACHE_URL", "DATABASE_URL", "FEATURES"];
const tokenSources = [
  { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
  { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
];
const fields = {
  "f:metadata": { "f:labels": { ".": {}, "f:app": {}, "f:tier": {} }, "f:ownerReferences": { ".": {} } },
  "f:spec": {
    "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:image": {}, "f:name": {}, "f:resources": {} } },
  },
  "f:status": {
    "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:lastTransitionTime": {} } },
  },
};
