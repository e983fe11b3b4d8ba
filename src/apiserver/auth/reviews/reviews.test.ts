import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { generateKey } from "../../../lib/base/x509/x509.ts";
import type { Caller, ResourceDefinition, Unstructured } from "../../definition.ts";
import { StatusError } from "../../status-error.ts";
import { FixedAuthorizer } from "../authorize/authorizer.ts";
import { NodeGraphPopulator } from "../authorize/node-graph-populator.ts";
import { admin, MemoryObjects, node } from "../fixtures.ts";
import { unionTokenAuthenticator } from "../tokens/bearer.ts";
import { BootstrapTokens } from "../tokens/bootstrap-tokens.ts";
import { ServiceAccountTokens } from "../tokens/service-account-tokens.ts";
import { TokenIssuer } from "../tokens/token-issuer.ts";
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from "./access-reviews.ts";
import { selfSubjectRulesReview } from "./rules-review.ts";
import { selfSubjectReview, tokenReview } from "./token-review.ts";

const clock = new FakeClock(Date.UTC(2026, 0, 1));
const objects = new MemoryObjects({ now: () => epochMs(clock.wall()) });
objects.put("serviceaccounts", { metadata: { namespace: "ns", name: "a", uid: "u" } });
const tokenIssuer = new TokenIssuer({ key: generateKey().privateKey });
const { audiences } = tokenIssuer;
const tokens = unionTokenAuthenticator(
  new ServiceAccountTokens({ tokenIssuer, objects: () => objects, clock }),
  new BootstrapTokens({ objects: () => objects, clock, audiences }),
);
const relations = new NodeGraphPopulator({ objects: () => objects, clock, logger: silentLogger });
const authorizer = new FixedAuthorizer({ relations });

async function review(
  definition: ResourceDefinition,
  spec: object,
  o: { caller?: Caller; metadata?: object } = {},
): Promise<Record<string, unknown>> {
  const draft: Unstructured = { metadata: { name: "", uid: "", ...o.metadata }, spec };
  return { ...(await definition.handleCreate!(draft, objects.context(o.caller ?? admin))) };
}

const issue = (to: readonly string[] = audiences) =>
  tokenIssuer.issue(
    { namespace: "ns", serviceAccount: { name: "a", uid: "u" } },
    { audiences: to, nowMs: epochMs(clock.wall()), seconds: 600 },
  );

test("a token review returns the owner of a token", async () => {
  const { kind, apiVersion, status } = await review(tokenReview({ tokens, audiences }), { token: issue() });
  assert.deepEqual([kind, apiVersion], ["TokenReview", "authentication.k8s.io/v1"]);
  const { user, ...rest } = status as { user: Record<string, unknown> };
  const { extra, ...known } = user;
  assert(extra);
  assert.deepEqual(rest, { authenticated: true, audiences });
  assert.deepEqual(known, {
    username: "system:serviceaccount:ns:a",
    uid: "u",
    groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
  });
});

test("a token review returns why a token is not valid", async (t) => {
  const rows: [string, object, string][] = [
    ["junk", { token: "junk" }, "invalid bearer token"],
    [
      "a token for another audience",
      { token: issue(["vault"]) },
      '[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]]',
    ],
    [
      "other audiences requested",
      { token: issue(), audiences: ["vault"] },
      '[invalid bearer token, token audiences ["https://kubernetes.default.svc.cluster.local"] is invalid for the target audiences ["vault"]]',
    ],
  ];
  for (const [name, spec, error] of rows)
    await t.test(name, async () => {
      const { status } = await review(tokenReview({ tokens, audiences }), spec);
      assert.deepEqual(status, { user: {}, error });
    });
  const { status } = await review(tokenReview({ tokens, audiences }), {
    token: issue(["vault", "x"]),
    audiences: ["x"],
  });
  assert.deepEqual((status as { audiences: string[] }).audiences, ["x"]);
});

const pods = { verb: "list", resource: "pods" };
const onNode = { ...pods, fieldSelector: { rawSelector: "spec.nodeName=n1" } };
const requirement = (operator: string, values: string[]) => ({
  ...pods,
  fieldSelector: { requirements: [{ key: "spec.nodeName", operator, values }] },
});
const nodes = { user: "system:node:n1", groups: ["system:nodes"] };

test("access reviews query the authorizer", async (t) => {
  const deniedByNodeAuthorizer = {
    allowed: false,
    reason: "can only list/watch pods with spec.nodeName field selector",
  };
  const rows: [
    name: string,
    definition: ResourceDefinition,
    spec: object,
    expected: { allowed: boolean; evaluationError?: string },
    more?: { caller?: Caller; metadata?: object },
  ][] = [
    [
      "a member of system:masters",
      subjectAccessReview(authorizer),
      { user: "x", groups: ["system:masters"], resourceAttributes: pods },
      { allowed: true },
    ],
    [
      "a user without permissions",
      subjectAccessReview(authorizer),
      { user: "x", resourceAttributes: pods },
      { allowed: false },
    ],
    [
      "a request for a public path",
      subjectAccessReview(authorizer),
      { groups: ["system:authenticated"], user: "x", nonResourceAttributes: { path: "/api", verb: "get" } },
      { allowed: true },
    ],
    [
      "a node that lists all pods",
      subjectAccessReview(authorizer),
      { ...nodes, resourceAttributes: pods },
      deniedByNodeAuthorizer,
    ],
    [
      "a node that lists its own pods",
      subjectAccessReview(authorizer),
      { ...nodes, resourceAttributes: onNode },
      { allowed: true },
    ],
    [
      "a node whose field selector requires its own name",
      subjectAccessReview(authorizer),
      { ...nodes, resourceAttributes: requirement("In", ["n1"]) },
      { allowed: true },
    ],
    [
      "a node whose field selector is invalid",
      subjectAccessReview(authorizer),
      { ...nodes, resourceAttributes: requirement("Exists", []) },
      {
        ...deniedByNodeAuthorizer,
        evaluationError: "spec.resourceAttributes.fieldSelector ignored due to parse error",
      },
    ],
    [
      "the caller itself",
      selfSubjectAccessReview(authorizer),
      { resourceAttributes: pods },
      { allowed: true },
    ],
    [
      "a node as the caller itself",
      selfSubjectAccessReview(authorizer),
      { resourceAttributes: pods },
      deniedByNodeAuthorizer,
      { caller: node("n1") },
    ],
    [
      "a service account in its own namespace",
      localSubjectAccessReview(authorizer),
      {
        user: "system:serviceaccount:ns:a",
        groups: ["system:serviceaccounts:ns"],
        resourceAttributes: { ...pods, namespace: "ns" },
      },
      { allowed: true },
      { metadata: { namespace: "ns" } },
    ],
  ];
  for (const [name, definition, spec, expected, more] of rows)
    await t.test(`${name} is ${expected.allowed ? "allowed" : "denied"}`, async () => {
      const result = await review(definition, spec, more);
      assert.deepEqual(result.status, expected);
      assert.deepEqual(result.spec, spec);
    });
});

test("invalid reviews are rejected", async (t) => {
  const sar = 'SubjectAccessReview.authorization.k8s.io "" is invalid: ';
  const local = 'LocalSubjectAccessReview.authorization.k8s.io "" is invalid: ';
  const rows: [string, ResourceDefinition, object, string, object?][] = [
    [
      "no token",
      tokenReview({ tokens, audiences }),
      {},
      "token is required for TokenReview in authentication",
    ],
    [
      "nothing requested",
      subjectAccessReview(authorizer),
      { user: "x" },
      `${sar}spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified`,
    ],
    [
      "unknown",
      subjectAccessReview(authorizer),
      { resourceAttributes: pods },
      `${sar}spec.user: Invalid value: "": at least one of user or group must be specified`,
    ],
    [
      "both",
      subjectAccessReview(authorizer),
      { user: "x", resourceAttributes: pods, nonResourceAttributes: { path: "/" } },
      `${sar}spec.nonResourceAttributes: Invalid value: {"path":"/"}: cannot be specified in combination with resourceAttributes`,
    ],
    [
      "a name",
      subjectAccessReview(authorizer),
      { user: "x", resourceAttributes: pods },
      `${sar}metadata: Invalid value: {"name":"n"}: must be empty`,
      { name: "n" },
    ],
    [
      "another namespace",
      localSubjectAccessReview(authorizer),
      { user: "x", resourceAttributes: { ...pods, namespace: "other" } },
      `${local}spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace`,
      { namespace: "ns" },
    ],
    [
      "an empty selector",
      subjectAccessReview(authorizer),
      { user: "x", resourceAttributes: { ...pods, fieldSelector: {} } },
      `${sar}spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required`,
    ],
    ["no namespace", selfSubjectRulesReview(), {}, "no namespace on request"],
  ];
  for (const [name, definition, spec, message, metadata] of rows)
    await t.test(name, async () => {
      const error = await review(definition, spec, metadata ? { metadata } : {}).catch(
        (thrown: unknown) => thrown,
      );
      assert(error instanceof StatusError, String(error));
      assert.equal(error.message, message);
    });
});

test("a SelfSubjectReview returns the caller", async () => {
  const result = await review(selfSubjectReview(), {}, { caller: node("n1") });
  assert.deepEqual(result.status, {
    userInfo: { username: "system:node:n1", groups: ["system:nodes", "system:authenticated"] },
  });
  assert.deepEqual(result.metadata, { creationTimestamp: "2026-01-01T00:00:00Z" });
});

test("a SelfSubjectRulesReview returns the permissions of the caller", async () => {
  const { status } = await review(selfSubjectRulesReview(), { namespace: "ns" });
  assert.deepEqual((status as { resourceRules: object[] }).resourceRules[0], {
    verbs: ["*"],
    apiGroups: ["*"],
    resources: ["*"],
  });
  const ofNode = await review(selfSubjectRulesReview(), { namespace: "ns" }, { caller: node("n1") });
  const { incomplete, evaluationError } = ofNode.status as Record<string, unknown>;
  assert.deepEqual(
    [incomplete, evaluationError],
    [true, "node authorizer does not support user rule resolution"],
  );
});
