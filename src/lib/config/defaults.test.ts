import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { defaultEvictionHard, withCommandLineDefaults, withDefaults, withFileDefaults } from "./defaults.ts";
import { encodeConfiguration } from "./encode.ts";
import { FeatureGates } from "./feature-gates.ts";
import type { KubeletConfiguration, PartialConfiguration } from "./kubelet-configuration.ts";
import { validateConfiguration } from "./validate/validate.ts";

const gates = new FeatureGates();
const observed = JSON.parse(
  readFileSync(new URL("../../../test/fixtures/config/configz-defaults.json", import.meta.url), "utf8"),
);

test("a node with an almost empty file shows the defaults of a real kubelet, in the same order", () => {
  const config = withDefaults(withFileDefaults({}), gates);
  // The settings of that node's file and flags.
  config.tlsCertFile = "/var/lib/kubelet/pki/kubelet.crt";
  config.tlsPrivateKeyFile = "/var/lib/kubelet/pki/kubelet.key";
  config.authentication.x509.clientCAFile = "/etc/kubernetes/pki/ca.crt";
  config.failCgroupV1 = false;
  const shown = JSON.stringify({ kubeletconfig: encodeConfiguration(config) }, null, 1);
  assert.equal(shown, JSON.stringify(observed, null, 1));
});

test("the defaults are valid", () => {
  assert.deepEqual(validateConfiguration(withDefaults(withFileDefaults({}), gates), gates), []);
  assert.deepEqual(validateConfiguration(withCommandLineDefaults(withDefaults({}, gates)), gates), []);
});

test("without a file the permissive command-line defaults apply", () => {
  const config = withCommandLineDefaults(withDefaults({}, gates));
  assert.equal(config.authentication.anonymous.enabled, true);
  assert.equal(config.authentication.webhook.enabled, false);
  assert.equal(config.authorization.mode, "AlwaysAllow");
  assert.equal(config.readOnlyPort, 10255);
  assert.deepEqual(config.evictionHard, {});
});

type Rule = [
  name: string,
  given: PartialConfiguration,
  select: (config: KubeletConfiguration) => unknown,
  want: unknown,
];
const rules: Rule[] = [
  [
    "zero is the default where zero has no meaning",
    { port: 0, syncFrequency: 0 },
    (c) => [c.port, c.syncFrequency],
    [10250, 60_000],
  ],
  [
    "zero is kept where it has a meaning",
    { healthzPort: 0, registryPullQPS: 0 },
    (c) => [c.healthzPort, c.registryPullQPS],
    [0, 0],
  ],
  ["an empty string is kept where it has a meaning", { resolvConf: "" }, (c) => c.resolvConf, ""],
  ["false is kept", { cgroupsPerQOS: false }, (c) => c.cgroupsPerQOS, false],
  ["an empty list is kept", { enforceNodeAllocatable: [] }, (c) => c.enforceNodeAllocatable, []],
  ["any negative limit of processes is -1", { podPidsLimit: -5 }, (c) => c.podPidsLimit, -1],
  [
    "the report period defaults to the update period",
    { nodeStatusUpdateFrequency: 3000 },
    (c) => c.nodeStatusReportFrequency,
    3000,
  ],
  [
    "a report period of its own is kept",
    { nodeStatusUpdateFrequency: 3000, nodeStatusReportFrequency: 9000 },
    (c) => c.nodeStatusReportFrequency,
    9000,
  ],
  ["parallel pulls are not serial", { maxParallelImagePulls: 2 }, (c) => c.serializeImagePulls, false],
  ["one pull at a time is serial", { maxParallelImagePulls: 1 }, (c) => c.serializeImagePulls, true],
  [
    "an object inside gets its defaults",
    { authentication: { webhook: { enabled: false } } },
    (c) => c.authentication.webhook,
    { enabled: false, cacheTTL: 120_000 },
  ],
  [
    "objects in lists get their zero values",
    { logging: { vmodule: [{ filePattern: "x" } as never] } },
    (c) => c.logging.vmodule,
    [{ filePattern: "x", verbosity: 0 }],
  ],
  [
    "optional fields that were not set remain absent",
    {},
    (c) => "singleProcessOOMKill" in c || "tracing" in c,
    false,
  ],
];
for (const [name, given, select, want] of rules) {
  test(`defaults: ${name}`, () => assert.deepEqual(select(withDefaults(given, gates)), want));
}

test("a disabled feature sets no defaults", () => {
  const off = new FeatureGates({ KubeletCrashLoopBackOffMax: false, KubeletEnsureSecretPulledImages: false });
  const config = withDefaults({}, off);
  assert.deepEqual(config.crashLoopBackOff, {});
  assert.equal(config.imagePullCredentialsVerificationPolicy, "");
  assert.deepEqual(validateConfiguration(config, off), []);
});

const thresholds: [name: string, given: PartialConfiguration, want: unknown][] = [
  ["a file without thresholds gets them all", {}, defaultEvictionHard],
  [
    "own thresholds replace the defaults",
    { evictionHard: { "pid.available": "5%" } },
    { "pid.available": "5%" },
  ],
  ["an empty map switches them off", { evictionHard: {} }, {}],
  [
    "own thresholds are merged if requested",
    { evictionHard: { "memory.available": "1Gi" }, mergeDefaultEvictionSettings: true },
    { ...defaultEvictionHard, "memory.available": "1Gi" },
  ],
];
// parity: field mergeDefaultEvictionSettings
for (const [name, given, want] of thresholds) {
  test(`hard eviction: ${name}`, () => assert.deepEqual(withFileDefaults(given).evictionHard, want));
}

test("defaults never share state between two configurations", () => {
  withDefaults({}, gates).enforceNodeAllocatable.push("x");
  assert.deepEqual(withDefaults({}, gates).enforceNodeAllocatable, ["pods"]);
});
