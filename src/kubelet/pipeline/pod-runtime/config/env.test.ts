import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeContainer, fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Container, EnvVar } from "../../../../lib/model/pod.ts";
import { buildEnv, expandCommand } from "./env.ts";
import { fakeContainerContext } from "./fake-context.ts";

const pod = fakePod({
  metadata: { labels: { app: "web", tier: 'a"b\n' }, annotations: { "example.com/a": "1" } },
  spec: { nodeName: "n1", serviceAccountName: "sa" },
});
const objects: NonNullable<ReturnType<typeof fakeContainerContext>["envObjects"]> = {
  configMap: (namespace, name) => (`${namespace}/${name}` === "default/cm" ? { z: "26", a: "1" } : undefined),
  secret: (_, name) => (name === "sec" ? { password: "x" } : undefined),
};
const build = (container: Partial<Container>, over = {}) =>
  Object.fromEntries(
    buildEnv(pod, fakeContainer(container), fakeContainerContext({ envObjects: objects, ...over })),
  );
const one = (variable: Partial<EnvVar>, over = {}) => build({ env: [{ name: "V", ...variable }] }, over).V;
const field = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });

describe("buildEnv", () => {
  const serviceEnv = { WEB_HOST: "10.0.0.1", A: "service" };
  it("expands variables that are declared earlier, then services, and none that are declared later", () => {
    const env = [
      { name: "A", value: "own" },
      { name: "B", value: "$(A) $(WEB_HOST) $(C) $$(A)" },
      { name: "C", value: "c" },
    ];
    assert.equal(build({ env }, { serviceEnv }).B, "own 10.0.0.1 $(C) $(A)");
  });
  it("declared variables override services, and env overrides envFrom", () => {
    const envFrom = [{ configMapRef: { name: "cm" } }];
    const env = [
      { name: "A", value: "own" },
      { name: "a", value: "env" },
    ];
    assert.deepEqual(build({ env, envFrom }, { serviceEnv }), {
      a: "env",
      z: "26",
      A: "own",
      WEB_HOST: "10.0.0.1",
    });
  });
  it("is in order: envFrom by key, env as declared, services", () => {
    const envFrom = [{ prefix: "P_", configMapRef: { name: "cm" } }, { secretRef: { name: "sec" } }];
    const env = [
      { name: "Y", value: "1" },
      { name: "X", value: "2" },
    ];
    const names = Object.keys(build({ env, envFrom }, { serviceEnv: { S: "3" } }));
    assert.deepEqual(names, ["P_a", "P_z", "password", "Y", "X", "S"]);
  });
  it("has an empty value for a variable without value", () => assert.equal(one({}), ""));
  it("the later of two variables with the same name wins", () => {
    assert.deepEqual(
      build({
        env: [
          { name: "A", value: "1" },
          { name: "A", value: "$(A)2" },
        ],
      }),
      { A: "12" },
    );
  });

  const values: [rule: string, want: string | undefined, variable: Partial<EnvVar>][] = [
    ["a key of a ConfigMap", "1", { valueFrom: { configMapKeyRef: { name: "cm", key: "a" } } }],
    ["a key of a Secret", "x", { valueFrom: { secretKeyRef: { name: "sec", key: "password" } } }],
    [
      "nothing for a missing optional key",
      undefined,
      { valueFrom: { configMapKeyRef: { name: "cm", key: "no", optional: true } } },
    ],
    [
      "nothing for a missing optional object",
      undefined,
      { valueFrom: { secretKeyRef: { name: "no", key: "k", optional: true } } },
    ],
    ["the pod's name", "web", field("metadata.name")],
    ["the pod's uid", pod.metadata.uid, field("metadata.uid")],
    ["a label", "web", field("metadata.labels['app']")],
    ["an empty value for a missing label", "", field("metadata.labels['constructor']")],
    ["an annotation", "1", field("metadata.annotations['example.com/a']")],
    ["all labels, quoted", 'app="web"\ntier="a\\"b\\n"', field("metadata.labels")],
    ["the node", "n1", field("spec.nodeName")],
    ["the service account", "sa", field("spec.serviceAccountName")],
    ["the node's address", "192.0.2.10", field("status.hostIP")],
    ["the pod's address", "10.0.0.5", field("status.podIP")],
  ];
  for (const [rule, want, variable] of values) it(`has ${rule}`, () => assert.equal(one(variable), want));

  it("has one address of each family, the node's family first", () => {
    const podIps = ["10.0.0.5", "10.0.0.6", "fd00::5"];
    assert.equal(one(field("status.podIPs"), { podIps }), "10.0.0.5,fd00::5");
    const node = { ...fakeContainerContext().node, hostIps: ["fd00::1"] };
    assert.equal(one(field("status.podIPs"), { podIps, node }), "fd00::5,10.0.0.5");
    assert.equal(one(field("status.podIP"), { podIps, node }), "fd00::5");
  });

  const errors: [rule: string, message: RegExp, container: Partial<Container>][] = [
    ["a missing ConfigMap", /^configmap "no" not found$/, { envFrom: [{ configMapRef: { name: "no" } }] }],
    [
      "a missing Secret",
      /^secret "no" not found$/,
      { env: [{ name: "V", valueFrom: { secretKeyRef: { name: "no", key: "k" } } }] },
    ],
    [
      "a missing key",
      /^couldn't find key k in Secret default\/sec$/,
      { env: [{ name: "V", valueFrom: { secretKeyRef: { name: "sec", key: "k" } } }] },
    ],
    [
      "an unknown field",
      /^field label not supported: spec.foo$/,
      { env: [{ name: "V", ...field("spec.foo") }] },
    ],
    [
      "a subscript that is not supported",
      /does not support subscript/,
      { env: [{ name: "V", ...field("spec.nodeName['x']") }] },
    ],
  ];
  for (const [rule, message, container] of errors) {
    it(`fails for ${rule}`, () =>
      assert.throws(() => build(container), { code: "CreateContainerConfigError", message }));
  }
  it("fails without a reader of ConfigMaps", () => {
    const container = { envFrom: [{ configMapRef: { name: "cm" } }] };
    assert.throws(
      () => build(container, { envObjects: undefined }),
      /couldn't get configMap default\/cm, no kubeClient defined/,
    );
  });
  it("fails with the error of the reader", () => {
    const envObjects = {
      ...objects,
      secret: () => {
        throw new Error("not yet synced");
      },
    };
    assert.throws(
      () => build({ envFrom: [{ secretRef: { name: "s", optional: true } }] }, { envObjects }),
      /not yet synced/,
    );
  });
});

describe("fileKeyRef", () => {
  const files = new Map<string, string | undefined>([
    ["a", "1"],
    ["empty", ""],
    ["none", undefined],
  ]);
  const fileKey = ({ volumeName, path, key }: { volumeName: string; path: string; key: string }) =>
    volumeName === "v" ? { path: `/pods/v/${path}`, value: files.get(key) } : undefined;
  const get = (ref: object, over = {}) => {
    const fileKeyRef = { volumeName: "v", path: "env", key: "a", ...ref };
    const variable = { name: "V", valueFrom: { fileKeyRef } as EnvVar["valueFrom"] };
    const after = { name: "AFTER", value: "<$(V)>" };
    return build({ env: [variable, after] }, { fileKey, ...over });
  };
  const missing = 'environment variable key "KEY" not found in file "/pods/v/env"';

  // parity: gate EnvFiles=true as envFiles
  it("is the value of a key in a file, and later variables can refer to it", () =>
    assert.deepEqual(get({}), { V: "1", AFTER: "<1>" }));
  for (const key of ["none", "empty"]) {
    it(`fails if there is no value (${key})`, () =>
      assert.throws(() => get({ key }), {
        code: "CreateContainerConfigError",
        message: missing.replace("KEY", key),
      }));
    it(`is omitted if there is no value and it is optional (${key})`, () =>
      assert.deepEqual(get({ key, optional: true }), { AFTER: "<$(V)>" }));
  }
  it("fails if the volume is missing, even if it is optional", () => {
    const message = 'cannot find the volume "w" referenced by FileKeyRef';
    assert.throws(() => get({ volumeName: "w", optional: true }), { message });
    assert.throws(() => get({ volumeName: "w" }, { fileKey: undefined }), { message });
  });
  // parity: gate EnvFiles=false as envFiles
  it("is empty with its gate off", () => {
    const { settings } = fakeContainerContext();
    const off = { ...settings, gates: { ...settings.gates, envFiles: false } };
    assert.deepEqual(get({}, { settings: off }), { V: "", AFTER: "<>" });
  });
});

describe("resourceFieldRef", () => {
  const own: Partial<Container> = {
    resources: { requests: { cpu: "250m" }, limits: { memory: "100Mi", "hugepages-2Mi": "4Mi" } },
  };
  const get = (ref: object, container = own, spec = {}) => {
    const env = [{ name: "V", valueFrom: { resourceFieldRef: ref as { resource: string } } }];
    const whole = fakePod({ spec: { containers: [{ ...container, env }], ...spec } });
    return buildEnv(whole, whole.spec.containers[0]!, fakeContainerContext()).get("V");
  };
  const rows: [rule: string, want: string, ref: object][] = [
    ["is in whole units", "104857600", { resource: "limits.memory", divisor: "0" }],
    ["is in units of the divisor", "100", { resource: "limits.memory", divisor: "1Mi" }],
    ["is rounded up", "1", { resource: "limits.memory", divisor: "1Gi" }],
    ["counts CPU in cores", "1", { resource: "requests.cpu" }],
    ["counts CPU in millicores with that divisor", "250", { resource: "requests.cpu", divisor: "1m" }],
    ["falls back to the node for a limit", "4", { resource: "limits.cpu" }],
    ["does not fall back for a request", "0", { resource: "requests.memory" }],
    ["supports huge pages", "4194304", { resource: "limits.hugepages-2Mi" }],
    ["supports ephemeral storage", "10", { resource: "limits.ephemeral-storage", divisor: "1Gi" }],
  ];
  for (const [rule, want, ref] of rows) it(rule, () => assert.equal(get(ref), want));

  it("falls back to the pod's limit before the node's", () => {
    assert.equal(get({ resource: "limits.cpu" }, own, { resources: { limits: { cpu: "2" } } }), "2");
  });
  it("refers to another container by name", () => {
    const initContainers = [fakeContainer({ resources: { limits: { cpu: "3" } } }, "i")];
    assert.equal(get({ resource: "limits.cpu", containerName: "i" }, own, { initContainers }), "3");
    assert.equal(get({ resource: "limits.memory", containerName: "i" }, own, { initContainers }), "0");
    assert.throws(() => get({ resource: "limits.cpu", containerName: "none" }), /container none not found/);
  });
  it("rejects unknown resources", () => {
    assert.throws(() => get({ resource: "limits.gpu" }), /Unsupported container resource : limits.gpu/);
  });
});

describe("expandCommand", () => {
  const env = new Map([["A", "1"]]);
  it("expands variables in command and arguments", () => {
    const container = fakeContainer({ command: ["$(A)"], args: ["x$(B)"] });
    assert.deepEqual(expandCommand(container, env), { command: ["1"], args: ["x$(B)"] });
    const neither = fakeContainer({ command: undefined, args: undefined });
    assert.deepEqual(expandCommand(neither, env), { command: [], args: [] });
  });
});

describe("what a process receives is bounded", () => {
  const doubled = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({
      name: `V${from + i}`,
      value: i === 0 ? "0123456789" : `$(V${from + i - 1})$(V${from + i - 1})`,
    }));
  const mebi = "x".repeat(1 << 20);
  const rows: [rule: string, message: string, container: Partial<Container>][] = [
    [
      "variables that double",
      'environment variable "V18" expands to more than 2097152 bytes',
      { env: doubled(0, 60) },
    ],
    [
      "many long variables",
      'environment variable "V74" exceeds the limit of 8388608 bytes in total',
      {
        env: [...doubled(0, 17), ...doubled(20, 37), ...doubled(40, 57), ...doubled(60, 77)].flatMap((v) => [
          v,
          v,
        ]),
      },
    ],
    [
      "a ConfigMap that is imported many times",
      'environment variable "P7_big" exceeds the limit of 8388608 bytes in total',
      {
        envFrom: Array.from({ length: 40 }, (_, i) => ({ prefix: `P${i}_`, configMapRef: { name: "big" } })),
      },
    ],
  ];
  const envObjects = { ...objects, configMap: () => ({ big: mebi }) };
  for (const [rule, message, container] of rows)
    it(`${rule} are rejected`, () =>
      assert.throws(() => build({ name: "c", ...container }, { envObjects }), {
        message: `container "c": ${message}`,
      }));

  for (const field of ["command", "args"] as const) {
    it(`${field} that expand to too much are rejected`, () => {
      const expand = (texts: string[]) =>
        expandCommand(fakeContainer({ name: "c", command: [], [field]: texts }), new Map([["A", mebi]]));
      assert.equal(expand(Array(7).fill("$(A)"))[field].length, 7);
      assert.throws(() => expand(["x", "$(A)$(A)$(A)"]), {
        message: `container "c": ${field}[1] expands to more than 2097152 bytes`,
      });
      assert.throws(() => expand(Array(20).fill("$(A)")), {
        message: `container "c": ${field}[7] exceeds the limit of 8388608 bytes in total`,
      });
    });
  }
});
