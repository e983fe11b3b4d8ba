import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { KubeletError } from "../base/errors.ts";
import type { KubeletConfiguration } from "./kubelet-configuration.ts";
import { loadConfiguration } from "./load.ts";

const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

async function dirWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "config-"));
  t.after(() => rm(dir, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), content);
  }
  return dir;
}

interface Sources {
  file?: string;
  dropIns?: Record<string, string>;
  flags?: string[];
}

async function load(t: TestContext, { file, dropIns, flags = [] }: Sources) {
  const files: Record<string, string> = {};
  if (file !== undefined) files["k.yaml"] = header + file;
  for (const [name, content] of Object.entries(dropIns ?? {})) files[`d/${name}`] = header + content;
  const dir = await dirWith(t, files);
  const args = [...flags];
  if (file !== undefined) args.push(`--config=${dir}/k.yaml`);
  if (dropIns) args.push("--config-dir", `${dir}/d`);
  return { dir, args };
}

/** Loads and returns the lines of the error, without the directory. */
async function linesOf(t: TestContext, sources: Sources): Promise<string[]> {
  const { dir, args } = await load(t, sources);
  try {
    await loadConfiguration({ args });
  } catch (error) {
    assert.ok(error instanceof KubeletError && error.code === "Config", String(error));
    return error.message.replaceAll(`${dir}/`, "").split("\n");
  }
  return assert.fail("was accepted");
}

type Row = [name: string, sources: Sources, select: (config: KubeletConfiguration) => unknown, want: unknown];
const matrix: Row[] = [
  ["default", {}, (c) => c.maxPods, 110],
  ["file over default", { file: "maxPods: 1" }, (c) => c.maxPods, 1],
  ["drop-in over default", { dropIns: { "a.conf": "maxPods: 2" } }, (c) => c.maxPods, 2],
  ["flag over default", { flags: ["--max-pods=3"] }, (c) => c.maxPods, 3],
  ["drop-in over file", { file: "maxPods: 1", dropIns: { "a.conf": "maxPods: 2" } }, (c) => c.maxPods, 2],
  ["flag over file", { file: "maxPods: 1", flags: ["--max-pods=3"] }, (c) => c.maxPods, 3],
  [
    "flag over drop-in",
    { dropIns: { "a.conf": "maxPods: 2" }, flags: ["--max-pods=3"] },
    (c) => c.maxPods,
    3,
  ],
  [
    "flag over all",
    { file: "maxPods: 1", dropIns: { "a.conf": "maxPods: 2" }, flags: ["--max-pods=3"] },
    (c) => c.maxPods,
    3,
  ],
  [
    "a later drop-in over an earlier one",
    { dropIns: { "2.conf": "maxPods: 2", "10.conf": "maxPods: 10" } },
    (c) => c.maxPods,
    2,
  ],
  [
    "a file other than .conf is not a drop-in",
    { dropIns: { "a.conf": "maxPods: 2", "b.yaml": "maxPods: 9" } },
    (c) => c.maxPods,
    2,
  ],
  [
    "null in a drop-in resets a field to its default",
    { file: "maxPods: 1", dropIns: { "a.conf": "maxPods: null" } },
    (c) => c.maxPods,
    110,
  ],
  ["null in the file is ignored", { file: "maxPods: null" }, (c) => c.maxPods, 110],
  [
    "drop-ins merge maps by key",
    {
      file: "systemReserved: {cpu: '1', memory: 1Gi}",
      dropIns: { "a.conf": "systemReserved: {memory: 2Gi, cpu: null, pid: '9'}" },
    },
    (c) => c.systemReserved,
    { memory: "2Gi", pid: "9" },
  ],
  [
    "drop-ins replace lists",
    { file: "clusterDNS: [a, b]", dropIns: { "a.conf": "clusterDNS: [c]" } },
    (c) => c.clusterDNS,
    ["c"],
  ],
  [
    "drop-ins keep other fields of an object",
    { file: "logging: {verbosity: 3}", dropIns: { "a.conf": "logging: {format: json}" } },
    (c) => [c.logging.verbosity, c.logging.format],
    [3, "json"],
  ],
  [
    "drop-ins add to the default thresholds",
    { file: "maxPods: 1", dropIns: { "a.conf": "evictionHard: {pid.available: 5%}" } },
    (c) => Object.keys(c.evictionHard).length,
    6,
  ],
  [
    "a flag replaces a map as a whole",
    { file: "systemReserved: {cpu: '1'}", flags: ["--system-reserved=memory=1Gi"] },
    (c) => c.systemReserved,
    { memory: "1Gi" },
  ],
  [
    "a flag replaces a list as a whole",
    { file: "clusterDNS: [a]", flags: ["--cluster-dns=b,c"] },
    (c) => c.clusterDNS,
    ["b", "c"],
  ],
  [
    "gates of flags, drop-ins and file are merged",
    {
      file: "featureGates: {MemoryQoS: true, GenericWorkload: true}",
      dropIns: { "a.conf": "featureGates: {GenericWorkload: false, ProcMountType: true}" },
      flags: ["--feature-gates=MemoryQoS=false"],
    },
    (c) => c.featureGates,
    { GenericWorkload: false, MemoryQoS: false, ProcMountType: true },
  ],
  [
    "vmodule patterns of flags are added",
    { file: "logging: {vmodule: [{filePattern: a, verbosity: 1}]}", flags: ["--vmodule=b=2"] },
    (c) => c.logging.vmodule.map((m) => m.filePattern),
    ["a", "b"],
  ],
  [
    "a flag reaches a field inside objects",
    { file: "logging: {verbosity: 3}", flags: ["-v=5"] },
    (c) => c.logging.verbosity,
    5,
  ],
  [
    "the seccomp flag cannot disable what the field enables",
    { file: "seccompDefault: true", flags: ["--seccomp-default=false"] },
    (c) => c.seccompDefault,
    true,
  ],
  [
    "the seccomp flag is enough",
    { file: "maxPods: 1", flags: ["--seccomp-default"] },
    (c) => c.seccompDefault,
    true,
  ],
  [
    "with a file the restrictive defaults apply",
    { file: "maxPods: 1" },
    (c) => [c.authorization.mode, c.readOnlyPort],
    ["Webhook", 0],
  ],
  [
    "without a file the permissive defaults of the command line apply",
    { dropIns: { "a.conf": "maxPods: 2" }, flags: ["--kubeconfig=/k"] },
    (c) => [c.authentication.anonymous.enabled, c.authorization.mode, c.readOnlyPort],
    [true, "AlwaysAllow", 10255],
  ],
  [
    "without a cluster no client is allowed by default, with a file or without",
    { dropIns: { "a.conf": "maxPods: 2" } },
    (c) => [c.authentication.anonymous.enabled, c.authorization.mode, c.readOnlyPort],
    [false, "Webhook", 0],
  ],
  [
    "without a cluster flags may still allow all clients",
    { flags: ["--anonymous-auth", "--authorization-mode=AlwaysAllow", "--read-only-port=10255"] },
    (c) => [c.authentication.anonymous.enabled, c.authorization.mode, c.readOnlyPort],
    [true, "AlwaysAllow", 10255],
  ],
  [
    "a gate set by a flag affects defaults",
    { file: "maxPods: 1", flags: ["--feature-gates=KubeletCrashLoopBackOffMax=false"] },
    (c) => c.crashLoopBackOff,
    {},
  ],
];
// parity: flag config, flag config-dir, flag seccomp-default
for (const [name, sources, select, want] of matrix) {
  test(`precedence: ${name}`, async (t) => {
    const { args } = await load(t, sources);
    assert.deepEqual(select((await loadConfiguration({ args })).config), want);
  });
}

test("paths in the file are relative to its directory, an endpoint is not a path", async (t) => {
  const file =
    "staticPodPath: manifests\npodLogsDir: logs/x\nresolvConf: ''\nauthentication: {x509: {clientCAFile: ../ca.crt}}\n";
  const { dir, args } = await load(t, { file });
  const { config } = await loadConfiguration({ args });
  assert.equal(config.staticPodPath, join(dir, "manifests"));
  assert.equal(config.podLogsDir, join(dir, "logs/x"));
  assert.equal(config.authentication.x509.clientCAFile, join(dirname(dir), "ca.crt"));
  assert.equal(config.resolvConf, "");
  assert.equal(config.volumePluginDir, "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/");
});

test("the file may be named by a path relative to the working directory", async (t) => {
  const { dir } = await load(t, { file: "maxPods: 4" });
  const { config } = await loadConfiguration({
    args: ["--config", relative(process.cwd(), join(dir, "k.yaml"))],
  });
  assert.equal(config.maxPods, 4);
});

test("a JSON file works like YAML", async (t) => {
  const text =
    '{\n\t"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"kind": "KubeletConfiguration",\n\t"syncFrequency": "5s"\n}';
  const dir = await dirWith(t, { "k.json": text });
  assert.equal((await loadConfiguration({ args: [`--config=${dir}/k.json`] })).config.syncFrequency, 5000);
});

const rejected: [name: string, sources: Sources, ...lines: string[]][] = [
  [
    "a value that is not a quantity, with file, line and path",
    { file: "evictionHard:\n  memory.available: 1QQ\n" },
    'k.yaml:4: evictionHard.memory.available: "1QQ" is not a quantity',
  ],
  [
    "the same from a flag",
    { flags: ["--eviction-hard=memory.available<1QQ"] },
    '--eviction-hard: evictionHard.memory.available: "1QQ" is not a quantity',
  ],
  [
    "the same from a drop-in",
    {
      file: "evictionHard:\n  memory.available: 1Gi\n",
      dropIns: { "a.conf": "\nevictionHard:\n  memory.available: 1QQ\n" },
    },
    'd/a.conf:5: evictionHard.memory.available: "1QQ" is not a quantity',
  ],
  [
    "all problems of all files together",
    {
      file: "port: x\nnope: 1\nmaxPods: -1\n",
      dropIns: { "a.conf": "address: 7\n", "b.conf": "oomScoreAdj: 2000\n" },
    },
    'k.yaml:3: port: must be a whole number, not the string "x"',
    "d/a.conf:3: address: must be a string, not the number 7",
    "k.yaml:5: maxPods: must be 0 or more, not -1",
    "d/b.conf:3: oomScoreAdj: must be between -1000 and 1000, not 2000",
  ],
  [
    "a duplicate field of a drop-in",
    { dropIns: { "a.conf": "port: 1\nport: 2\n" } },
    "d/a.conf:4: port: is specified more than once",
  ],
  [
    "an item of a list",
    { file: "clusterDNS:\n- a\n- 7\n" },
    "k.yaml:5: clusterDNS[1]: must be a string, not the number 7",
  ],
  [
    "an item of a list that a drop-in replaced",
    {
      file: "enforceNodeAllocatable: [pods]\n",
      dropIns: { "a.conf": "enforceNodeAllocatable:\n- x\n- none\n" },
    },
    'd/a.conf:4: enforceNodeAllocatable[0]: "x" is not one of "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible", "none"',
    'd/a.conf:5: enforceNodeAllocatable[1]: "none" must stand alone',
  ],
  [
    "an invalid gate in the file",
    { file: "featureGates:\n  Nope: true\n" },
    "k.yaml:4: featureGates.Nope: is not a known feature gate",
  ],
  [
    "an invalid gate in a flag",
    { file: "featureGates:\n  MemoryQoS: true\n", flags: ["--feature-gates=NodeSwap=false"] },
    "--feature-gates: featureGates.NodeSwap: is locked to true",
  ],
  [
    "a negative syncFrequency; zero is the default",
    { file: "syncFrequency: -1s\n" },
    "k.yaml:3: syncFrequency: must be more than zero, not -1s",
  ],
  [
    "a syncFrequency of zero in a flag",
    { flags: ["--sync-frequency=0"] },
    "--sync-frequency: syncFrequency: must be more than zero, not 0s",
  ],
  [
    "two node IPs of one family",
    { flags: ["--node-ip=192.0.2.1,192.0.2.2"] },
    '--node-ip: "192.0.2.1,192.0.2.2" must contain either a single IP or a dual-stack pair of IPs',
  ],
  [
    "a cloud provider other than external",
    { flags: ["--cloud-provider=aws"] },
    '--cloud-provider: must be empty or "external", not "aws"',
  ],
  [
    "a flag that does not fit the file",
    { file: "serializeImagePulls: false\nmaxParallelImagePulls: 5\n", flags: ["--serialize-image-pulls"] },
    "k.yaml:4: maxParallelImagePulls: cannot be more than 1 unless serializeImagePulls is false",
  ],
  [
    "a number as a value of a map of strings",
    { file: "systemReserved:\n  cpu: 1\n" },
    "k.yaml:4: systemReserved.cpu: must be a string, not the number 1",
  ],
];
for (const [name, sources, ...lines] of rejected) {
  test(`rejected: ${name}`, async (t) => assert.deepEqual(await linesOf(t, sources), lines));
}

test("unknown and duplicate fields and further documents are ignored, with a warning each", async (t) => {
  const { dir, args } = await load(t, {
    file: "nope: 1\nport: 1\nlogging: {verbosity: 2, newField: x}\nport: 2\n---\nport: 3\n",
    dropIns: { "a.conf": "MaxPods: 7\n---\nmaxPods: 8\n" },
  });
  const { config, warnings } = await loadConfiguration({ args });
  assert.deepEqual([config.port, config.logging.verbosity, config.maxPods], [2, 2, 110]);
  assert.deepEqual(
    warnings.map((line) => line.replaceAll(`${dir}/`, "")),
    [
      "k.yaml:8: contains more than one document; only the first is read",
      "k.yaml:6: port: is specified more than once; the last value is used",
      "k.yaml:3: nope: is not a known field; it is ignored",
      "k.yaml:5: logging.newField: is not a known field; it is ignored",
      "d/a.conf:5: contains more than one document; only the first is read",
      "d/a.conf:3: MaxPods: is not a known field, did you mean maxPods?; it is ignored",
    ],
  );
});

test("the file that kubeadm writes is accepted unchanged", async () => {
  const path = new URL("../../../test/fixtures/config/kubeadm.yaml", import.meta.url).pathname;
  const { config } = await loadConfiguration({ args: [`--config=${path}`] });
  assert.equal(config.cgroupDriver, "systemd");
  assert.equal(config.logging.flushFrequency, 5000);
  assert.equal(config.nodeStatusReportFrequency, 300_000);
  assert.equal(config.authentication.x509.clientCAFile, "/etc/kubernetes/pki/ca.crt");
});

test("a drop-in must have its apiVersion and kind", async (t) => {
  const dir = await dirWith(t, { "d/a.conf": "maxPods: 1\n" });
  await assert.rejects(loadConfiguration({ args: [`--config-dir=${dir}/d`] }), (error: KubeletError) => {
    assert.match(error.message, /a\.conf: apiVersion: is missing/);
    return true;
  });
});

test("a drop-in that is not a file is reported, and does not block the start", async (t) => {
  const dir = await dirWith(t, { "d/a.conf": header });
  execFileSync("mkfifo", [`${dir}/d/pipe.conf`]);
  await symlink("pipe.conf", `${dir}/d/link.conf`);
  await symlink("/dev/zero", `${dir}/d/zero.conf`);
  await symlink("..", `${dir}/d/dir.conf`);
  await assert.rejects(loadConfiguration({ args: [`--config-dir=${dir}/d`] }), (error: KubeletError) => {
    const names = ["dir", "link", "pipe", "zero"];
    const lines = names.map((name) => `${dir}/d/${name}.conf: cannot be read: not a regular file`);
    assert.deepEqual(error.message.split("\n"), lines);
    return true;
  });
});

test("the file of --config may be a pipe", async (t) => {
  const dir = await dirWith(t, {});
  execFileSync("mkfifo", [`${dir}/k.yaml`]);
  const [{ config }] = await Promise.all([
    loadConfiguration({ args: [`--config=${dir}/k.yaml`] }),
    writeFile(`${dir}/k.yaml`, `${header}maxPods: 5\n`),
  ]);
  assert.equal(config.maxPods, 5);
});

test("a missing file or directory is the only problem reported", async () => {
  const args = ["--config=/nowhere/k.yaml", "--config-dir=/nowhere/d", "--max-pods=-1"];
  await assert.rejects(loadConfiguration({ args }), (error: KubeletError) => {
    const [file, dir, ...more] = error.message.split("\n");
    assert.match(file ?? "", /^\/nowhere\/k\.yaml: cannot be read: ENOENT/);
    assert.match(dir ?? "", /^\/nowhere\/d: cannot be listed: ENOENT/);
    assert.deepEqual(more, []);
    return error.code === "Config";
  });
});

test("a bad command line is a usage error", async () => {
  await assert.rejects(loadConfiguration({ args: ["--nope"] }), {
    code: "Usage",
    message: "unknown flag: --nope",
  });
});

test("a single warning names all settings that are accepted without effect", async (t) => {
  const { args } = await load(t, {
    file: "contentType: x/y\ncontainerLogMaxWorkers: 2\nsyncFrequency: 10s\n",
    dropIns: { "a.conf": "contentType: a/b\nstaticPodPath: /x\nenableContentionProfiling: true\n" },
    flags: ["--kube-api-content-type=c/d", "--housekeeping_interval=5s", "-v=2"],
  });
  const { warnings } = await loadConfiguration({ args });
  assert.deepEqual(warnings, [
    "accepted but not implemented yet: --kube-api-content-type, --housekeeping-interval, config contentType, config enableContentionProfiling",
  ]);
});

// parity: field hairpinMode, field iptablesMasqueradeBit, field iptablesDropBit
// parity: flag event-storage-age-limit, flag event-storage-event-limit, flag storage-driver-buffer-duration, flag storage-driver-db
// parity: flag storage-driver-host, flag storage-driver-password, flag storage-driver-secure, flag storage-driver-table, flag storage-driver-user
test("settings that v1.36 accepts and never reads are not warned about", async (t) => {
  const flags = [
    ["hairpin-mode", "none"],
    ["event-storage-age-limit", "default=1h"],
    ["event-storage-event-limit", "default=7"],
    ["storage-driver-buffer-duration", "7s"],
    ["storage-driver-db", "db"],
    ["storage-driver-host", "db:8086"],
    ["storage-driver-password", "p"],
    ["storage-driver-secure", "true"],
    ["storage-driver-table", "t"],
    ["storage-driver-user", "u"],
  ];
  const { args } = await load(t, {
    file: "hairpinMode: hairpin-veth\niptablesMasqueradeBit: 10\niptablesDropBit: 11\n",
    flags: flags.map(([name, value]) => `--${name}=${value}`),
  });
  assert.deepEqual((await loadConfiguration({ args })).warnings, []);
});

test("fields with their default are not warned about, as in the file that kubeadm writes", async (t) => {
  const options = "{json: {infoBufferSize: '0'}, text: {infoBufferSize: '0'}}";
  const { args } = await load(t, {
    file: `logging: {flushFrequency: 0, options: ${options}, verbosity: 0}\nmaxOpenFiles: 1000000\n`,
  });
  assert.deepEqual((await loadConfiguration({ args })).warnings, []);
});

// parity: field featureGates
test("gates follow files and flags, and old ones are warned about", async (t) => {
  const { args } = await load(t, {
    file: "featureGates: {MemoryQoS: true, NodeSwap: true}",
    flags: ["--feature-gates=AllBeta=false,GracefulNodeShutdown=true,WindowsGracefulNodeShutdown=false"],
  });
  const { gates, warnings } = await loadConfiguration({ args });
  assert.equal(gates.enabled("MemoryQoS"), true);
  assert.equal(gates.enabled("GracefulNodeShutdown"), true);
  assert.equal(gates.enabled("GracefulNodeShutdownBasedOnPodPriority"), false);
  assert.deepEqual(
    warnings.map((line) => line.split(":")[0]),
    ["accepted but not implemented yet", "feature gate NodeSwap=true"],
  );
});

test("text that is not an address is dropped from --node-ip and logged, as is that of clusterDNS", async (t) => {
  const { dir, args } = await load(t, {
    file: "clusterDNS: [10.96.0.10, dns]\n",
    flags: ["--node-ip=x,::1"],
  });
  const { flags, warnings } = await loadConfiguration({ args });
  assert.equal(flags.nodeIP, "::1");
  assert.deepEqual(
    warnings.map((line) => line.replaceAll(`${dir}/`, "")),
    [
      '--node-ip: "x" is not an IP address; it is ignored',
      'k.yaml:3: clusterDNS[1]: "dns" is not an IP address; it is ignored',
    ],
  );
});
