import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { KubeletError } from "../../base/errors.ts";
import { kubeletFields } from "../kubelet-configuration.ts";
import type { Fields } from "../schema.ts";
import { parseFlags } from "./parse.ts";
import { flagTable } from "./table.ts";
import type { FlagType } from "./values.ts";

/** For each flag type of a real kubelet: our types for it, a valid value and an invalid one. */
const byType: Record<string, { ours: FlagType[]; good: string; bad?: string }> = {
  ip: { ours: ["ip"], good: "10.0.0.1", bad: "10.0.0" },
  strings: { ours: ["strings"], good: "a,b", bad: 'a"b' },
  bool: { ours: ["bool"], good: "false", bad: "maybe" },
  int: { ours: ["int64"], good: "0x10", bad: "ten" },
  int32: { ours: ["int32"], good: "-7", bad: "2147483648" },
  duration: { ours: ["duration"], good: "1m30s", bad: "90" },
  string: { ours: ["string"], good: "text" },
  mapStringString: { ours: ["map", "mapOfOne", "mapLess", "labels"], good: "a<b=c", bad: "nothing" },
  mapStringBool: { ours: ["gates"], good: "A=true,B=0", bad: "A=maybe" },
  quantity: { ours: ["quantity"], good: "4Ki", bad: "4QQ" },
  "[]v1.Taint": { ours: ["taints"], good: "a=b:NoSchedule", bad: "a=b:Never" },
  colonSeparatedMultimapStringString: { ours: ["headers"], good: "a:b", bad: "a=b" },
  "reserved-memory": { ours: ["reservedMemory"], good: "0:memory=1Gi", bad: "memory=1Gi" },
  RuntimeDefault: { ours: ["bool"], good: "true", bad: "RuntimeDefault" },
  Level: { ours: ["level"], good: "4", bad: "-1" },
  "version[=true]": { ours: ["version"], good: "raw", bad: "latest" },
  "pattern=N,...": { ours: ["vmodule"], good: "pod*=4", bad: "pod*" },
};

const listed = readFileSync(new URL("../../../../test/fixtures/config/flags.txt", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => line.split(" ") as [string, string]);

test("the flags of a real kubelet are known, and these of our own", () => {
  const ours = [
    "max-parallel-starts",
    "prefetch-images",
    "image-pull-events",
    "enable-manifests-handler",
    "enable-console",
    "enable-heap-snapshots",
    "local-objects",
    "keep-kernel-tunables",
  ];
  assert.deepEqual(new Set(flagTable.keys()), new Set([...listed.map(([name]) => name), ...ours]));
  assert.equal(flagTable.size, 149 + ours.length);
});

for (const [name, type] of listed) {
  test(`--${name} takes a ${type}`, () => {
    const { ours, good, bad } = byType[type] ?? assert.fail(`no sample for ${type}`);
    const spec = flagTable.get(name);
    assert.ok(spec && ours.includes(spec.type));
    const value = spec.type === "labels" ? "a=b" : good;
    assert.deepEqual(parseFlags([`--${name}=${value}`]).given, [name]);
    if (bad !== undefined && spec.type !== "labels") {
      assert.throws(
        () => parseFlags([`--${name}=${bad}`]),
        (error: KubeletError) => {
          assert.equal(error.code, "Usage");
          assert.ok(error.message.startsWith(`--${name}: ${JSON.stringify(bad)} `), error.message);
          return true;
        },
      );
    }
  });
}

test("the flags that a real kubelet does not deprecate are not deprecated, all others are", () => {
  const current = [
    ...[
      "bootstrap-kubeconfig",
      "cert-dir",
      "cloud-provider",
      "config",
      "config-dir",
      "exit-on-lock-contention",
    ],
    ...[
      "fail-cgroupv1",
      "help",
      "hostname-override",
      "housekeeping-interval",
      "image-credential-provider-bin-dir",
    ],
    ...["image-credential-provider-config", "kubeconfig", "lock-file", "log-flush-frequency", "node-ip"],
    ...[
      "node-labels",
      "provider-id",
      "root-dir",
      "runtime-cgroups",
      "seccomp-default",
      "v",
      "version",
      "vmodule",
    ],
  ];
  for (const [name] of listed)
    assert.equal(flagTable.get(name)?.deprecated === undefined, current.includes(name), name);
});

const configFile =
  "This parameter should be set via the config file specified by the Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.";
const deprecated: [args: string[], ...lines: string[]][] = [
  [["--config=/c", "-v4", "--seccomp-default"]],
  [
    ["--max_pods=1", "--v=2", "--max-pods", "2"],
    `Flag --max-pods has been deprecated, ${configFile}`,
    `Flag --max-pods has been deprecated, ${configFile}`,
  ],
  [
    ["--maximum-dead-containers=1"],
    "Flag --maximum-dead-containers has been deprecated, Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.",
  ],
  [
    ["--boot_id_file=/x"],
    "Flag --boot-id-file has been deprecated, This is a cadvisor flag that was mistakenly registered with the Kubelet. Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.",
  ],
  [
    ["--cloud-config=", "--register-schedulable"],
    "Flag --cloud-config has been deprecated, will be removed in 1.25 or later, in favor of removing cloud provider code from Kubelet.",
    "Flag --register-schedulable has been deprecated, will be removed in a future version",
  ],
];
for (const [args, ...lines] of deprecated) {
  test(`${args.join(" ")} is reported as deprecated ${lines.length} times`, () => {
    assert.deepEqual(parseFlags(args).deprecations, lines);
  });
}

test("the flag for the sandbox image, which kubeadm v1.34 writes, is accepted, reported and has no effect", () => {
  const { given, configOverrides, deprecations, warnings, flags } = parseFlags([
    "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
    "--pod-infra-container-image=registry.k8s.io/pause:3.10",
  ]);
  assert.deepEqual(given, ["container-runtime-endpoint"]);
  assert.equal(configOverrides.length, 1);
  assert.deepEqual(flags, parseFlags([]).flags);
  assert.equal(
    deprecations[1],
    "Flag --pod-infra-container-image has been deprecated, will be removed in 1.35. Image garbage collector will get sandbox image information from CRI.",
  );
  assert.deepEqual(warnings, [
    "--pod-infra-container-image will not be pruned by the image garbage collector in kubelet and should also be set in the remote runtime",
  ]);
});

test("every flag that sets a configuration field names one that exists", () => {
  for (const { name, target } of flagTable.values()) {
    if (target.in !== "config") continue;
    let fields: Fields | undefined = kubeletFields;
    for (const step of target.path) {
      const type: Fields[string]["type"] | undefined = fields?.[step]?.type;
      assert.ok(type, `--${name} to ${target.path.join(".")}`);
      fields = type.kind === "object" ? type.fields : undefined;
    }
  }
});

const accepted: [args: string[], name: string, value: unknown][] = [
  [["--port=1"], "port", 1],
  [["--port", "1"], "port", 1],
  [["--port=1", "--port=2"], "port", 2],
  [["--port=0x1F"], "port", 31],
  [["--port=017"], "port", 15],
  [["--port=0b11"], "port", 3],
  [["--oom-score-adj", "-5"], "oom-score-adj", -5],
  [["--pod_manifest_path=/x"], "pod-manifest-path", "/x"],
  [["--runonce"], "runonce", true],
  [["--runonce=F"], "runonce", false],
  [["-v=4"], "v", 4],
  [["-v", "4"], "v", 4],
  [["-v4"], "v", 4],
  [["--v=4"], "v", 4],
  [["--cluster-dns=a,b", "--cluster-dns", "c"], "cluster-dns", ["a", "b", "c"]],
  [['--cluster-dns="a,b","quote ""hi"""'], "cluster-dns", ["a,b", 'quote "hi"']],
  [["--cluster-dns="], "cluster-dns", []],
  [["--eviction-hard=a<1, b < 2,", "--eviction-hard=a<3"], "eviction-hard", { a: "3", b: "2" }],
  [["--kube-reserved=cpu=1,memory=a=b"], "kube-reserved", { cpu: "1", memory: "a=b" }],
  [["--cpu-manager-policy-options=a=1,b=2"], "cpu-manager-policy-options", { a: "1,b=2" }],
  [["--feature-gates=A=true", "--feature-gates=B=f"], "feature-gates", { A: true, B: false }],
  [
    ["--manifest-url-header=a:1,b:2", "--manifest-url-header=a: 3"],
    "manifest-url-header",
    { a: ["1", "3"], b: ["2"] },
  ],
  [
    ["--register-with-taints=k=v:NoSchedule,j:NoExecute"],
    "register-with-taints",
    [
      { key: "k", value: "v", effect: "NoSchedule" },
      { key: "j", value: "", effect: "NoExecute" },
    ],
  ],
  [
    ["--register-with-taints=k:NoExecute", "--register-with-taints=j:NoExecute"],
    "register-with-taints",
    [{ key: "j", value: "", effect: "NoExecute" }],
  ],
  [
    ["--reserved-memory=0:memory=1Gi,hugepages-2Mi=2Gi", "--reserved-memory=1:memory=2Gi"],
    "reserved-memory",
    [
      { numaNode: 0, limits: { memory: "1Gi", "hugepages-2Mi": "2Gi" } },
      { numaNode: 1, limits: { memory: "2Gi" } },
    ],
  ],
  [
    ["--vmodule=a=1,b*=2,"],
    "vmodule",
    [
      { filePattern: "a", verbosity: 1 },
      { filePattern: "b*", verbosity: 2 },
    ],
  ],
];
for (const [args, name, value] of accepted) {
  test(`${args.join(" ")} is read as ${JSON.stringify(value)}`, () => {
    const { configOverrides, given } = parseFlags(args);
    assert.deepEqual(given, [name]);
    const target = flagTable.get(name)?.target;
    assert.ok(target?.in === "config");
    assert.deepEqual(configOverrides, [{ flag: name, path: target.path, value }]);
  });
}

const own: [args: string[], key: string, value: unknown][] = [
  [[], "rootDir", "/var/lib/kubelet"],
  [["--root-dir=/r"], "rootDir", "/r"],
  [["--help"], "help", true],
  [["-h"], "help", true],
  [["-hv4"], "help", true],
  [["--version"], "version", "true"],
  [["--version=false"], "version", ""],
  [["--version=v1.36.1"], "version", "v1.36.1"],
  [["--seccomp-default"], "seccompDefault", true],
  [
    ["--node-labels=a=b,c", "--node-labels=node.kubernetes.io/x=1"],
    "nodeLabels",
    { a: "b", c: "", "node.kubernetes.io/x": "1" },
  ],
  [["--housekeeping_interval=1s"], "housekeepingInterval", 1000],
];
for (const [args, key, value] of own) {
  test(`${args.join(" ") || "no flag"} sets ${key} ${JSON.stringify(value)}`, () => {
    assert.deepEqual((parseFlags(args).flags as unknown as Record<string, unknown>)[key], value);
  });
}

test("an empty address is unset", () => {
  const { configOverrides, given } = parseFlags(["--address="]);
  assert.deepEqual([configOverrides, given], [[], ["address"]]);
});

const rejected: [args: string[], ...shown: string[]][] = [
  [["--nope"], "unknown flag: --nope"],
  [["--nope=1", "--neither", "value"], "unknown flag: --nope", "unknown flag: --neither"],
  [["--no-runonce"], "unknown flag: --no-runonce"],
  [["-x"], "unknown shorthand flag: 'x' in -x"],
  [["-hx"], "unknown shorthand flag: 'x' in -x"],
  [["--=1"], "bad flag syntax: --=1"],
  [["---port=1"], "bad flag syntax: ---port=1"],
  [["--port"], "flag needs an argument: --port"],
  [["-v"], "flag needs an argument: 'v' in -v"],
  [["-v=x"], '-v: "x" is not a verbosity level'],
  [["--runonce", "false"], "unknown command: false"],
  [["start"], "unknown command: start"],
  [["--", "--port=1"], "unknown command: --port=1"],
  [["--port=1_000"], '--port: "1_000" is not a whole number'],
  [["--eviction-hard=a=1"], '--eviction-hard: "a=1" must consist of key<value pairs, "a=1" is not one'],
  [
    ["--register-with-taints=a:NoExecute,a:NoExecute"],
    '--register-with-taints: "a:NoExecute,a:NoExecute" has a:NoExecute twice',
  ],
  [
    ["--register-with-taints=a"],
    '--register-with-taints: "a" has "a", whose effect is not one of NoSchedule, PreferNoSchedule, NoExecute',
  ],
  [
    ["--reserved-memory=0:disk=1"],
    '--reserved-memory: "0:disk=1" names "disk", which is neither "memory" nor "hugepages-<size>"',
  ],
  [
    ["--node-labels=kubernetes.io/x=1"],
    '--node-labels: the kubelet may not set the label "kubernetes.io/x" on its node',
  ],
  [
    ["--node-labels=a b=1"],
    `--node-labels: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    ["--port=x", "--max-pods=y"],
    '--port: "x" is not a whole number',
    '--max-pods: "y" is not a whole number',
  ],
];
for (const [args, ...shown] of rejected) {
  test(`${args.join(" ")} is rejected`, () => {
    assert.throws(() => parseFlags(args), new KubeletError("Usage", shown.join("\n")));
  });
}
