import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { generateKey } from "../../../lib/base/x509/x509.ts";
import { MemoryObjects } from "../fixtures.ts";
import { unionTokenAuthenticator } from "./bearer.ts";
import { BootstrapTokens } from "./bootstrap-tokens.ts";
import { bootstrapToken } from "./fixtures.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";
import { TokenIssuer, type TokenSubject } from "./token-issuer.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const api = "https://kubernetes.default.svc.cluster.local";
const account = { name: "builder", uid: "sa-uid" };
const subject: TokenSubject = { namespace: "ns", serviceAccount: account };

function setUp(key: KeyObject = generateKey().privateKey) {
  const clock = new FakeClock();
  const objects = new MemoryObjects();
  const put = (resource: string, name: string, uid: string, metadata: object = {}) =>
    objects.put(resource, {
      metadata: { namespace: resource === "nodes" ? "" : "ns", name, uid, ...metadata },
    });
  put("serviceaccounts", "builder", "sa-uid");
  put("pods", "p", "pod-uid");
  put("secrets", "s", "secret-uid");
  put("nodes", "n1", "node-uid");
  const tokenIssuer = new TokenIssuer({ key });
  const tokens = new ServiceAccountTokens({ tokenIssuer, objects: () => objects, clock });
  const issue = (about: Partial<TokenSubject> = {}, o: { audiences?: string[]; seconds?: number } = {}) =>
    tokenIssuer.issue(
      { ...subject, ...about },
      { audiences: o.audiences ?? [api], nowMs: epochMs(clock.wall()), seconds: o.seconds ?? 3600 },
    );
  return { clock, objects, put, tokenIssuer, tokens, issue };
}

for (const [name, key] of [["ES256", generateKey().privateKey] as const, ["RS256", rsa] as const])
  test(`a token signed with ${name} is accepted, with its pod and node`, async () => {
    const { tokens, issue } = setUp(key);
    const token = issue({ pod: { name: "p", uid: "pod-uid" }, node: { name: "n1", uid: "node-uid" } });
    const header = JSON.parse(Buffer.from(token.split(".")[0]!, "base64url").toString());
    assert.equal(header.alg, name);
    const result = await tokens.authenticate(token, [api]);
    assert(result.kind === "authenticated");
    const { extra, ...caller } = result.caller;
    assert.deepEqual(caller, {
      name: "system:serviceaccount:ns:builder",
      uid: "sa-uid",
      groups: ["system:serviceaccounts", "system:serviceaccounts:ns"],
    });
    const { "authentication.kubernetes.io/credential-id": credential, ...rest } = extra!;
    assert.match(credential![0]!, /^JTI=[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": ["pod-uid"],
      "authentication.kubernetes.io/node-name": ["n1"],
      "authentication.kubernetes.io/node-uid": ["node-uid"],
    });
    assert.deepEqual(result.audiences, [api]);
  });

const pod = { pod: { name: "p", uid: "pod-uid" } };
const invalidated = "service account token has been invalidated";
const old = (clock: FakeClock, seconds: number) => ({
  deletionTimestamp: new Date(epochMs(clock.wall()) - seconds * 1000).toISOString(),
});
type Rig = ReturnType<typeof setUp>;
/** Accepted if there is no problem. */
const rows: [string, (rig: Rig) => string | Promise<string>, string?][] = [
  ["an unbound token", ({ issue }) => issue()],
  ["a token bound to a Secret", ({ issue }) => issue({ secret: { name: "s", uid: "secret-uid" } })],
  ["a token bound to a Node", ({ issue }) => issue({ node: { name: "n1", uid: "node-uid" } })],
  [
    "a token that expired within the leeway",
    async ({ issue, clock }) => {
      const token = issue();
      await clock.advance(3660_000);
      return token;
    },
  ],
  [
    "a token that expired",
    async ({ issue, clock }) => {
      const token = issue();
      await clock.advance(3661_000);
      return token;
    },
    "service account token has expired",
  ],
  [
    "a token that is not valid yet",
    async ({ issue, clock }) => {
      await clock.advance(61_000);
      const token = issue();
      await clock.advance(-61_500);
      return token;
    },
    "service account token is not valid yet",
  ],
  [
    "a token for another audience",
    ({ issue }) => issue({}, { audiences: ["vault", "x"] }),
    `token audiences ["vault" "x"] is invalid for the target audiences ["${api}"]`,
  ],
  ["a token for the API and another audience", ({ issue }) => issue({}, { audiences: ["vault", api] })],
  [
    "a token of a deleted account",
    ({ issue, objects }) =>
      objects.delete({ resource: "serviceaccounts", namespace: "ns", name: "builder" }).then(() => issue()),
    'serviceaccounts "builder" not found',
  ],
  [
    "a token of an account that was recreated",
    ({ issue, put }) => {
      put("serviceaccounts", "builder", "new");
      return issue();
    },
    "service account UID (new) does not match claim (sa-uid)",
  ],
  [
    "a token of an account deleted a minute ago",
    ({ issue, put, clock }) => {
      put("serviceaccounts", "builder", "sa-uid", old(clock, 61));
      return issue();
    },
    "service account ns/builder has been deleted",
  ],
  [
    "a token of a deleted pod",
    ({ issue, objects }) =>
      objects.delete({ resource: "pods", namespace: "ns", name: "p" }).then(() => issue(pod)),
    invalidated,
  ],
  [
    "a token of a pod that was recreated",
    ({ issue, put }) => {
      put("pods", "p", "new");
      return issue(pod);
    },
    "pod UID (new) does not match service account pod ref claim (pod-uid)",
  ],
  [
    "a token of a terminating pod",
    ({ issue, put, clock }) => {
      put("pods", "p", "pod-uid", old(clock, 59));
      return issue(pod);
    },
  ],
  [
    "a token of a terminated pod",
    ({ issue, put, clock }) => {
      put("pods", "p", "pod-uid", old(clock, 61));
      return issue(pod);
    },
    invalidated,
  ],
  ["a token of a deleted secret", ({ issue }) => issue({ secret: { name: "none", uid: "x" } }), invalidated],
  [
    "a token of a secret that was recreated",
    ({ issue }) => issue({ secret: { name: "s", uid: "x" } }),
    "secret UID (secret-uid) does not match service account secret ref claim (x)",
  ],
  ["a token of a deleted node", ({ issue }) => issue({ node: { name: "none", uid: "x" } }), invalidated],
  [
    "a token of a node that was recreated",
    ({ issue }) => issue({ node: { name: "n1", uid: "x" } }),
    "node UID (node-uid) does not match service account node ref claim (x)",
  ],
  [
    "a token of a pod whose node was deleted",
    ({ issue }) => issue({ ...pod, node: { name: "none", uid: "x" } }),
  ],
  [
    "a token with modified claims",
    ({ issue }) => {
      const [head, body, signature] = issue().split(".") as [string, string, string];
      const claims = JSON.parse(Buffer.from(body, "base64url").toString());
      claims["kubernetes.io"].serviceaccount.name = "admin";
      return [head, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
    },
    "go-jose/go-jose: error in cryptographic primitive",
  ],
  [
    "a token without signature",
    ({ issue }) => {
      const [, body] = issue().split(".");
      return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${body}.eA`;
    },
    "go-jose/go-jose: error in cryptographic primitive",
  ],
  [
    "a token signed with another key",
    ({ clock }) =>
      new TokenIssuer({ key: generateKey().privateKey }).issue(subject, {
        audiences: [api],
        nowMs: epochMs(clock.wall()),
        seconds: 600,
      }),
    "invalid signature, no keys found",
  ],
];

test("a service account token is valid while its account and bound object exist", async (t) => {
  for (const [name, createToken, problem] of rows)
    await t.test(`${name} is ${problem === undefined ? "accepted" : "rejected"}`, async () => {
      const rig = setUp();
      const token = await createToken(rig);
      const result = await rig.tokens.authenticate(token, [api]);
      if (problem === undefined) assert.equal(result.kind, "authenticated", JSON.stringify(result));
      else assert.deepEqual(result, { kind: "rejected", problem });
    });
});

test("unknown tokens are left to other authenticators", async () => {
  const { tokens, clock } = setUp();
  const foreign = new TokenIssuer({ key: generateKey().privateKey, issuer: "https://elsewhere" });
  const theirs = foreign.issue(subject, { audiences: [api], nowMs: epochMs(clock.wall()), seconds: 600 });
  for (const token of [theirs, "abcdef.0123456789abcdef", "a.b.c", "..", "", "{}", "a.b.c.d", "\u0000"])
    assert.deepEqual(await tokens.authenticate(token, [api]), { kind: "unknown" }, token);
});

test("keys are published as JWKs by which others can verify tokens", () => {
  const { tokenIssuer } = setUp();
  const { configuration, keys } = tokenIssuer.discovery("https://x/openid/v1/jwks") as {
    configuration: Record<string, unknown>;
    keys: { keys: Record<string, unknown>[] };
  };
  assert.equal(configuration.issuer, api);
  assert.deepEqual(configuration.id_token_signing_alg_values_supported, ["ES256"]);
  const [jwk] = keys.keys;
  assert.equal(jwk!.kty, "EC");
  assert.equal(jwk!.d, undefined);
});

const good = {
  "token-id": "abcdef",
  "token-secret": "0123456789abcdef",
  "usage-bootstrap-authentication": "true",
};
const groups = ["system:bootstrappers"];
const bootstrapRows: [string, Record<string, string>, string[] | undefined, object?][] = [
  ["with a valid Secret", good, groups],
  [
    "with extra groups",
    { ...good, "auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a" },
    ["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b"],
  ],
  [
    "with a group that is not for bootstrappers",
    { ...good, "auth-extra-groups": "system:masters" },
    undefined,
  ],
  ["with another token secret", { ...good, "token-secret": "0123456789abcdeX" }, undefined],
  ["with a token secret of another length", { ...good, "token-secret": "0" }, undefined],
  ["with another token ID", { ...good, "token-id": "fedcba" }, undefined],
  ["that is not for authentication", { ...good, "usage-bootstrap-authentication": "false" }, undefined],
  ["that has not expired", { ...good, expiration: "2026-01-01T00:00:01Z" }, groups],
  ["that has expired", { ...good, expiration: "2026-01-01T00:00:00Z" }, undefined],
  ["with an invalid expiration", { ...good, expiration: "soon" }, undefined],
  ["in a Secret of another type", good, undefined, { type: "Opaque" }],
  [
    "whose Secret is being deleted",
    good,
    undefined,
    {
      metadata: {
        namespace: "kube-system",
        name: "bootstrap-token-abcdef",
        deletionTimestamp: "2026-01-01T00:00:00Z",
      },
    },
  ],
];

test("a bootstrap token is valid if its secret is", async (t) => {
  for (const [name, fields, expected, more] of bootstrapRows)
    await t.test(`a token ${name} is ${expected ? "accepted" : "rejected"}`, async () => {
      const objects = new MemoryObjects();
      const data = Object.fromEntries(
        Object.entries(fields).map(([k, v]) => [k, Buffer.from(v).toString("base64")]),
      );
      objects.put("secrets", {
        metadata: { namespace: "kube-system", name: "bootstrap-token-abcdef" },
        type: "bootstrap.kubernetes.io/token",
        data,
        ...more,
      });
      const tokens = new BootstrapTokens({
        objects: () => objects,
        clock: new FakeClock(),
        audiences: [api],
      });
      const result = await tokens.authenticate("abcdef.0123456789abcdef", [api]);
      if (!expected) assert.deepEqual(result, { kind: "unknown" });
      else
        assert.deepEqual(result, {
          kind: "authenticated",
          caller: { name: "system:bootstrap:abcdef", groups: expected },
          audiences: [api],
        });
    });
});

test("a new bootstrap token is valid until it expires, and for the API server only", async () => {
  const { objects, clock, tokens: accounts } = setUp();
  const { token, secret } = bootstrapToken({ expires: new Date(epochMs(clock.wall()) + 60_000) });
  assert.match(token, /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  await objects.create("secrets", secret);
  const bootstrap = new BootstrapTokens({ objects: () => objects, clock, audiences: [api] });
  const tokens = unionTokenAuthenticator(accounts, bootstrap);
  assert.equal((await tokens.authenticate(token, [api])).kind, "authenticated");
  assert.equal((await tokens.authenticate(token, ["vault"])).kind, "unknown");
  await clock.advance(60_000);
  assert.equal((await tokens.authenticate(token, [api])).kind, "unknown");
});
