import type { Container, PodSpec } from "../../src/lib/model/pod.ts";
import { sh } from "../e2e/lifecycle-suite.ts";
import { sleeper } from "../e2e/manifests.ts";
import { busyboxName } from "../node/test-node.ts";

export const areas = [
  "images",
  "starts",
  "volumes",
  "probes",
  "sandbox and network",
  "admission, resources and node",
] as const;
export type Area = (typeof areas)[number];

/** A pod that is broken in one way: what the first line of its explanation must name, and the step that must be suggested. */
export interface BrokenPod {
  readonly name: string;
  readonly area: Area;
  readonly names: RegExp;
  readonly step: RegExp;
  /** Fields of its only container, which sleeps otherwise. */
  readonly container?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
}

/** The taint of the node that all pods are bound to. */
export const taint = "dedicated=database:NoExecute";

const claim = (name: string) => ({
  path: "/api/v1/namespaces/default/persistentvolumeclaims",
  body: {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
});

/** Objects to create before the pods. */
export const objects = (registry: string): readonly { readonly path: string; readonly body: object }[] => [
  {
    path: "/api/v1/namespaces/default/configmaps",
    body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { size: "10" } },
  },
  {
    path: "/api/v1/namespaces/default/secrets",
    body: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "registry" },
      type: "kubernetes.io/dockerconfigjson",
      data: {
        ".dockerconfigjson": Buffer.from(
          JSON.stringify({ auths: { [registry]: { username: "nobody", password: "wrong" } } }),
        ).toString("base64"),
      },
    },
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
  claim("unbound"),
];

type Row = [name: string, names: RegExp, step: RegExp, container?: object, spec?: object];

/** On a busy machine each probe may take longer than a second. */
const everySecond = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 30 };
const extraContainer = (name: string, more: Partial<Container>): Container => ({
  name,
  image: busyboxName,
  imagePullPolicy: "Never" as const,
  command: sleeper,
  ...more,
});
const emptyDir = { volumes: [{ name: "data", emptyDir: {} }] };
const mounted = (mount: object) => ({ volumeMounts: [{ name: "data", ...mount }] });

/** Pulls from registries that fail in different ways. */
function images(hosts: Readonly<Record<string, string>>): Row[] {
  const pulled = (image: string) => ({ image, imagePullPolicy: "IfNotPresent" });
  const http = (repository: string) => pulled(`${hosts.http}/${repository}:1`);
  const app = (host: string | undefined) => pulled(`${host}/team/app:1`);
  const secret = (name: string) => ({ imagePullSecrets: [{ name }] });
  return [
    [
      "image-dns",
      /image registry\.invalid\/app:1 .*the registry registry\.invalid has no address/,
      /getent hosts registry\.invalid$/,
      pulled("registry.invalid/app:1"),
    ],
    [
      "image-refused",
      /127\.0\.0\.1:1\/app:1.*127\.0\.0\.1:1 \(connection refused\)/,
      /curl -v https?:\/\/127\.0\.0\.1:1\/v2\/$/,
      pulled("127.0.0.1:1/app:1"),
    ],
    ["image-timeout", /does not respond \(timeout\)/, /curl -v --max-time/, app(hosts.silent)],
    ["image-closed", /closes the connection/, /curl -v/, app(hosts.closing)],
    [
      "image-untrusted",
      /does not trust the certificate .*\(unknown authority\)/,
      /hosts\.toml.*openssl s_client -connect localhost:\d+/,
      app(hosts.unknown),
    ],
    ["image-expired", /certificate of its registry expired at \d{4}-/, /date -u$/, app(hosts.expired)],
    [
      "image-misnamed",
      /is for other\.example\.com, not for localhost/,
      /subjectAltName$/,
      app(hosts.misnamed),
    ],
    [
      "image-plain",
      /serves HTTP, but the runtime expects HTTPS/,
      /hosts\.toml.*curl -v http:/,
      app(hosts.plain),
    ],
    [
      "image-login",
      /requires a login or does not exist \(401\), and the pod has no pull secret/,
      /kubectl create secret docker-registry NAME -n default --docker-server=localhost:\d+/,
      http("unauthorized"),
    ],
    [
      "image-wrong-login",
      /pull secret registry is not accepted \(401\)/,
      /kubectl get secret registry -n default/,
      http("unauthorized"),
      secret("registry"),
    ],
    [
      "image-forbidden",
      /denies access \(403 Forbidden\), and the pod has no pull secret/,
      /kubectl create secret docker-registry/,
      http("forbidden"),
    ],
    [
      "image-forbidden-secret",
      /denies access with pull secret registry \(403\)/,
      /kubectl get secret registry/,
      http("forbidden"),
      secret("registry"),
    ],
    ["image-tag", /no such repository or tag \(404\)/, /\/v2\/no-tag\/tags\/list$/, http("no-tag")],
    [
      "image-digest",
      /sha256:0123456789ab… .*no content with this digest \(404\)/,
      /\/v2\/no-tag\/tags\/list$/,
      pulled(`${hosts.http}/no-tag@sha256:${"0123456789abcdef".repeat(4)}`),
    ],
    ["image-rate", /limits the rate of pulls \(429/, /wait, or pull with an account/, http("rate-limited")],
    [
      "image-broken",
      /its registry fails \(500 Internal Server Error\)/,
      /curl -v https?:\/\/localhost:\d+\/v2\/$/,
      http("broken"),
    ],
    [
      "image-archive",
      /cannot be unpacked: its layer sha256:[0-9a-f]{12}… is corrupt/,
      /push the image again/,
      http("no-archive"),
    ],
    [
      "image-corrupt",
      /a layer that the registry sent does not have its digest/,
      /check proxies/,
      http("corrupt"),
    ],
    [
      "image-platform",
      /has no variant for the architecture of this node/,
      /docker manifest inspect/,
      http("other-platform"),
    ],
    ["image-web-page", /sent text\/html instead of an image/, /another web server: curl/, http("web-page")],
    [
      "image-never",
      /image localhost\/absent:1 is not on the node, and imagePullPolicy is Never/,
      /crictl pull localhost\/absent:1$/,
      { image: "localhost/absent:1" },
    ],
    [
      "image-name",
      /image name Upper\/Case:1 is invalid: repository name \(Case\) must be lowercase/,
      /lower-case/,
      pulled("Upper/Case:1"),
    ],
  ];
}

function starts(hosts: Readonly<Record<string, string>>): Row[] {
  const of = (repository: string, more: object = {}) => ({
    image: `${hosts.http}/${repository}:1`,
    imagePullPolicy: "IfNotPresent",
    command: [],
    terminationMessagePolicy: "FallbackToLogsOnError",
    ...more,
  });
  const seccomp = (localhostProfile: string) => ({
    securityContext: { seccompProfile: { type: "Localhost", localhostProfile } },
  });
  const env = (from: object) => ({ env: [{ name: "COLOR", valueFrom: from }] });
  const message = (text: string, code: number) => sh(`echo ${text} > /dev/termination-log; exit ${code}`);
  return [
    [
      "start-file",
      /container c cannot start: its command "\/no\/such" does not exist in its image/,
      /crictl inspecti/,
      { command: ["/no/such"] },
    ],
    [
      "start-path",
      /its command "nosuch" is not in the PATH of its image/,
      /crictl inspecti/,
      { command: ["nosuch"] },
    ],
    [
      "start-mode",
      /its command "\/etc\/passwd" is not an executable file/,
      /chmod \+x \/etc\/passwd/,
      { command: ["/etc/passwd"] },
    ],
    ["start-machine", /its program is for another architecture/, /uname -m/, of("other-machine")],
    [
      "start-interpreter",
      /\/program, or the interpreter that it names, does not exist/,
      /first line of the script/,
      of("no-shell"),
    ],
    ["start-no-command", /neither it nor its image has a command/, /set command/, of("no-command")],
    [
      "start-user",
      /the user of its image has a name, but the image has no \/etc\/passwd/,
      /numeric securityContext\.runAsUser/,
      of("no-user"),
    ],
    [
      "start-user-name",
      /user "worker" of its image has no number/,
      /numeric securityContext\.runAsUser/,
      of("no-user", { securityContext: { runAsNonRoot: true } }),
    ],
    [
      "start-root",
      /its image runs as root, but runAsNonRoot is set/,
      /runAsUser/,
      {},
      { securityContext: { runAsNonRoot: true } },
    ],
    [
      "start-directory",
      /its workingDir \/etc\/passwd cannot be created \(not a directory\)/,
      /correct workingDir/,
      { workingDir: "/etc/passwd" },
    ],
    [
      "start-mount",
      /its volume and mountPath \/etc\/passwd are not both directories/,
      /subPath/,
      mounted({ mountPath: "/etc/passwd" }),
      emptyDir,
    ],
    [
      "start-mount-proc",
      /its mountPath \/proc\/x is inside \/proc/,
      /another mountPath/,
      mounted({ mountPath: "/proc/x" }),
      emptyDir,
    ],
    [
      "start-seccomp",
      /its seccomp profile .*absent\.json is not on the node/,
      /ls -l .*\/seccomp\/absent\.json$/,
      {},
      seccomp("absent.json"),
    ],
    [
      "start-seccomp-json",
      /its seccomp profile .*broken\.json is not valid JSON/,
      /correct the profile/,
      {},
      seccomp("broken.json"),
    ],
    [
      "start-config-map",
      /ConfigMap absent does not exist in namespace default/,
      /kubectl get configmap -n default$/,
      { envFrom: [{ configMapRef: { name: "absent" } }] },
    ],
    [
      "start-secret",
      /Secret absent does not exist in namespace default/,
      /kubectl get secret -n default$/,
      env({ secretKeyRef: { name: "absent", key: "x" } }),
    ],
    [
      "start-key",
      /ConfigMap settings has no key color/,
      /kubectl get ConfigMap settings -n default -o yaml$/,
      env({ configMapKeyRef: { name: "settings", key: "color" } }),
    ],
    [
      "start-sub-path",
      /its subPathExpr uses variable NOPE/,
      /add the variable to env/,
      mounted({ mountPath: "/data", subPathExpr: "$(NOPE)" }),
      emptyDir,
    ],
    [
      "start-hook",
      /was killed because its postStart hook failed: no registry/,
      /kubectl logs start-hook -n default -c c$/,
      { lifecycle: { postStart: { exec: { command: sh("echo no registry; exit 6") } } } },
    ],
    [
      "start-hook-silent",
      /its postStart hook failed: its command exited with 1 and no output/,
      /kubectl exec start-hook-silent -n default -c c -- sh -c 'exit 1'$/,
      { lifecycle: { postStart: { exec: { command: sh("exit 1") } } } },
    ],
    [
      "start-crash",
      /container c exited with code 3 \(Error\): database is locked/,
      /kubectl logs start-crash -n default -c c/,
      { command: message("database is locked", 3) },
    ],
    [
      "start-completes",
      /exited with code 0 \(Completed\), but restartPolicy Always starts it again/,
      /restartPolicy: OnFailure/,
      { command: sh("exit 0") },
    ],
    [
      "start-not-found",
      /exited with code 127 \(Error\): its shell did not find a command/,
      /kubectl logs/,
      { command: sh("nosuchcommand") },
    ],
    [
      "start-oom",
      /OOMKilled\).* (container|pod) used 2\d(\.\d)?Mi of its memory limit of 24Mi/,
      /resources\.limits\.memory/,
      { command: ["tail", "/dev/zero"], resources: { limits: { memory: "24Mi" } } },
    ],
    [
      "start-init",
      /init container migrate exited with code 4 \(Error\): schema 7 is missing/,
      /-c migrate/,
      {},
      { initContainers: [extraContainer("migrate", { command: message("schema 7 is missing", 4) })] },
    ],
    [
      "start-sidecar",
      /sidecar proxy exited with code 5 \(Error\): no upstream/,
      /-c proxy/,
      {},
      {
        initContainers: [
          extraContainer("proxy", { restartPolicy: "Always", command: message("no upstream", 5) }),
        ],
      },
    ],
  ];
}

function volumes(): Row[] {
  const volume = (source: object, mount: object = {}) =>
    [mounted({ mountPath: "/data", ...mount }), { volumes: [{ name: "data", ...source }] }] as const;
  const hostPath = (path: string, type: string) => volume({ hostPath: { path, type } });
  const pvc = (claimName: string) => volume({ persistentVolumeClaim: { claimName } });
  const field = { path: "x", resourceFieldRef: { containerName: "other", resource: "limits.cpu" } };
  return [
    [
      "volume-secret",
      /volume data cannot be mounted: Secret absent does not exist/,
      /kubectl get secret -n default$/,
      ...volume({ secret: { secretName: "absent" } }),
    ],
    [
      "volume-config-map",
      /ConfigMap absent does not exist/,
      /kubectl get configmap -n default$/,
      ...volume({ configMap: { name: "absent" } }),
    ],
    [
      "volume-key",
      /ConfigMap settings has no key color/,
      /items of the volume: kubectl get ConfigMap settings/,
      ...volume({ configMap: { name: "settings", items: [{ key: "color", path: "color" }] } }),
    ],
    [
      "volume-projected",
      /ConfigMap absent does not exist/,
      /kubectl get configmap/,
      ...volume({ projected: { sources: [{ configMap: { name: "absent" } }] } }),
    ],
    [
      "volume-directory",
      /hostPath \/no\/such is not a directory/,
      /ls -ld \/no\/such$/,
      ...hostPath("/no/such", "Directory"),
    ],
    ["volume-file", /hostPath \/etc is not a file/, /ls -ld \/etc$/, ...hostPath("/etc", "File")],
    [
      "volume-socket",
      /hostPath \/etc\/passwd is not a socket file/,
      /ls -ld/,
      ...hostPath("/etc/passwd", "Socket"),
    ],
    [
      "volume-claim",
      /PersistentVolumeClaim absent does not exist/,
      /kubectl get persistentvolumeclaim -n default$/,
      ...pvc("absent"),
    ],
    [
      "volume-unbound",
      /PersistentVolumeClaim unbound is not bound/,
      /kubectl describe pvc unbound -n default$/,
      ...pvc("unbound"),
    ],
    [
      "volume-csi",
      /CSI driver absent\.csi\.example\.com is not registered on this node/,
      /kubectl get csinode/,
      ...volume({ csi: { driver: "absent.csi.example.com" } }),
    ],
    [
      "volume-flex",
      /no plugin for flexVolume driver example\.com\/absent/,
      /volumePluginDir/,
      ...volume({ flexVolume: { driver: "example.com/absent" } }),
    ],
    [
      "volume-disk",
      /volume data cannot be mounted: it is not attached to this node/,
      /kubectl get volumeattachments/,
      ...volume({ gcePersistentDisk: { pdName: "x" } }),
    ],
    [
      "volume-field",
      /it refers to container other, which the pod does not have/,
      /containerName/,
      ...volume({ downwardAPI: { items: [field] } }),
    ],
    [
      "volume-image",
      /image 127\.0\.0\.1:1\/data:1 cannot be pulled.*connection refused/,
      /curl -v/,
      ...volume({ image: { reference: "127.0.0.1:1/data:1", pullPolicy: "IfNotPresent" } }),
    ],
    [
      "volume-sub-path",
      /the subPath in volume data cannot be prepared/,
      /parent of the subPath/,
      ...volume({ hostPath: { path: "/etc" } }, { subPath: "passwd/x" }),
    ],
  ];
}

function probes(): Row[] {
  const readiness = (handler: object, more: object = {}) => ({
    readinessProbe: { ...handler, ...everySecond },
    ...more,
  });
  const exec = (command: string[]) => ({ exec: { command } });
  const web = {
    command: sh(
      "mkdir -p /tmp/w/cgi-bin; printf '#!/bin/sh\\nprintf \"Status: 503 x\\\\r\\\\n\\\\r\\\\nno\"\\n' > /tmp/w/cgi-bin/ready; chmod +x /tmp/w/cgi-bin/ready; exec httpd -f -p 8080 -h /tmp/w",
    ),
  };
  const never = { ...everySecond, failureThreshold: 1000 };
  return [
    [
      "probe-exec",
      /readiness probe of container c failed.*: not yet/,
      /kubectl logs probe-exec/,
      readiness(exec(sh("echo not yet; exit 1"))),
    ],
    [
      "probe-silent",
      /its command exited with 1 and no output/,
      /kubectl exec probe-silent -n default -c c -- sh -c 'exit 1'$/,
      readiness(exec(sh("exit 1"))),
    ],
    [
      "probe-absent",
      /its command "\/no\/such" does not exist in the image/,
      /correct the command of the probe/,
      readiness(exec(["/no/such"])),
    ],
    [
      "probe-slow",
      /its command takes longer than timeoutSeconds \(1s\)/,
      /raise timeoutSeconds/,
      { readinessProbe: { ...exec(["sleep", "100"]), ...everySecond, timeoutSeconds: 1 } },
    ],
    [
      "probe-404",
      /:8080\/absent responds with HTTP status 404/,
      /correct its path/,
      readiness({ httpGet: { port: 8080, path: "/absent" } }, web),
    ],
    [
      "probe-503",
      /:8080\/cgi-bin\/ready responds with HTTP status 503/,
      /kubectl logs/,
      readiness({ httpGet: { port: 8080, path: "/cgi-bin/ready" } }, web),
    ],
    [
      "probe-refused",
      /nothing listens on :81\/ \(connection refused\)/,
      /netstat -tln$/,
      readiness({ httpGet: { port: 81 } }),
    ],
    [
      "probe-https",
      /:8080\/ serves HTTP, not HTTPS/,
      /scheme: HTTPS/,
      readiness({ httpGet: { port: 8080, scheme: "HTTPS" } }, web),
    ],
    [
      "probe-port-name",
      /the container has no port with the name "web"/,
      /add a port/,
      readiness({ httpGet: { port: "web" } }),
    ],
    [
      "probe-grpc",
      /no gRPC server at :50051 within 1s/,
      /netstat -tln$/,
      { readinessProbe: { grpc: { port: 50051 }, ...everySecond, timeoutSeconds: 1 } },
    ],
    [
      "probe-tcp",
      /startup probe of container c failed.*nothing listens on :9090/,
      /netstat -tln$/,
      { startupProbe: { tcpSocket: { port: 9090 }, ...never } },
    ],
    [
      "probe-liveness",
      /was killed because its liveness probe failed.*: no heartbeat/,
      /kubectl logs/,
      { livenessProbe: { ...exec(sh("echo no heartbeat; exit 1")), ...everySecond } },
    ],
    [
      "probe-startup",
      /was killed because its startup probe failed.*: its command exited with 2 and no output/,
      /kubectl exec/,
      { startupProbe: { ...exec(sh("exit 2")), ...everySecond } },
    ],
    [
      "probe-sidecar",
      /startup probe of sidecar proxy failed.*: not warm/,
      /-c proxy$/,
      {},
      {
        initContainers: [
          extraContainer("proxy", {
            restartPolicy: "Always",
            startupProbe: { ...exec(sh("echo not warm; exit 1")), ...never },
          }),
        ],
      },
    ],
  ];
}

function sandboxes(): Row[] {
  const sysctl = { name: "net.ipv4.ip_local_port_range", value: "nonsense" };
  const long = { hostname: "a".repeat(63), subdomain: "b".repeat(60), setHostnameAsFQDN: true };
  return [
    [
      "sandbox-handler",
      /the runtime has no handler no-such-handler \(RuntimeClass isolated\)/,
      /kubectl get runtimeclass isolated/,
      {},
      { runtimeClassName: "isolated" },
    ],
    [
      "sandbox-sysctl",
      /the kernel rejects sysctl net\/ipv4\/ip_local_port_range \(invalid argument\)/,
      /cat \/proc\/sys\/net\/ipv4/,
      {},
      { securityContext: { sysctls: [sysctl] } },
    ],
    [
      "sandbox-name",
      /its FQDN has 137 characters, but a host name has at most 64/,
      /setHostnameAsFQDN/,
      {},
      long,
    ],
    [
      "sandbox-memory",
      /the memory limit of the pod is too low, even for the sandbox \(OOM kill\)/,
      /resources\.limits\.memory/,
      { resources: { limits: { memory: "100k" } } },
    ],
  ];
}

function admissions(): Row[] {
  const expressions = [{ key: "zone", operator: "In", values: ["east", "west"] }];
  const required = { nodeSelectorTerms: [{ matchExpressions: expressions }] };
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  const requests = (resources: object) => ({ resources: { requests: resources } });
  const claims = { resources: { claims: [{ name: "device" }] } };
  const fill = (path: string) => ({ command: sh(`dd if=/dev/zero of=${path} bs=1M count=20; sleep 1000`) });
  return [
    [
      "node-cpu",
      /OutOfcpu: requests 4000000m of cpu, but the node has \d+m, of which \d+m are requested/,
      /resources\.requests\.cpu/,
      requests({ cpu: "4k" }),
    ],
    [
      "node-memory",
      /OutOfmemory: requests 4398046511104 of memory, but the node has \d+/,
      /kubectl describe node/,
      requests({ memory: "4Ti" }),
    ],
    [
      "node-selector",
      /NodeAffinity: nodeSelector disk=ssd does not match: the node has no label disk/,
      /kubectl label node \S+ disk=ssd$/,
      {},
      { nodeSelector: { disk: "ssd" } },
    ],
    [
      "node-os",
      /kubernetes\.io\/os=windows does not match: the node has kubernetes\.io\/os=linux/,
      /nodeSelector/,
      {},
      { nodeSelector: { "kubernetes.io/os": "windows" } },
    ],
    [
      "node-affinity",
      /zone In \[east, west\] does not match: the node has no label zone/,
      /--show-labels$/,
      {},
      { affinity },
    ],
    [
      "node-taint",
      /TaintToleration: .* taint dedicated=database:NoExecute/,
      /kubectl taint node \S+ dedicated=database:NoExecute-$/,
      {},
      { tolerations: [] },
    ],
    [
      "node-sysctl",
      /SysctlForbidden: sysctl "kernel\.msgmax" is unsafe/,
      /allowedUnsafeSysctls/,
      {},
      { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "65536" }] } },
    ],
    [
      "node-host-port",
      /NodePorts: hostPort 18080\/TCP is in use by pod default\/holder/,
      /another hostPort/,
      { ports: [{ containerPort: 80, hostPort: 18080 }] },
    ],
    [
      "node-deadline",
      /DeadlineExceeded: .*activeDeadlineSeconds \(4 s\)/,
      /raise activeDeadlineSeconds/,
      {},
      { activeDeadlineSeconds: 4 },
    ],
    [
      "node-gate",
      /readiness gate "example\.com\/approved" is not fulfilled/,
      /controller that sets the condition/,
      {},
      { readinessGates: [{ conditionType: "example.com/approved" }] },
    ],
    [
      "node-claim",
      /ResourceClaim absent does not exist in namespace default/,
      /kubectl get resourceclaims -n default$/,
      claims,
      { resourceClaims: [{ name: "device", resourceClaimName: "absent" }] },
    ],
    [
      "node-claim-template",
      /ResourceClaim not created yet/,
      /kubectl get resourceclaimtemplates/,
      claims,
      { resourceClaims: [{ name: "device", resourceClaimTemplateName: "absent" }] },
    ],
    [
      "node-empty-dir",
      /Evicted: emptyDir volume data used 20Mi, but its sizeLimit is 1Mi/,
      /raise sizeLimit/,
      { ...fill("/data/x"), ...mounted({ mountPath: "/data" }) },
      { volumes: [{ name: "data", emptyDir: { sizeLimit: "1Mi" } }] },
    ],
    [
      "node-storage",
      /Evicted: the pod used 20Mi of local storage, but its limits add up to 1Mi/,
      /ephemeral-storage/,
      { ...fill("/tmp/x"), resources: { limits: { "ephemeral-storage": "1Mi" } } },
    ],
    [
      "node-job",
      /container c exited with code 7 \(Error\)/,
      /kubectl logs node-job -n default -c c$/,
      { command: sh("exit 7") },
      { restartPolicy: "Never" },
    ],
  ];
}

/** All pods that are broken at the same time, on a healthy node. */
export function brokenPods(hosts: Readonly<Record<string, string>>): BrokenPod[] {
  const pods = (area: Area, rows: readonly Row[]): BrokenPod[] =>
    rows.map(([name, names, step, container, spec]) => ({
      name,
      area,
      names,
      step,
      ...(container && { container: container as Partial<Container> }),
      ...(spec && { spec: spec as Partial<PodSpec> }),
    }));
  return [
    ...pods("images", images(hosts)),
    ...pods("starts", starts(hosts)),
    ...pods("volumes", volumes()),
    ...pods("probes", probes()),
    ...pods("sandbox and network", sandboxes()),
    ...pods("admission, resources and node", admissions()),
  ];
}
