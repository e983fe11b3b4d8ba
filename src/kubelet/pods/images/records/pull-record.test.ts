import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../../lib/base/time.ts";
import {
  decodeIntent,
  decodeRecord,
  encodeIntent,
  encodeRecord,
  type ImagePullCredentials,
} from "./pull-record.ts";

const beta = "kubelet.config.k8s.io/v1beta1";
const alpha = "kubelet.config.k8s.io/v1alpha1";
const secret = { uid: "u", namespace: "ns", name: "s", credentialHash: "h" };
const account = { uid: "u", namespace: "ns", name: "robot" };

test("an intent is written as upstream writes it", () => {
  const text = `{"kind":"ImagePullIntent","apiVersion":"${beta}","image":"r.io/app:1"}\n`;
  assert.equal(encodeIntent({ image: "r.io/app:1" }), text);
  assert.deepEqual(decodeIntent(text), { value: { image: "r.io/app:1" }, isCurrent: true });
});

const updatedAt = Date.UTC(2026, 1, 3, 4, 5, 6);
const head = `{"kind":"ImagePulledRecord","apiVersion":"${beta}","lastUpdatedTime":"2026-02-03T04:05:06Z","imageRef":"sha256:1"`;
const records: [rule: string, access: [string, ImagePullCredentials][], rest: string][] = [
  ["unknown access", [], "}"],
  [
    "every pod",
    [["r.io/a", { nodePodsAccessible: true }]],
    ',"credentialMapping":{"r.io/a":{"nodePodsAccessible":true}}}',
  ],
  [
    "a secret",
    [["r.io/a", { kubernetesSecrets: [secret] }]],
    ',"credentialMapping":{"r.io/a":{"kubernetesSecrets":[{"uid":"u","namespace":"ns","name":"s","credentialHash":"h"}]}}}',
  ],
  [
    "a service account, and another name",
    [
      ["a", { nodePodsAccessible: true }],
      ["r.io/a", { kubernetesServiceAccounts: [account] }],
    ],
    ',"credentialMapping":{"a":{"nodePodsAccessible":true},"r.io/a":{"kubernetesServiceAccounts":[{"uid":"u","namespace":"ns","name":"robot"}]}}}',
  ],
];
for (const [rule, access, rest] of records)
  test(`a record is written as upstream writes it: ${rule}`, () => {
    const record = { updatedAt, imageRef: "sha256:1", access: new Map(access) };
    assert.equal(encodeRecord({ ...record, updatedAt: wallTime(updatedAt + 999) }), `${head}${rest}\n`);
    assert.deepEqual(decodeRecord(head + rest), { value: record, isCurrent: true });
  });

test("the previous version is read, and has to be written again", () => {
  assert.equal(
    decodeIntent(`{"kind":"ImagePullIntent","apiVersion":"${alpha}","image":"x"}`).isCurrent,
    false,
  );
  assert.equal(decodeRecord(`${head}}`.replace(beta, alpha)).isCurrent, false);
});

const broken: [rule: string, text: string, why: RegExp][] = [
  ["truncated", head, /JSON/],
  ["empty", "", /JSON/],
  [
    "another kind",
    `{"kind":"ImagePullIntent","apiVersion":"${beta}","image":"x"}`,
    /kind is not ImagePulledRecord/,
  ],
  ["another version", `${head}}`.replace("v1beta1", "v2"), /apiVersion/],
  ["an unknown field", `${head},"x":1}`, /x is not a known field/],
  [
    "an unknown field of a secret",
    `${head},"credentialMapping":{"a":{"kubernetesSecrets":[{"x":1}]}}}`,
    /x is not/,
  ],
  ["a wrong type", `${head},"credentialMapping":{"a":{"nodePodsAccessible":"yes"}}}`, /nodePodsAccessible/],
  ["an invalid time", `${head}}`.replace("2026-", "tomorrow"), /lastUpdatedTime/],
];
for (const [rule, text, why] of broken)
  test(`an invalid record: ${rule}`, () => assert.throws(() => decodeRecord(text), why));
