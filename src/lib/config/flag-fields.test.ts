import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { KubeletError } from "../base/errors.ts";
import { flagTable } from "./flags/table.ts";
import { loadConfiguration } from "./load.ts";

interface Row {
  readonly text: string;
  /** The field, as in the reference's options. */
  readonly field: string;
  readonly value: unknown;
  /** Flags that the value needs. */
  readonly with?: readonly string[];
}

const row = (text: string, field: string, value: unknown, ...more: string[]): Row => ({
  text,
  field,
  value,
  with: more,
});
const on = (field: string, ...more: string[]) => row("true", field, true, ...more);
const off = (field: string, ...more: string[]) => row("false", field, false, ...more);
const text = (field: string, value: string, ...more: string[]) => row(value, field, value, ...more);
const number = (field: string, value: number, ...more: string[]) => row(String(value), field, value, ...more);
const seconds = (field: string, value: number, ...more: string[]) =>
  row(`${value}s`, field, value * 1000, ...more);

/** Each value differs from the default. */
const rows: Readonly<Record<string, Row>> = {
  address: text("address", "127.0.0.2"),
  "allowed-unsafe-sysctls": row("kernel.msg*,net.ipv4.ip_forward", "allowedUnsafeSysctls", [
    "kernel.msg*",
    "net.ipv4.ip_forward",
  ]),
  "anonymous-auth": on("authentication.anonymous.enabled"),
  "authentication-token-webhook": off("authentication.webhook.enabled"),
  "authentication-token-webhook-cache-ttl": seconds("authentication.webhook.cacheTTL", 7),
  "authorization-mode": text("authorization.mode", "AlwaysAllow"),
  "authorization-webhook-cache-authorized-ttl": seconds("authorization.webhook.cacheAuthorizedTTL", 7),
  "authorization-webhook-cache-unauthorized-ttl": seconds("authorization.webhook.cacheUnauthorizedTTL", 7),
  "cgroup-driver": text("cgroupDriver", "systemd"),
  "cgroup-root": text("cgroupRoot", "/pods"),
  "cgroups-per-qos": off("cgroupsPerQOS", "--enforce-node-allocatable="),
  "client-ca-file": text("authentication.x509.clientCAFile", "/ca.crt"),
  "cluster-dns": row("10.0.0.1,10.0.0.2", "clusterDNS", ["10.0.0.1", "10.0.0.2"]),
  "cluster-domain": text("clusterDomain", "cluster.test"),
  "container-log-max-files": number("containerLogMaxFiles", 7),
  "container-log-max-size": text("containerLogMaxSize", "7Mi"),
  "container-runtime-endpoint": text("containerRuntimeEndpoint", "unix:///cri.sock"),
  "contention-profiling": on("enableContentionProfiling"),
  "cpu-cfs-quota": off("cpuCFSQuota"),
  "cpu-cfs-quota-period": row(
    "10ms",
    "cpuCFSQuotaPeriod",
    10,
    "--feature-gates=CustomCPUCFSQuotaPeriod=true",
  ),
  "cpu-manager-policy": text("cpuManagerPolicy", "static", "--kube-reserved=cpu=100m"),
  "cpu-manager-policy-options": row("full-pcpus-only=true", "cpuManagerPolicyOptions", {
    "full-pcpus-only": "true",
  }),
  "cpu-manager-reconcile-period": seconds("cpuManagerReconcilePeriod", 7),
  "enable-controller-attach-detach": off("enableControllerAttachDetach"),
  "enable-debugging-handlers": off("enableDebuggingHandlers"),
  "enable-server": off("enableServer"),
  "enforce-node-allocatable": row("none", "enforceNodeAllocatable", ["none"]),
  "event-burst": number("eventBurst", 7),
  "event-qps": number("eventRecordQPS", 7),
  "eviction-hard": row("memory.available<7Mi", "evictionHard", { "memory.available": "7Mi" }),
  "eviction-max-pod-grace-period": number("evictionMaxPodGracePeriod", 7),
  "eviction-minimum-reclaim": row("nodefs.available=7Mi", "evictionMinimumReclaim", {
    "nodefs.available": "7Mi",
  }),
  "eviction-pressure-transition-period": seconds("evictionPressureTransitionPeriod", 7),
  "eviction-soft": row(
    "memory.available<7Mi",
    "evictionSoft",
    { "memory.available": "7Mi" },
    "--eviction-soft-grace-period=memory.available=7s",
  ),
  "eviction-soft-grace-period": row("memory.available=7s", "evictionSoftGracePeriod", {
    "memory.available": "7s",
  }),
  "fail-cgroupv1": off("failCgroupV1"),
  "fail-swap-on": off("failSwapOn"),
  "feature-gates": row("CSIVolumeHealth=true", "featureGates", { CSIVolumeHealth: true }),
  "file-check-frequency": seconds("fileCheckFrequency", 7),
  "hairpin-mode": text("hairpinMode", "none"),
  "healthz-bind-address": text("healthzBindAddress", "127.0.0.2"),
  "healthz-port": number("healthzPort", 7),
  "http-check-frequency": seconds("httpCheckFrequency", 7),
  "image-gc-high-threshold": number("imageGCHighThresholdPercent", 90),
  "image-gc-low-threshold": number("imageGCLowThresholdPercent", 7),
  "image-service-endpoint": text("imageServiceEndpoint", "unix:///images.sock"),
  "kernel-memcg-notification": on("kernelMemcgNotification"),
  "kube-api-burst": number("kubeAPIBurst", 700),
  "kube-api-content-type": text("contentType", "application/json"),
  "kube-api-qps": number("kubeAPIQPS", 7),
  "kube-reserved": row("cpu=70m", "kubeReserved", { cpu: "70m" }),
  "kube-reserved-cgroup": text("kubeReservedCgroup", "/kube"),
  "kubelet-cgroups": text("kubeletCgroups", "/kubelet"),
  "local-storage-capacity-isolation": off("localStorageCapacityIsolation"),
  "log-flush-frequency": seconds("logging.flushFrequency", 7),
  "log-json-info-buffer-size": row(
    "7Ki",
    "logging.options.json.infoBufferSize",
    "7Ki",
    "--feature-gates=LoggingAlphaOptions=true",
  ),
  "log-json-split-stream": on("logging.options.json.splitStream", "--feature-gates=LoggingAlphaOptions=true"),
  "log-text-info-buffer-size": row(
    "7Ki",
    "logging.options.text.infoBufferSize",
    "7Ki",
    "--feature-gates=LoggingAlphaOptions=true",
  ),
  "log-text-split-stream": on("logging.options.text.splitStream", "--feature-gates=LoggingAlphaOptions=true"),
  "logging-format": text("logging.format", "json"),
  "make-iptables-util-chains": off("makeIPTablesUtilChains"),
  "manifest-url": text("staticPodURL", "http://127.0.0.1/pod"),
  "manifest-url-header": row("a:b", "staticPodURLHeader", { a: ["b"] }),
  "max-open-files": number("maxOpenFiles", 7000),
  "max-pods": number("maxPods", 7),
  "memory-manager-policy": text(
    "memoryManagerPolicy",
    "Static",
    "--reserved-memory=0:memory=7Mi",
    "--kube-reserved=memory=7Mi",
  ),
  "minimum-image-ttl-duration": seconds("imageMinimumGCAge", 7),
  "node-status-max-images": number("nodeStatusMaxImages", 7),
  "node-status-update-frequency": seconds("nodeStatusUpdateFrequency", 7),
  "oom-score-adj": number("oomScoreAdj", -7),
  "pod-cidr": text("podCIDR", "10.7.0.0/24"),
  "pod-manifest-path": text("staticPodPath", "/manifests"),
  "pod-max-pids": number("podPidsLimit", 700),
  "pods-per-core": number("podsPerCore", 7),
  port: number("port", 7),
  "protect-kernel-defaults": on("protectKernelDefaults"),
  "provider-id": text("providerID", "test://7"),
  "qos-reserved": row("memory=7%", "qosReserved", { memory: "7%" }, "--feature-gates=QOSReserved=true"),
  "read-only-port": number("readOnlyPort", 7),
  "register-node": off("registerNode"),
  "register-with-taints": row("a=b:NoSchedule", "registerWithTaints", [
    { key: "a", value: "b", effect: "NoSchedule" },
  ]),
  "registry-burst": number("registryBurst", 7),
  "registry-qps": number("registryPullQPS", 7),
  "reserved-cpus": text("reservedSystemCPUs", "0-7"),
  "reserved-memory": row("0:memory=7Mi", "reservedMemory", [{ numaNode: 0, limits: { memory: "7Mi" } }]),
  "resolv-conf": text("resolvConf", "/resolv.conf"),
  "rotate-certificates": on("rotateCertificates"),
  "rotate-server-certificates": on("serverTLSBootstrap"),
  "runtime-request-timeout": seconds("runtimeRequestTimeout", 7),
  "serialize-image-pulls": off("serializeImagePulls"),
  "streaming-connection-idle-timeout": seconds("streamingConnectionIdleTimeout", 7),
  "sync-frequency": seconds("syncFrequency", 7),
  "system-cgroups": text("systemCgroups", "/system", "--cgroup-root=/"),
  "system-reserved": row("cpu=70m", "systemReserved", { cpu: "70m" }),
  "system-reserved-cgroup": text("systemReservedCgroup", "/system"),
  "tls-cert-file": text("tlsCertFile", "/tls.crt"),
  "tls-cipher-suites": row("TLS_AES_128_GCM_SHA256", "tlsCipherSuites", ["TLS_AES_128_GCM_SHA256"]),
  "tls-min-version": text("tlsMinVersion", "VersionTLS13"),
  "tls-private-key-file": text("tlsPrivateKeyFile", "/tls.key"),
  "topology-manager-policy": text("topologyManagerPolicy", "restricted"),
  "topology-manager-policy-options": row("max-allowable-numa-nodes=10", "topologyManagerPolicyOptions", {
    "max-allowable-numa-nodes": "10",
  }),
  "topology-manager-scope": text("topologyManagerScope", "pod"),
  v: number("logging.verbosity", 7),
  vmodule: row("pleg=7", "logging.vmodule", [{ filePattern: "pleg", verbosity: 7 }]),
  "volume-plugin-dir": text("volumePluginDir", "/plugins"),
  "volume-stats-agg-period": seconds("volumeStatsAggPeriod", 7),
};

const valueAt = (config: unknown, path: string) =>
  path.split(".").reduce((value, step) => (value as Record<string, unknown> | undefined)?.[step], config);

test("the flags that set a field of the configuration are these", () => {
  const setting = [...flagTable.values()].filter(({ target }) => target.in === "config");
  assert.deepEqual(new Set(setting.map(({ name }) => name)), new Set([...Object.keys(rows), "runonce"]));
});

// parity: flag *
for (const [flag, { text, field, value, with: more = [] }] of Object.entries(rows)) {
  test(`--${flag}=${text} sets ${field}`, async () => {
    const { config: defaults } = await loadConfiguration({ args: [] });
    assert.ok(!isDeepStrictEqual(valueAt(defaults, field), value), "this is the default");
    const { config } = await loadConfiguration({ args: [...more, `--${flag}=${text}`] });
    assert.deepEqual(valueAt(config, field), value);
  });
}

// parity: flag runonce, field runOnce
test("--runonce prevents the start, as in v1.36, which no longer has this mode", async () => {
  await assert.rejects(loadConfiguration({ args: ["--runonce"] }), (error: unknown) => {
    assert.ok(error instanceof KubeletError);
    assert.match(error.message, /runOnce/);
    return true;
  });
});
