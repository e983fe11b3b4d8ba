import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { DockerConfig } from "./docker-config.ts";
import { PullCredentials, type PullSecret } from "./pull-credentials.ts";

const never = new AbortController().signal;

const json = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");
const entry = (username: string) => ({ username, password: `${username}'s` });
const secrets: Record<string, PullSecret> = {
  newer: {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": json({ auths: { "r.io": entry("newer") } }) },
  },
  older: { type: "kubernetes.io/dockercfg", data: { ".dockercfg": json({ "r.io/team": entry("older") }) } },
  opaque: { type: "Opaque", data: { ".dockerconfigjson": json({ auths: { "r.io": entry("opaque") } }) } },
  empty: { type: "kubernetes.io/dockerconfigjson", data: {} },
  broken: { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": json([]) } },
};

function setUp(node: DockerConfig = []) {
  const events: string[] = [];
  const credentials = new PullCredentials({
    secret: async (namespace, name) => {
      assert.equal(namespace, "default");
      if (name === "locked") throw new Error("forbidden");
      return secrets[name];
    },
    node: { read: async () => node },
    events: { normal: () => {}, warning: (_pod, reason, message) => events.push(`${reason}: ${message}`) },
  });
  const users = async (image: string, ...names: string[]) => {
    const pod = aPod({ imagePullSecrets: names.map((name) => ({ name })) });
    return (await credentials.credentials(pod, image, never)).map(
      (auth) => `${auth.username} ${auth.password}`,
    );
  };
  const reportMissing = (...names: string[]) =>
    credentials.reportMissing(aPod({ imagePullSecrets: names.map((name) => ({ name })) }), never);
  return { users, reportMissing, events };
}

const node: DockerConfig = [
  ["r.io", { username: "node", password: "n" }],
  ["https://index.docker.io/v1/", { username: "hub", password: "h" }],
];

const table: [rule: string, image: string, secrets: string[], users: string[]][] = [
  ["the node's credentials are used if the pod has no secrets", "r.io/app:1", [], ["node n"]],
  ["the pod's credentials are tried before the node's", "r.io/app:1", ["newer"], ["newer newer's", "node n"]],
  [
    "both secret formats are used, longer paths first",
    "r.io/team/app",
    ["newer", "older"],
    ["older older's", "newer newer's", "node n"],
  ],
  ["secrets of other types and empty secrets are ignored", "r.io/app:1", ["opaque", "empty"], ["node n"]],
  ["an image without a registry is pulled from the default registry", "app", ["newer"], ["hub h"]],
  ["no credentials are used if none matches", "other.io/app:1", ["newer"], []],
  ["a secret with an empty name is ignored", "r.io/app:1", [""], ["node n"]],
];
for (const [rule, image, names, expected] of table)
  test(`${image} with secrets [${names}]: ${rule}`, async () => {
    const { users, events } = setUp(node);
    assert.deepEqual(await users(image, ...names), expected);
    assert.deepEqual(events, []);
  });

test("each credential has its source, and those of credential provider plugins come last", async () => {
  const credentials = new PullCredentials({
    secret: async () => ({ ...secrets.newer, metadata: { uid: "u1" } }),
    node: { read: async () => node },
    providers: {
      lookup: async (pod, repository) => [
        { username: `${pod.metadata.name} ${repository}`, password: "", source: account },
      ],
    },
    events: { normal: () => {}, warning: () => {} },
  });
  const account = { kind: "serviceAccount", uid: "u2", namespace: "default", name: "robot" } as const;
  const found = await credentials.credentials(
    aPod({ imagePullSecrets: [{ name: "s" }] }),
    "r.io/app:1",
    never,
  );
  assert.deepEqual(
    found.map(({ username, source }) => ({ username, source })),
    [
      { username: "newer", source: { kind: "secret", uid: "u1", namespace: "default", name: "s" } },
      { username: "node", source: undefined },
      { username: "p r.io/app", source: account },
    ],
  );
});

// parity: event FailedToRetrieveImagePullSecret
test("secrets that cannot be retrieved are named in an event with each sync, and the others are used", async () => {
  const { users, reportMissing, events } = setUp();
  assert.deepEqual(await users("r.io/app", "none", "newer", "locked"), ["newer newer's"]);
  assert.deepEqual(events, []);
  await reportMissing("newer", "");
  assert.deepEqual(events, []);
  await reportMissing("none", "newer", "locked");
  assert.deepEqual(events, [
    "FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (none, locked); attempting to pull the image may not succeed.",
  ]);
});

test("an invalid secret fails the pull, and is named in the error", async () => {
  const { users } = setUp();
  await assert.rejects(users("r.io/app", "broken"), (error) => {
    assert.ok(error instanceof KubeletError && error.code === "ErrImagePull");
    assert.match(error.message, /^pull secret default\/broken: /);
    return true;
  });
});
