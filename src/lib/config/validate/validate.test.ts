import assert from "node:assert/strict";
import { test } from "node:test";
import { withDefaults, withFileDefaults } from "../defaults.ts";
import { FeatureGates } from "../feature-gates.ts";
import type { PartialConfiguration } from "../kubelet-configuration.ts";
import { formatConfigProblem } from "../problems.ts";
import { validateConfiguration, validateForHost } from "./validate.ts";

function problemsOf(partial: PartialConfiguration): string[] {
  const gates = new FeatureGates(partial.featureGates);
  const config = withDefaults(withFileDefaults(partial), gates);
  return validateConfiguration(config, gates).map((problem) => formatConfigProblem(problem));
}

const valid: PartialConfiguration[] = [
  { healthzPort: 0, readOnlyPort: 10255, nodeStatusMaxImages: -1, oomScoreAdj: -1000 },
  { systemCgroups: "/system", cgroupRoot: "/" },
  { enforceNodeAllocatable: ["none"], cgroupsPerQOS: false },
  {
    enforceNodeAllocatable: ["pods", "system-reserved", "kube-reserved-compressible"],
    systemReservedCgroup: "/s",
    kubeReservedCgroup: "/k",
  },
  { evictionHard: { "memory.available": "1.5%", "pid.available": "10" } },
  {
    evictionSoft: { "memory.available": "2Gi", "nodefs.available": "0%" },
    evictionSoftGracePeriod: { "memory.available": "1m" },
  },
  { evictionMinimumReclaim: { "memory.available": "0Mi", "imagefs.available": "2Gi" } },
  { systemReserved: { cpu: "100m", memory: "1Gi", "ephemeral-storage": "1Gi", pid: "1000" } },
  { reservedSystemCPUs: "0-3,8" },
  { reservedMemory: [{ numaNode: 0, limits: { memory: "1Gi", "hugepages-2Mi": "2Mi" } }] },
  { shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 },
  { shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: 5 }] },
  {
    imagePullCredentialsVerificationPolicy: "NeverVerifyAllowlistedImages",
    preloadedImagesVerificationAllowlist: ["registry.io/*", "registry.io:5000/a/b"],
  },
  { registerWithTaints: [{ key: "a", value: "b", effect: "NoSchedule" }] },
  {
    tlsCipherSuites: ["TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA"],
    tlsMinVersion: "VersionTLS13",
    tlsCurvePreferences: [29, 23],
  },
  { tracing: { endpoint: "localhost:4317", samplingRatePerMillion: 1_000_000 } },
  { tracing: { endpoint: "unix:///run/otel.sock" } },
  { userNamespaces: { idsPerPod: 131072 } },
  { logging: { format: "json", verbosity: 4 } },
  { featureGates: { MemoryQoS: true }, memoryReservationPolicy: "TieredReservation" },
  { memorySwap: { swapBehavior: "LimitedSwap" }, qosReserved: { memory: "50%" } },
  { cpuCFSQuotaPeriod: 50, featureGates: { CustomCPUCFSQuotaPeriod: true } },
  { serverTLSBootstrap: true, featureGates: { RotateKubeletServerCertificate: true } },
  { imageMaximumGCAge: 3_600_000, showHiddenMetricsForVersion: "1.35", address: "::" },
];
// parity: field showHiddenMetricsForVersion, gate CustomCPUCFSQuotaPeriod=true, gate RotateKubeletServerCertificate=true
for (const partial of valid) {
  test(`valid: ${JSON.stringify(partial)}`, () => assert.deepEqual(problemsOf(partial), []));
}

const invalid: [partial: PartialConfiguration, ...shown: string[]][] = [
  [{ evictionHard: { "memory.available": "1QQ" } }, 'evictionHard.memory.available: "1QQ" is not a quantity'],
  [{ evictionHard: { "memory.available": "x%" } }, 'evictionHard.memory.available: "x%" is not a percentage'],
  [
    { evictionHard: { "memory.available": "101%" } },
    'evictionHard.memory.available: "101%" is not between 0% and 100%',
  ],
  [
    { evictionHard: { "memory.available": "0" } },
    'evictionHard.memory.available: must be more than zero, not "0"',
  ],
  [{ evictionHard: { "disk.available": "1" } }, "evictionHard.disk.available: is not an eviction signal"],
  [
    { evictionSoft: { "memory.available": "1Gi" } },
    "evictionSoft.memory.available: has no grace period in evictionSoftGracePeriod",
  ],
  [
    { evictionSoftGracePeriod: { "memory.available": "1x" } },
    'evictionSoftGracePeriod.memory.available: "1x" is not a duration',
  ],
  [
    { evictionSoftGracePeriod: { "memory.available": "-1s" } },
    'evictionSoftGracePeriod.memory.available: must not be negative, not "-1s"',
  ],
  [
    { evictionMinimumReclaim: { "memory.available": "-1" } },
    'evictionMinimumReclaim.memory.available: must not be negative, not "-1"',
  ],
  [
    { evictionMinimumReclaim: { "memory.available": "0%" } },
    'evictionMinimumReclaim.memory.available: must be more than zero, not "0%"',
  ],
  [{ nodeLeaseDurationSeconds: -1 }, "nodeLeaseDurationSeconds: must be 1 or more, not -1"],
  [{ eventBurst: -1 }, "eventBurst: must be 0 or more, not -1"],
  [{ eventRecordQPS: -1 }, "eventRecordQPS: must be 0 or more, not -1"],
  [{ healthzPort: 65536 }, "healthzPort: must be between 0 and 65535, not 65536"],
  [{ port: -1 }, "port: must be between 1 and 65535, not -1"],
  [{ readOnlyPort: -1 }, "readOnlyPort: must be between 0 and 65535, not -1"],
  [{ imageGCHighThresholdPercent: 101 }, "imageGCHighThresholdPercent: must be between 0 and 100, not 101"],
  [
    { imageGCLowThresholdPercent: -1, imageGCHighThresholdPercent: -1 },
    "imageGCHighThresholdPercent: must be between 0 and 100, not -1",
    "imageGCLowThresholdPercent: must be between 0 and 100, not -1",
    "imageGCLowThresholdPercent: must be less than imageGCHighThresholdPercent (-1), not -1",
  ],
  [{ imageMinimumGCAge: -1000 }, "imageMinimumGCAge: must be 0s or more, not -1s"],
  [{ imageMaximumGCAge: -1000 }, "imageMaximumGCAge: must be 0s or more, not -1s"],
  [{ imageMaximumGCAge: 1000 }, "imageMaximumGCAge: must be longer than imageMinimumGCAge (2m0s), not 1s"],
  [{ iptablesDropBit: 32 }, "iptablesDropBit: must be between 0 and 31, not 32"],
  [{ iptablesMasqueradeBit: -1 }, "iptablesMasqueradeBit: must be between 0 and 31, not -1"],
  [{ kubeAPIBurst: -1 }, "kubeAPIBurst: must be 0 or more, not -1"],
  [{ kubeAPIQPS: -1 }, "kubeAPIQPS: must be 0 or more, not -1"],
  [{ nodeStatusMaxImages: -2 }, "nodeStatusMaxImages: must be -1 or more, not -2"],
  [{ maxOpenFiles: -1 }, "maxOpenFiles: must be 0 or more, not -1"],
  [{ maxPods: -1 }, "maxPods: must be 0 or more, not -1"],
  [{ oomScoreAdj: 1001 }, "oomScoreAdj: must be between -1000 and 1000, not 1001"],
  [{ podsPerCore: -1 }, "podsPerCore: must be 0 or more, not -1"],
  [{ registryBurst: -1 }, "registryBurst: must be 0 or more, not -1"],
  [{ registryPullQPS: -1 }, "registryPullQPS: must be 0 or more, not -1"],
  [{ maxParallelImagePulls: 0 }, "maxParallelImagePulls: must be 1 or more, not 0"],
  [
    { maxParallelImagePulls: 3, serializeImagePulls: true },
    "maxParallelImagePulls: cannot be more than 1 unless serializeImagePulls is false",
  ],
  [{ containerLogMaxWorkers: 0 }, "containerLogMaxWorkers: must be 1 or more, not 0"],
  [{ containerLogMaxFiles: 1 }, "containerLogMaxFiles: must be 2 or more, not 1"],
  [{ containerLogMonitorInterval: 2000 }, "containerLogMonitorInterval: must be 3s or more, not 2s"],
  [{ containerLogMaxSize: "10QQ" }, 'containerLogMaxSize: "10QQ" is not a quantity'],
  [{ cpuCFSQuotaPeriod: 2000 }, "cpuCFSQuotaPeriod: must be between 1ms and 1s, not 2s"],
  [
    { cpuCFSQuotaPeriod: 50, featureGates: { CustomCPUCFSQuotaPeriod: false } },
    "cpuCFSQuotaPeriod: needs the feature gate CustomCPUCFSQuotaPeriod",
  ],
  [{ systemCgroups: "/s" }, "systemCgroups: needs cgroupRoot"],
  [{ runOnce: true }, "runOnce: is no longer possible here; `kubelet run -f <file>` runs pods once"],
  [
    { serverTLSBootstrap: true, featureGates: { RotateKubeletServerCertificate: false } },
    "serverTLSBootstrap: needs the feature gate RotateKubeletServerCertificate",
  ],
  [
    { topologyManagerPolicy: "best" as never },
    'topologyManagerPolicy: "best" is not one of "none", "best-effort", "restricted", "single-numa-node"',
  ],
  [
    { topologyManagerScope: "node" as never },
    'topologyManagerScope: "node" is not one of "container", "pod"',
  ],
  [
    { hairpinMode: "x" as never },
    'hairpinMode: "x" is not one of "promiscuous-bridge", "hairpin-veth", "none"',
  ],
  [{ cgroupDriver: "x" as never }, 'cgroupDriver: "x" is not one of "cgroupfs", "systemd"'],
  [
    { authorization: { mode: "RBAC" as never } },
    'authorization.mode: "RBAC" is not one of "AlwaysAllow", "Webhook"',
  ],
  [
    { memorySwap: { swapBehavior: "UnlimitedSwap" as never } },
    'memorySwap.swapBehavior: "UnlimitedSwap" is not one of "", "NoSwap", "LimitedSwap"',
  ],
  [
    { memoryReservationPolicy: "TieredReservation" },
    "memoryReservationPolicy: needs the feature gate MemoryQoS",
  ],
  [{ shutdownGracePeriod: 500 }, "shutdownGracePeriod: must be zero or at least 1s, not 500ms"],
  [
    { shutdownGracePeriodCriticalPods: 2000 },
    "shutdownGracePeriodCriticalPods: must not be longer than shutdownGracePeriod: 2s is more than 0s",
  ],
  [
    {
      shutdownGracePeriod: 1000,
      shutdownGracePeriodByPodPriority: [{ priority: 1, shutdownGracePeriodSeconds: 1 }],
    },
    "shutdownGracePeriodByPodPriority: cannot be combined with shutdownGracePeriod",
  ],
  [
    {
      shutdownGracePeriod: 1000,
      featureGates: {
        GracefulNodeShutdown: false,
        GracefulNodeShutdownBasedOnPodPriority: false,
        WindowsGracefulNodeShutdown: false,
      },
    },
    "shutdownGracePeriod: needs the feature gate GracefulNodeShutdown",
  ],
  [
    { crashLoopBackOff: { maxContainerRestartPeriod: 500 } },
    "crashLoopBackOff.maxContainerRestartPeriod: must be between 1s and 5m0s, not 500ms",
  ],
  [
    {
      crashLoopBackOff: { maxContainerRestartPeriod: 5000 },
      featureGates: { KubeletCrashLoopBackOffMax: false },
    },
    "crashLoopBackOff.maxContainerRestartPeriod: needs the feature gate KubeletCrashLoopBackOffMax",
  ],
  [{ enforceNodeAllocatable: ["pods", "pods"] }, 'enforceNodeAllocatable[1]: "pods" is listed twice'],
  [{ enforceNodeAllocatable: ["none", "pods"] }, 'enforceNodeAllocatable[0]: "none" must stand alone'],
  [
    { enforceNodeAllocatable: ["system-reserved"] },
    'enforceNodeAllocatable[0]: "system-reserved" needs systemReservedCgroup',
  ],
  [
    { enforceNodeAllocatable: ["kube-reserved"] },
    'enforceNodeAllocatable[0]: "kube-reserved" needs kubeReservedCgroup',
  ],
  [
    {
      enforceNodeAllocatable: ["system-reserved", "system-reserved-compressible"],
      systemReservedCgroup: "/s",
    },
    'enforceNodeAllocatable[0]: cannot be combined with "system-reserved-compressible"',
  ],
  [
    { enforceNodeAllocatable: ["pods"], cgroupsPerQOS: false },
    'enforceNodeAllocatable[0]: "pods" needs cgroupsPerQOS',
  ],
  [
    { enforceNodeAllocatable: ["x"] },
    'enforceNodeAllocatable[0]: "x" is not one of "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible", "none"',
  ],
  [
    { systemReserved: { gpu: "1" } },
    "systemReserved.gpu: cannot be reserved, only cpu, memory, ephemeral-storage, pid can",
  ],
  [{ kubeReserved: { cpu: "x" } }, 'kubeReserved.cpu: "x" is not a quantity'],
  [{ kubeReserved: { cpu: "-1" } }, 'kubeReserved.cpu: must not be negative, not "-1"'],
  [{ qosReserved: { cpu: "50%" } }, "qosReserved.cpu: cannot be reserved, only memory can"],
  [{ qosReserved: { memory: "50" } }, 'qosReserved.memory: "50" is not a percentage from 0% to 100%'],
  [{ reservedSystemCPUs: "3-1" }, 'reservedSystemCPUs: "3-1" is not a list of CPUs'],
  [
    { reservedSystemCPUs: "0", kubeReservedCgroup: "/k" },
    "reservedSystemCPUs: cannot be combined with systemReservedCgroup or kubeReservedCgroup",
  ],
  [
    { reservedMemory: [{ numaNode: 0, limits: { cpu: "1" } }] },
    'reservedMemory[0].limits.cpu: cannot be reserved, only "memory" and "hugepages-<size>" can',
  ],
  [
    { reservedMemory: [{ numaNode: 0, limits: { memory: "0" } }] },
    "reservedMemory[0].limits.memory: must not be zero",
  ],
  [
    {
      reservedMemory: [
        { numaNode: 0, limits: { memory: "1" } },
        { numaNode: 0, limits: { memory: "1" } },
      ],
    },
    "reservedMemory[1].limits.memory: is listed twice for NUMA node 0",
  ],
  [
    { registerWithTaints: [{ key: "a b", value: "", effect: "" }] },
    `registerWithTaints[0].key: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    { registerWithTaints: [{ key: "a", value: "b c", effect: "" }] },
    `registerWithTaints[0].value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ],
  [
    { registerWithTaints: [{ key: "a", value: "", effect: "No" }] },
    'registerWithTaints[0].effect: "No" is not one of NoSchedule, PreferNoSchedule, NoExecute',
  ],
  [
    { registerWithTaints: [{ key: "a", value: "", effect: "", timeAdded: "x" }] },
    "registerWithTaints[0].timeAdded: must not be set",
  ],
  [
    { imagePullCredentialsVerificationPolicy: "Sometimes" },
    'imagePullCredentialsVerificationPolicy: "Sometimes" is not one of "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"',
  ],
  [
    { preloadedImagesVerificationAllowlist: ["a"] },
    'preloadedImagesVerificationAllowlist: needs imagePullCredentialsVerificationPolicy to be "NeverVerifyAllowlistedImages"',
  ],
  ...["a*", "/*", "a:1", "a@sha256:0", " a"].map((pattern): [PartialConfiguration, string] => [
    {
      imagePullCredentialsVerificationPolicy: "NeverVerifyAllowlistedImages",
      preloadedImagesVerificationAllowlist: [pattern],
    },
    `preloadedImagesVerificationAllowlist[0]: ${JSON.stringify(pattern)} is not an image without tag or digest, or a prefix that ends in "/*"`,
  ]),
  [
    {
      imagePullCredentialsVerificationPolicy: "AlwaysVerify",
      featureGates: { KubeletEnsureSecretPulledImages: false },
    },
    "imagePullCredentialsVerificationPolicy: needs the feature gate KubeletEnsureSecretPulledImages",
  ],
  [{ logging: { format: "xml" as never } }, 'logging.format: "xml" is not one of "text", "json"'],
  [{ logging: { flushFrequency: -1 } }, "logging.flushFrequency: must be more than zero, not -1ms"],
  [{ logging: { verbosity: 2 ** 31 } }, "logging.verbosity: must be at most 2147483647, not 2147483648"],
  [
    { logging: { format: "json", vmodule: [{ filePattern: "a", verbosity: 1 }] } },
    "logging.vmodule: works with the text format only",
  ],
  [
    { logging: { vmodule: [{ filePattern: "", verbosity: 1 }] } },
    "logging.vmodule[0].filePattern: must not be empty",
  ],
  [
    { logging: { vmodule: [{ filePattern: "a=b", verbosity: 1 }] } },
    'logging.vmodule[0].filePattern: "a=b" must not contain "=" or ","',
  ],
  [
    { logging: { options: { text: { splitStream: true } } } },
    "logging.options.text.splitStream: needs the feature gate LoggingAlphaOptions",
  ],
  [
    { logging: { options: { json: { infoBufferSize: "1Ki" } } } },
    "logging.options.json.infoBufferSize: needs the feature gate LoggingAlphaOptions",
  ],
  [
    { tracing: { samplingRatePerMillion: 1_000_001 } },
    "tracing.samplingRatePerMillion: must be between 0 and 1000000, not 1000001",
  ],
  [
    { tracing: { endpoint: "http://x" } },
    'tracing.endpoint: "http://x" has a scheme other than dns, unix, unix-abstract',
  ],
  [{ memoryThrottlingFactor: 0 }, "memoryThrottlingFactor: must be more than 0 and at most 1, not 0"],
  [{ memoryThrottlingFactor: 1.1 }, "memoryThrottlingFactor: must be more than 0 and at most 1, not 1.1"],
  [
    { enableSystemLogQuery: true, enableSystemLogHandler: false },
    "enableSystemLogQuery: needs enableSystemLogHandler",
  ],
  [
    { userNamespaces: { idsPerPod: 1000 } },
    "userNamespaces.idsPerPod: must be a multiple of 65536 below 4294967296, not 1000",
  ],
  [
    { showHiddenMetricsForVersion: "1.36" },
    'showHiddenMetricsForVersion: must be empty or "1.35", the minor version before this one, not "1.36"',
  ],
  [{ address: "localhost" }, 'address: "localhost" is not an IP address'],
  [{ podLogsDir: "logs" }, 'podLogsDir: "logs" is not an absolute path'],
  [
    { podLogsDir: "/var/log/../x/" },
    'podLogsDir: must be written in its shortest form, "/var/x", not "/var/log/../x/"',
  ],
  [{ podLogsDir: "/var/ö" }, 'podLogsDir: "/var/ö" has characters outside ASCII'],
  [{ tlsCipherSuites: ["x"] }, 'tlsCipherSuites[0]: "x" is not a known cipher suite'],
  [
    { tlsMinVersion: "1.2" },
    'tlsMinVersion: "1.2" is not one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13',
  ],
  [
    { tlsCurvePreferences: [1, 29, 29] },
    "tlsCurvePreferences[0]: 1 is not one of 23, 24, 25, 29, 4588",
    "tlsCurvePreferences[2]: 29 is listed twice",
  ],
  [{ featureGates: { Nope: true } }, "featureGates.Nope: is not a known feature gate"],
];
// parity: field showHiddenMetricsForVersion, gate CustomCPUCFSQuotaPeriod=false, gate RotateKubeletServerCertificate=false
for (const [partial, ...shown] of invalid) {
  test(`invalid: ${shown.join("; ")}`, () => assert.deepEqual(problemsOf(partial), shown));
}

// parity: field failCgroupV1
test("a host with cgroup v1 is rejected unless it is allowed", () => {
  const problemsOn = (partial: PartialConfiguration, cgroupVersion: 1 | 2) =>
    validateForHost(withDefaults(partial, new FeatureGates()), { cgroupVersion }).map(({ path }) => path[0]);
  assert.deepEqual(problemsOn({}, 1), ["failCgroupV1"]);
  assert.deepEqual(problemsOn({}, 2), []);
  assert.deepEqual(problemsOn({ failCgroupV1: false }, 1), []);
  assert.deepEqual(problemsOn({ failCgroupV1: false, singleProcessOOMKill: false }, 1), [
    "singleProcessOOMKill",
  ]);
  assert.deepEqual(problemsOn({ singleProcessOOMKill: false }, 2), []);
  const limitedSwap = { failCgroupV1: false, memorySwap: { swapBehavior: "LimitedSwap" } } as const;
  assert.deepEqual(problemsOn(limitedSwap, 1), ["memorySwap"]);
  assert.deepEqual(problemsOn(limitedSwap, 2), []);
});
