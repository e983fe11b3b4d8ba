import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { validatePod } from "../validation/fixtures.ts";

type Loose = Record<string, unknown>;
const fixture = (name: string) => new URL(`../../../../test/fixtures/manifests/${name}`, import.meta.url);

/** A pod with one container, with more in its spec and container. */
function defaulted(spec: Loose = {}, container: Loose = {}) {
  const result = validatePod({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i:1", ...container }], ...spec },
  });
  if ("problems" in result) assert.fail(JSON.stringify(result.problems));
  const [only] = result.pod.spec.containers;
  assert.ok(only);
  return { spec: result.pod.spec as unknown as Loose, container: only as unknown as Loose };
}

test("a complete pod gets the defaults of the API server", async () => {
  const result = validatePod(parse(await readFile(fixture("full.yaml"), "utf8")));
  const expected: unknown = JSON.parse(await readFile(fixture("full.expected.json"), "utf8"));
  assert.deepEqual("pod" in result && result.pod, expected);
});

test("spec fields have their defaults, and keep what was written", () => {
  const { spec } = defaulted();
  for (const [field, value] of Object.entries({
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    terminationGracePeriodSeconds: 30,
    securityContext: {},
    schedulerName: "default-scheduler",
    enableServiceLinks: true,
  }))
    assert.deepEqual(spec[field], value, field);
  const written = { restartPolicy: "Never", terminationGracePeriodSeconds: 0, enableServiceLinks: false };
  const kept = defaulted(written).spec;
  for (const [field, value] of Object.entries(written)) assert.deepEqual(kept[field], value, field);
});

test("the pull policy follows from the tag", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  for (const [image, policy] of [
    ["busybox", "Always"],
    ["busybox:latest", "Always"],
    ["host:5000/busybox", "Always"],
    ["host:5000/a/busybox:1.2", "IfNotPresent"],
    ["busybox:1.36", "IfNotPresent"],
    [`busybox@${digest}`, "IfNotPresent"],
    [`busybox:latest@${digest}`, "Always"],
    [`host:5000/busybox@${digest}`, "IfNotPresent"],
  ] as const)
    assert.equal(defaulted({}, { image }).container.imagePullPolicy, policy, image);
  assert.equal(defaulted({}, { image: "a", imagePullPolicy: "Never" }).container.imagePullPolicy, "Never");
});

test("resources: requests default to limits, quantities are canonical", () => {
  for (const [name, resources, expected] of [
    ["none", undefined, {}],
    ["requests alone are kept", { requests: { cpu: "1" } }, { requests: { cpu: "1" } }],
    ["limits are requested", { limits: { cpu: 1 } }, { limits: { cpu: "1" }, requests: { cpu: "1" } }],
    [
      "only what is not requested",
      { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "500m" } },
      { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } },
    ],
    ["rounded up to thousandths", { requests: { cpu: "100u" } }, { requests: { cpu: "1m" } }],
    [
      "spelling",
      { requests: { cpu: "0.5", memory: "1048576Ki", "ephemeral-storage": "1000000" } },
      { requests: { cpu: "500m", memory: "1Gi", "ephemeral-storage": "1M" } },
    ],
  ] as const)
    assert.deepEqual(defaulted({}, resources && { resources }).container.resources, expected, name);
});

test("pod-level resources come from its containers, then from its limits", () => {
  const container = { resources: { requests: { cpu: "100m" } } };
  const initContainers = [
    { name: "side", image: "i:1", restartPolicy: "Always", resources: { requests: { cpu: "50m" } } },
    { name: "init", image: "i:1", resources: { requests: { cpu: "1" } } },
  ];
  const resources = { limits: { cpu: "2", memory: "64Mi" } };
  assert.deepEqual(defaulted({ resources, initContainers }, container).spec.resources, {
    limits: { cpu: "2", memory: "64Mi" },
    requests: { cpu: "1050m", memory: "64Mi" },
  });
  assert.deepEqual(defaulted({ resources: { requests: { cpu: "1" } } }).spec.resources, {
    requests: { cpu: "1" },
  });
});

test("with the host network, container ports are host ports", () => {
  const ports = [{ containerPort: 80 }];
  assert.deepEqual(defaulted({ hostNetwork: true }, { ports }).container.ports, [
    { containerPort: 80, hostPort: 80, protocol: "TCP" },
  ]);
  assert.deepEqual(defaulted({}, { ports }).container.ports, [{ containerPort: 80, protocol: "TCP" }]);
});

test("volume sources have their defaults", () => {
  for (const [written, expected] of [
    [{}, { emptyDir: {} }],
    [{ emptyDir: null }, { emptyDir: {} }],
    [{ hostPath: { path: "/x" } }, { hostPath: { path: "/x", type: "" } }],
    [{ secret: { secretName: "s" } }, { secret: { secretName: "s", defaultMode: 0o644 } }],
    [{ configMap: { name: "c", defaultMode: 0o400 } }, { configMap: { name: "c", defaultMode: 0o400 } }],
    [{ image: { reference: "x" } }, { image: { reference: "x", pullPolicy: "Always" } }],
    [
      {
        projected: {
          sources: [{ downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } }],
        },
      },
      {
        projected: {
          defaultMode: 0o644,
          sources: [
            {
              downwardAPI: {
                items: [{ path: "n", fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } }],
              },
            },
          ],
        },
      },
    ],
  ])
    assert.deepEqual(defaulted({ volumes: [{ name: "v", ...written }] }).spec.volumes, [
      { name: "v", ...expected },
    ]);
});

test("an older serviceAccount is a serviceAccountName", () => {
  const { spec } = defaulted({ serviceAccount: "sa" });
  assert.equal(spec.serviceAccountName, "sa");
});
