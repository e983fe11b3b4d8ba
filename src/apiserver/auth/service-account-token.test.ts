import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { epochMs } from "../../lib/base/time.ts";
import { generateKey } from "../../lib/base/x509/x509.ts";
import type { Unstructured } from "../definition.ts";
import { StatusError } from "../status-error.ts";
import { admin, MemoryObjects } from "./fixtures.ts";
import { serviceAccountToken } from "./service-account-token.ts";
import { ServiceAccountTokens } from "./tokens/service-account-tokens.ts";
import { TokenIssuer } from "./tokens/token-issuer.ts";

const api = "https://kubernetes.default.svc.cluster.local";
const clock = new FakeClock(Date.UTC(2026, 0, 1));
const objects = new MemoryObjects({ now: () => epochMs(clock.wall()) });
objects.put("serviceaccounts", { metadata: { namespace: "ns", name: "builder", uid: "sa-uid" } });
const pod = (name: string, serviceAccountName: string, nodeName: string) =>
  objects.put("pods", {
    metadata: { namespace: "ns", name, uid: `${name}-uid` },
    spec: { serviceAccountName, nodeName },
  });
pod("p", "builder", "n1");
pod("q", "default", "n1");
pod("r", "builder", "unregistered");
objects.put("nodes", { metadata: { name: "n1", uid: "n1-uid" } });
objects.put("secrets", { metadata: { namespace: "ns", name: "s", uid: "s-uid" } });

const tokenIssuer = new TokenIssuer({ key: generateKey().privateKey });
const action = serviceAccountToken({ tokenIssuer });
const tokens = new ServiceAccountTokens({ tokenIssuer, objects: () => objects, clock });

const issue = (spec?: object, metadata: object = {}, name = "builder") =>
  action.act(
    { resource: "serviceaccounts", namespace: "ns", name },
    { metadata, ...(spec && { spec }) } as Unstructured,
    objects.context(admin),
  );

interface TokenRequest {
  metadata: object;
  spec: { audiences: string[]; expirationSeconds: number };
  status: { token: string; expirationTimestamp: string };
}

async function claimsOf(spec: object) {
  const response = (await issue(spec)) as TokenRequest;
  const claims = JSON.parse(Buffer.from(response.status.token.split(".")[1]!, "base64url").toString());
  return { response, claims };
}

const ref = (kind: string, name: string, uid?: string) => ({
  boundObjectRef: { apiVersion: "v1", kind, name, ...(uid && { uid }) },
});

test("by default a token is for the API server and valid for an hour", async () => {
  const { response, claims } = await claimsOf({});
  assert.deepEqual(response.spec, { audiences: [api], expirationSeconds: 3600, boundObjectRef: null });
  assert.deepEqual(response.metadata, {
    name: "builder",
    namespace: "ns",
    uid: "sa-uid",
    creationTimestamp: "2026-01-01T00:00:00Z",
  });
  assert.equal(response.status.expirationTimestamp, "2026-01-01T01:00:00Z");
  const { jti, ...rest } = claims;
  assert(jti);
  assert.deepEqual(rest, {
    aud: [api],
    iss: api,
    sub: "system:serviceaccount:ns:builder",
    iat: 1767225600,
    nbf: 1767225600,
    exp: 1767229200,
    "kubernetes.io": { namespace: "ns", serviceaccount: { name: "builder", uid: "sa-uid" } },
  });
  assert.equal((await tokens.authenticate(response.status.token, [api])).kind, "authenticated");
});

test("a token is bound to the requested object", async (t) => {
  const n1 = { name: "n1", uid: "n1-uid" };
  const rows: [string, object, object][] = [
    ["pod, with its node", ref("Pod", "p", "p-uid"), { pod: { name: "p", uid: "p-uid" }, node: n1 }],
    ["pod without uid", ref("Pod", "p"), { pod: { name: "p", uid: "p-uid" }, node: n1 }],
    [
      "pod on a node without object",
      ref("Pod", "r"),
      { pod: { name: "r", uid: "r-uid" }, node: { name: "unregistered" } },
    ],
    ["secret", ref("Secret", "s"), { secret: { name: "s", uid: "s-uid" } }],
    ["node", ref("Node", "n1"), { node: n1 }],
  ];
  for (const [name, spec, expected] of rows)
    await t.test(name, async () => {
      const { claims, response } = await claimsOf(spec);
      const { namespace: _, serviceaccount: __, ...bound } = claims["kubernetes.io"];
      assert.deepEqual(bound, expected);
      assert.equal((await tokens.authenticate(response.status.token, [api])).kind, "authenticated");
    });
});

test("the default token of a pod is valid for a year, but reports an expiration after an hour (warnafter)", async () => {
  const { response, claims } = await claimsOf({ ...ref("Pod", "p"), expirationSeconds: 3607 });
  assert.equal(claims.exp - claims.iat, 365 * 24 * 3600);
  assert.equal(claims["kubernetes.io"].warnafter - claims.iat, 3607);
  assert.equal(response.status.expirationTimestamp, "2026-01-01T01:00:07Z");
  for (const spec of [
    { expirationSeconds: 3607 },
    { ...ref("Pod", "p"), expirationSeconds: 3607, audiences: ["vault"] },
    { ...ref("Pod", "p"), expirationSeconds: 3600 },
  ])
    assert.equal((await claimsOf(spec)).claims.exp - 1767225600, spec.expirationSeconds);
});

const rows: [string, () => Promise<unknown>, number, string][] = [
  [
    "too short",
    () => issue({ expirationSeconds: 599 }),
    422,
    'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
  ],
  [
    "too long",
    () => issue({ expirationSeconds: 2 ** 32 + 1 }),
    422,
    'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
  ],
  ["no account", () => issue({}, {}, "none"), 404, 'serviceaccounts "none" not found'],
  [
    "another name in the body",
    () => issue({}, { name: "x" }),
    422,
    'TokenRequest.authentication.k8s.io "builder" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
  ],
  [
    "another namespace in the body",
    () => issue({}, { namespace: "x" }),
    422,
    'TokenRequest.authentication.k8s.io "builder" is invalid: metadata.namespace: Invalid value: "x": must match the service account namespace if specified',
  ],
  [
    "an account recreated",
    () => issue({}, { uid: "x" }),
    409,
    'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "builder": the UID in the token request (x) does not match the UID of the service account (sa-uid)',
  ],
  [
    "the pod of another account",
    () => issue(ref("Pod", "q")),
    400,
    'cannot bind token for serviceaccount "builder" to pod running with different serviceaccount name.',
  ],
  ["no pod", () => issue(ref("Pod", "none")), 404, 'pods "none" not found'],
  [
    "a pod recreated",
    () => issue(ref("Pod", "p", "x")),
    409,
    'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
  ],
  [
    "another kind",
    () => issue({ boundObjectRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } }),
    400,
    "cannot bind token to object of type apps/v1, Kind=Deployment",
  ],
];

test("invalid requests are rejected", async (t) => {
  for (const [name, what, status, message] of rows)
    await t.test(name, async () => {
      const error = await what().catch((thrown: unknown) => thrown);
      assert(error instanceof StatusError, String(error));
      assert.deepEqual([error.status, error.message], [status, message]);
    });
});
