import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../../lib/base/time.ts";
import { credentialHash, type TrackedCredential } from "../tracked-credential.ts";
import { withAccess } from "./merge-access.ts";
import { type AccessDecision, accessFrom, checkAccess, podCredentials } from "./pod-access.ts";
import type { ImagePullCredentials, ImagePullSecret, PulledRecord } from "./pull-record.ts";
import { verificationPolicy } from "./verification-policy.ts";

const secret = (name: string, hash: string, uid = "u"): ImagePullSecret => ({
  uid,
  namespace: "ns",
  name,
  credentialHash: hash,
});
const account = (name: string, uid = "u") => ({ uid, namespace: "ns", name });
const many = Array.from({ length: 100 }, (_, i) => secret(`s${i}`, `h${i}`));

const checks: [
  rule: string,
  access: ImagePullCredentials,
  secrets: ImagePullSecret[],
  robot: string,
  failure: AccessDecision,
][] = [
  ["every pod may use it", { nodePodsAccessible: true }, [], "", { allowed: true }],
  ["no access is recorded", {}, [secret("a", "1")], "robot", { allowed: false }],
  ["the pod has no credentials", { kubernetesSecrets: [secret("a", "1")] }, [], "", { allowed: false }],
  [
    "the pod has the same secret",
    { kubernetesSecrets: [secret("a", "1")] },
    [secret("a", "1")],
    "",
    { allowed: true },
  ],
  [
    "the pod has the same secret with a new credential, which is recorded",
    { kubernetesSecrets: [secret("a", "1")] },
    [secret("a", "2")],
    "",
    { allowed: true, newSecret: secret("a", "2") },
  ],
  [
    "the pod has the same credential in another secret, which is recorded",
    { kubernetesSecrets: [secret("a", "1")] },
    [secret("b", "1")],
    "",
    { allowed: true, newSecret: secret("b", "1") },
  ],
  [
    "the pod has another secret",
    { kubernetesSecrets: [secret("a", "1")] },
    [secret("b", "2")],
    "",
    { allowed: false },
  ],
  [
    "the pod has a secret of the same name with another UID",
    { kubernetesSecrets: [secret("a", "1")] },
    [secret("a", "2", "other")],
    "",
    { allowed: false },
  ],
  [
    "a credential that could not be hashed does not match",
    { kubernetesSecrets: [secret("a", "")] },
    [secret("b", "")],
    "",
    { allowed: false },
  ],
  [
    "the pod has one of several recorded secrets",
    { kubernetesSecrets: [secret("a", "1"), secret("b", "2")] },
    [secret("x", "9"), secret("b", "2")],
    "",
    { allowed: true },
  ],
  [
    "the pod has the same credential, which is not recorded beyond 100 secrets",
    { kubernetesSecrets: many },
    [secret("x", "h7")],
    "",
    { allowed: true },
  ],
  [
    "the pod has the same secret, which is not recorded beyond 100 secrets",
    { kubernetesSecrets: many },
    [secret("s7", "new")],
    "",
    { allowed: false },
  ],
  [
    "the pod has the same service account",
    { kubernetesServiceAccounts: [account("robot")] },
    [],
    "robot",
    { allowed: true },
  ],
  [
    "the pod has another service account",
    { kubernetesServiceAccounts: [account("robot")] },
    [],
    "other",
    { allowed: false },
  ],
  [
    "the pod has an account of the same name with another UID",
    { kubernetesServiceAccounts: [account("robot", "old")] },
    [],
    "robot",
    { allowed: false },
  ],
];
for (const [rule, access, secrets, robot, expected] of checks)
  test(`a pod ${expected.allowed ? "may" : "may not"} use an image: ${rule}`, () => {
    const serviceAccount = robot ? account(robot) : undefined;
    assert.deepEqual(checkAccess(access, { secrets, serviceAccount }), expected);
  });

const tracked = (kind: "secret" | "serviceAccount" | undefined, name: string): TrackedCredential => ({
  username: "u",
  password: "p",
  ...(kind && { source: { kind, uid: "u", namespace: "ns", name } }),
});
const hash = credentialHash({ username: "u", password: "p" });

test("the credentials of a pod are those of its secrets and one service account", () => {
  const all = [
    tracked("secret", "a"),
    tracked(undefined, ""),
    tracked("serviceAccount", "r"),
    tracked("serviceAccount", "q"),
  ];
  assert.deepEqual(podCredentials(all), { secrets: [secret("a", hash)], serviceAccount: account("r") });
});

const origins: [rule: string, credential: TrackedCredential | undefined, access: ImagePullCredentials][] = [
  ["without a credential", undefined, { nodePodsAccessible: true }],
  ["with the node's credential", tracked(undefined, ""), { nodePodsAccessible: true }],
  ["with a secret", tracked("secret", "a"), { kubernetesSecrets: [secret("a", hash)] }],
  ["with a service account", tracked("serviceAccount", "r"), { kubernetesServiceAccounts: [account("r")] }],
];
for (const [rule, credential, access] of origins)
  test(`access to an image that was pulled ${rule}`, () => assert.deepEqual(accessFrom(credential), access));

const merges: [
  rule: string,
  before: ImagePullCredentials | undefined,
  more: ImagePullCredentials,
  after: ImagePullCredentials | "same",
][] = [
  [
    "a new name is added",
    undefined,
    { kubernetesSecrets: [secret("a", "1")] },
    { kubernetesSecrets: [secret("a", "1")] },
  ],
  ["nothing changes if there is nothing to add", undefined, {}, "same"],
  [
    "nothing changes if it is already recorded",
    { kubernetesSecrets: [secret("a", "1")] },
    { kubernetesSecrets: [secret("a", "1")] },
    "same",
  ],
  [
    "nothing changes if every pod has access",
    { nodePodsAccessible: true },
    { kubernetesSecrets: [secret("a", "1")] },
    "same",
  ],
  [
    "access of every pod replaces others",
    { kubernetesSecrets: [secret("a", "1")] },
    { nodePodsAccessible: true },
    { nodePodsAccessible: true },
  ],
  [
    "another secret is added in order",
    { kubernetesSecrets: [secret("b", "1")] },
    { kubernetesSecrets: [secret("a", "2")] },
    { kubernetesSecrets: [secret("a", "2"), secret("b", "1")] },
  ],
  [
    "a new credential replaces the old one",
    { kubernetesSecrets: [secret("a", "1")] },
    { kubernetesSecrets: [secret("a", "2")] },
    { kubernetesSecrets: [secret("a", "2")] },
  ],
  [
    "an account is added to a secret",
    { kubernetesSecrets: [secret("a", "1")] },
    { kubernetesServiceAccounts: [account("r")] },
    { kubernetesSecrets: [secret("a", "1")], kubernetesServiceAccounts: [account("r")] },
  ],
  [
    "a known account is not added again",
    { kubernetesServiceAccounts: [account("r")] },
    { kubernetesServiceAccounts: [account("r")] },
    "same",
  ],
];
for (const [rule, before, more, after] of merges)
  test(`additional access to an image: ${rule}`, () => {
    const record: PulledRecord = {
      updatedAt: wallTime(1),
      imageRef: "r",
      access: new Map<string, ImagePullCredentials>([
        ["other", {}],
        ...(before ? ([["x", before]] as const) : []),
      ]),
    };
    const result = withAccess(record, "x", more, wallTime(2));
    if (after === "same") assert.equal(result, record);
    else {
      assert.deepEqual(result.access.get("x"), after);
      assert.deepEqual([result.updatedAt, result.access.has("other")], [2, true]);
    }
  });

const policies: [policy: string, allowlist: string[], image: string, pulled: boolean, verify: boolean][] = [
  ["NeverVerify", [], "r.io/a", true, false],
  ["NeverVerifyPreloadedImages", [], "r.io/a", false, false],
  ["NeverVerifyPreloadedImages", [], "r.io/a", true, true],
  ["AlwaysVerify", [], "r.io/a", false, true],
  ["NeverVerifyAllowlistedImages", ["r.io/a"], "r.io/a:1", true, false],
  ["NeverVerifyAllowlistedImages", ["r.io/a"], `r.io/a:1@sha256:${"0".repeat(64)}`, false, false],
  ["NeverVerifyAllowlistedImages", ["r.io/a"], "r.io/ab", false, true],
  ["NeverVerifyAllowlistedImages", ["r.io/team/*"], "r.io/team/x/y:1", false, false],
  ["NeverVerifyAllowlistedImages", ["r.io/team/*"], "r.io/teams/x", false, true],
  ["NeverVerifyAllowlistedImages", ["r.io/*"], "r.io:5000/x", false, true],
  ["NeverVerifyAllowlistedImages", [], "r.io/a", false, true],
];
// parity: field imagePullCredentialsVerificationPolicy as policy, field preloadedImagesVerificationAllowlist as policy
for (const [policy, allowlist, image, pulled, verify] of policies)
  test(`${policy} [${allowlist}]: ${image}, ${pulled ? "pulled" : "preloaded"}: ${verify ? "verified" : "not verified"}`, () =>
    assert.equal(verificationPolicy(policy, allowlist)(image, pulled), verify));

test("an unknown policy is rejected", () => {
  assert.throws(
    () => verificationPolicy("Sometimes", []),
    /unknown image pull credential verification policy: Sometimes/,
  );
});
