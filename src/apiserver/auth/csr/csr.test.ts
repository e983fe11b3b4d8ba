import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { generateKey, makeRequest, parseCertificates, signCertificate } from "../../../lib/base/x509/x509.ts";
import type { CertificateSigningRequestCondition } from "../../../lib/gen/kubernetes/certificates.d.ts";
import type { Caller, Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { FixedAuthorizer } from "../authorize/authorizer.ts";
import { NodeGraphPopulator } from "../authorize/node-graph-populator.ts";
import { admin, eventually, MemoryObjects, node } from "../fixtures.ts";
import { CsrApprover } from "./approver.ts";
import { isStale } from "./cleaner.ts";
import { certificateOf, conditionsOf, isTrue } from "./conditions.ts";
import { certificateSigningRequests } from "./definition.ts";
import { validityPeriod } from "./plan-signing.ts";
import { CsrSigner } from "./signer.ts";
import { clientSigner, csrResource, kubeletClientSigner, kubeletServingSigner } from "./signers.ts";

const key = generateKey().privateKey;
const day = 24 * 3600_000;
const start = Date.UTC(2026, 0, 1);
const ownNames = {
  serviceAddress: "10.96.0.1",
  endpoints: ["api-host", "192.0.2.1"],
  localNodes: ["api-host"],
};
const rules = { lifetimeMs: 365 * day, minimumSeconds: 600, ownNames };

interface RequestFields {
  commonName?: string;
  organizations?: string[];
  dnsNames?: string[];
  ipAddresses?: string[];
  signer?: string;
  usages?: string[];
  expirationSeconds?: number;
}

function spec(o: RequestFields = {}): object {
  const pem = makeRequest({
    subject: {
      commonName: o.commonName ?? "system:node:n1",
      organizations: o.organizations ?? ["system:nodes"],
    },
    dnsNames: o.dnsNames ?? [],
    ipAddresses: o.ipAddresses ?? [],
    key,
  });
  return {
    request: Buffer.from(pem).toString("base64"),
    signerName: o.signer ?? kubeletClientSigner,
    usages: o.usages ?? ["digital signature", "client auth"],
    ...(o.expirationSeconds !== undefined && { expirationSeconds: o.expirationSeconds }),
  };
}
const serving = (more: RequestFields = {}): RequestFields => ({
  signer: kubeletServingSigner,
  usages: ["digital signature", "server auth"],
  dnsNames: ["n1"],
  ipAddresses: ["192.0.2.7"],
  ...more,
});

function authority(now = start) {
  const pair = generateKey();
  const notAfter = new Date(now + 3650 * day);
  const certificate = signCertificate({
    subject: { commonName: "ca", organizations: [] },
    issuer: "self",
    key: pair.privateKey,
    publicKey: pair.publicKey,
    notBefore: new Date(now),
    notAfter,
    isCa: true,
    usages: ["cert sign"],
  });
  return { certificate, key: pair.privateKey, notAfter };
}

function setUp() {
  const clock = new FakeClock(start);
  const objects = new MemoryObjects({
    definitions: { [csrResource]: certificateSigningRequests() },
    now: () => epochMs(clock.wall()),
  });
  const parts = { objects: () => objects, clock, logger: silentLogger };
  const authorizer = new FixedAuthorizer({ relations: new NodeGraphPopulator(parts) });
  const ca = authority();
  const approver = new CsrApprover({ ...parts, authorizer, ownNames });
  const signer = new CsrSigner({ ...parts, ca, rules });
  const stop = new AbortController();
  const post = (caller: Caller, requested: RequestFields, name = "r") =>
    objects.create(csrResource, { metadata: { name }, spec: spec(requested) } as never, caller);
  const get = (name = "r") => objects.get({ resource: csrResource, namespace: "", name });
  const outcome = (name = "r") =>
    eventually("the request is approved or failed", async () => {
      const request = await get(name);
      return request && (certificateOf(request) || isTrue(request, "Failed")) ? request : undefined;
    });
  const approve = (name = "r") =>
    objects.change(
      { resource: csrResource, namespace: "", name },
      (draft) => {
        draft.status = {
          ...draft.status,
          conditions: [{ type: "Approved", status: "True", reason: "KubectlApprove" }],
        };
      },
      { subresource: "approval" },
    );
  const rig = { clock, objects, ca, post, get, outcome, approve };
  const run = async (what: (parts: typeof rig) => Promise<void>) => {
    await Promise.all([approver.start(stop.signal), signer.start(stop.signal)]);
    try {
      await what(rig);
    } finally {
      stop.abort();
      await Promise.all([approver.done, signer.done]);
    }
  };
  return { ...rig, run };
}

const bootstrapper: Caller = {
  name: "system:bootstrap:abcdef",
  groups: ["system:bootstrappers", "system:authenticated"],
  extra: { k: ["v"] },
};
const registered = (addresses: string[]) => ({
  metadata: { name: "n1" },
  status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
});

test("a kubelet that joins gets its certificate, and renews it itself", async () => {
  await setUp().run(async ({ post, outcome, ca }) => {
    for (const [name, caller, message] of [
      ["join", bootstrapper, "Auto approving kubelet client certificate after SubjectAccessReview."],
      ["renew", node("n1"), "Auto approving self kubelet client certificate after SubjectAccessReview."],
    ] as const) {
      await post(caller, {}, name);
      const request = await outcome(name);
      const [approved] = conditionsOf(request);
      assert.deepEqual([approved?.reason, approved?.message], ["AutoApproved", message]);
      assert.equal(approved?.lastUpdateTime, "2026-01-01T00:00:00Z");
      const pem = Buffer.from(certificateOf(request), "base64").toString();
      const [certificate] = parseCertificates(pem);
      assert.deepEqual(certificate?.subject, {
        commonName: "system:node:n1",
        organizations: ["system:nodes"],
      });
      assert.deepEqual(certificate.usages, ["digital signature", "client auth"]);
      assert.equal(certificate.notBefore.getTime(), start - 300_000);
      assert.equal(certificate.notAfter.getTime(), start + 365 * day - 300_000);
      assert.equal(certificate.isCa, false);
      assert(new X509Certificate(pem).verify(new X509Certificate(ca.certificate).publicKey));
    }
  });
});

test("the requester is recorded by the API, regardless of what the request contains", async () => {
  const { objects, get } = setUp();
  const forged = {
    ...spec(),
    username: "system:node:n1",
    uid: "x",
    groups: ["system:masters"],
    extra: { a: ["b"] },
  };
  const status = { certificate: "eA==", conditions: [{ type: "Approved", status: "True" }] };
  await objects.create(csrResource, { metadata: { name: "r" }, spec: forged, status } as never, bootstrapper);
  const request = await get();
  const { username, uid, groups, extra } = request!.spec as Record<string, unknown>;
  assert.deepEqual(
    { username, uid, groups, extra },
    { username: bootstrapper.name, uid: undefined, groups: [...bootstrapper.groups], extra: { k: ["v"] } },
  );
  assert.deepEqual(request!.status, {});
});

test("a serving certificate waits until its names and addresses are those of the node", async () => {
  await setUp().run(async ({ objects, post, get, outcome }) => {
    await post(node("n1"), serving({ ipAddresses: ["192.0.2.7", "2001:db8::1"] }));
    objects.put("nodes", registered(["192.0.2.8"]));
    objects.put("nodes", registered(["192.0.2.7"]));
    await eventually("the request is still pending", async () => true);
    assert.deepEqual(conditionsOf((await get())!), []);
    objects.put("nodes", registered(["192.0.2.7", "2001:0db8:0:0::1"]));
    const request = await outcome();
    const [certificate] = parseCertificates(Buffer.from(certificateOf(request), "base64").toString());
    assert.deepEqual(certificate?.dnsNames, ["n1"]);
    assert.equal(certificate.ipAddresses.length, 2);
    assert(certificate.usages.includes("server auth"));
  });
});

/** These are for manual approval. */
const left: [string, Caller, RequestFields][] = [
  ["another user requests a node's certificate", { name: "jane", groups: ["system:authenticated"] }, {}],
  ["a service account too", { name: "system:serviceaccount:ns:a", groups: ["system:serviceaccounts"] }, {}],
  ["one node requests the certificate of another", node("n2"), {}],
  ["a user's certificate", admin, { signer: clientSigner, commonName: "jane", organizations: [] }],
  ["a serving certificate requested by another node", node("n2"), serving()],
  ["a serving certificate requested by a bootstrapper", bootstrapper, serving()],
  ["a client certificate with names", bootstrapper, { dnsNames: ["n1"] }],
  ["another signer", node("n1"), { signer: "example.com/signer" }],
];

test("requests that are not for kubelets are left to manual approval", async (t) => {
  for (const [name, caller, requested] of left)
    await t.test(name, async () => {
      await setUp().run(async ({ objects, post, get, outcome }) => {
        objects.put("nodes", registered(["192.0.2.7"]));
        await post(caller, requested);
        await post(bootstrapper, {}, "after");
        await outcome("after");
        assert.deepEqual(conditionsOf((await get())!), []);
      });
    });
});

/** Signed if there is no message; "" if it is ignored. */
const approvedRows: [string, RequestFields, string?][] = [
  [
    "a request for a client certificate",
    { signer: clientSigner, commonName: "jane", organizations: ["dev"], dnsNames: ["x"] },
  ],
  [
    "a request for a client certificate with another usage",
    { signer: clientSigner, usages: ["client auth", "server auth"] },
    "invalid usage for client certificate: server auth",
  ],
  [
    "a request for a client certificate without its usage",
    { signer: clientSigner, usages: ["digital signature"] },
    "missing required usage for client certificate: client auth",
  ],
  [
    "a kubelet's request with another organization",
    { organizations: ["system:masters"] },
    "subject organization is not system:nodes",
  ],
  [
    "a kubelet's request with two organizations",
    { organizations: ["system:nodes", "x"] },
    "subject organization is not system:nodes",
  ],
  [
    "a kubelet's request for a client certificate with DNS names",
    { dnsNames: ["x"] },
    "DNS subjectAltNames are not allowed",
  ],
  [
    "a kubelet's request for a client certificate with IP addresses",
    { ipAddresses: ["::1"] },
    "IP subjectAltNames are not allowed",
  ],
  [
    "a kubelet's request without a node name",
    { commonName: "jane" },
    "subject common name does not begin with system:node:",
  ],
  [
    "a kubelet's request with the usages of an RSA key",
    { usages: ["digital signature", "key encipherment", "client auth"] },
  ],
  [
    "a kubelet's request with other usages",
    { usages: ["client auth"] },
    "usages did not match [client auth digital signature key encipherment]",
  ],
  [
    "a request for a serving certificate without names",
    serving({ dnsNames: [], ipAddresses: [] }),
    "DNS or IP subjectAltName is required",
  ],
  [
    "a request for a serving certificate with client usages",
    serving({ usages: ["digital signature", "client auth"] }),
    "usages did not match [digital signature key encipherment server auth]",
  ],
  [
    "a request for a serving certificate without a node name",
    serving({ commonName: "jane" }),
    "subject common name does not begin with system:node:",
  ],
  ["a request to another signer", { signer: "example.com/signer" }, ""],
];

function outcomeOf(problem: string | undefined): string {
  if (problem === undefined) return "is signed";
  return problem === "" ? "is ignored" : "fails";
}

test("an approved request is signed if it meets the signer's requirements, and fails if not", async (t) => {
  for (const [name, requested, problem] of approvedRows)
    await t.test(`${name} ${outcomeOf(problem)}`, async () => {
      await setUp().run(async ({ post, approve, get, outcome }) => {
        await post(admin, requested);
        await approve();
        if (problem === "") {
          await post(bootstrapper, {}, "after");
          await outcome("after");
          assert.equal(certificateOf((await get())!), "");
          return;
        }
        const request = await outcome();
        const failure = conditionsOf(request).find(({ type }) => type === "Failed");
        assert.deepEqual(
          [failure?.reason, failure?.message],
          problem === undefined ? [undefined, undefined] : ["SignerValidationFailure", problem],
        );
        assert.equal(certificateOf(request) !== "", problem === undefined);
      });
    });
});

for (const [name, dnsNames, ipAddresses, commonName = "system:node:n1"] of [
  ...[
    "kubernetes",
    "Kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
  ].map((each) => [each, [each], []] as const),
  ...[
    "localhost",
    "x.localhost",
    "api-host",
    "kubernetes.default.svc.",
    "*.default.svc",
    "*",
    "127.0.0.1",
  ].map((each) => [each, [each], []] as const),
  ...["10.96.0.1", "127.0.0.1", "127.8.9.1", "::1", "::ffff:10.96.0.1", "192.0.2.1", "0.0.0.0"].map(
    (each) => [each, [], [each]] as const,
  ),
  ["one among the node's own", ["n1", "kubernetes"], ["192.0.2.7"]],
  ["the service, by the node of this machine,", ["kubernetes"], [], "system:node:api-host"],
] as const satisfies (readonly [string, readonly string[], readonly string[], string?])[])
  test(`no serving certificate is signed for a name of the API server: ${name}`, async () => {
    await setUp().run(async ({ objects, post, approve, get, outcome }) => {
      const nodeName = commonName.slice("system:node:".length);
      // The node claims it.
      objects.put("nodes", {
        ...registered([...dnsNames, ...ipAddresses, "192.0.2.7"]),
        metadata: { name: nodeName },
      });
      const requested = serving({ dnsNames: [...dnsNames], ipAddresses: [...ipAddresses], commonName });
      await post(node(nodeName), requested);
      await post(bootstrapper, {}, "after");
      await outcome("after");
      assert.deepEqual(conditionsOf((await get())!), []);
      await approve();
      const request = await outcome();
      assert.equal(certificateOf(request), "");
      const failure = conditionsOf(request).find(({ type }) => type === "Failed");
      assert.match(failure?.message ?? "", /^names or addresses of the API server: /);
    });
  });

test("the node of the API server's machine gets a serving certificate for its names and addresses", async () => {
  await setUp().run(async ({ objects, post, outcome }) => {
    objects.put("nodes", { ...registered(["192.0.2.1"]), metadata: { name: "api-host" } });
    const commonName = "system:node:api-host";
    await post(node("api-host"), serving({ dnsNames: ["api-host"], ipAddresses: ["192.0.2.1"], commonName }));
    assert.notEqual(certificateOf(await outcome()), "");
  });
});

test("a failed write is retried", async () => {
  await setUp().run(async ({ objects, post, clock, get, outcome }) => {
    objects.failures = 1;
    await post(bootstrapper, {});
    await eventually("the write has failed", async () => (objects.failures === 0 ? true : undefined));
    assert.equal(isTrue((await get())!, "Approved"), false);
    await clock.advance(1000);
    assert.notEqual(certificateOf(await outcome()), "");
  });
});

test("a certificate has the requested lifetime, within the limits", async (t) => {
  const minute = 60_000;
  const rules = { lifetimeMs: 365 * day, minimumSeconds: 600 };
  const far = start + 3650 * day;
  const rows: [string, number | undefined, typeof rules, number, number, number][] = [
    ["no lifetime requested", undefined, rules, far, -5 * minute, 365 * day - 5 * minute],
    ["a shorter lifetime requested", 24 * 3600, rules, far, -5 * minute, day - 5 * minute],
    ["a longer lifetime requested", 1000 * 24 * 3600, rules, far, -5 * minute, 365 * day - 5 * minute],
    ["a short lifetime is not shortened", 3600, rules, far, -5 * minute, 3600_000],
    ["the CA expires first", undefined, rules, start + day, -5 * minute, day],
    ["a maximum of one minute", undefined, { lifetimeMs: minute, minimumSeconds: 60 }, far, -6000, minute],
    ["a minute requested", 60, { lifetimeMs: day, minimumSeconds: 60 }, far, -6000, minute],
  ];
  for (const [name, requested, rules, caEnd, from, to] of rows)
    await t.test(name, () => {
      assert.deepEqual(validityPeriod(requested, rules, start, caEnd), {
        from: start + from,
        to: start + to,
      });
    });
  assert.equal(validityPeriod(undefined, rules, start, start), undefined);
});

test("invalid requests are rejected", async (t) => {
  const prefix = 'CertificateSigningRequest.certificates.k8s.io "r" is invalid: ';
  const label =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  const rows: [string, object, string][] = [
    [
      "no request",
      { request: "" },
      'spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST',
    ],
    ["no usages", { usages: [] }, "spec.usages: Required value"],
    ["a usage twice", { usages: ["any", "any"] }, 'spec.usages[1]: Duplicate value: "any"'],
    ["no signer", { signerName: "" }, "spec.signerName: Required value"],
    [
      "a signer without domain",
      { signerName: "x" },
      `spec.signerName: Invalid value: "x": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    ],
    [
      "a signer with a short domain",
      { signerName: "x/y" },
      'spec.signerName: Invalid value: "x": should be a domain with at least two segments separated by dots',
    ],
    [
      "a signer with a bad domain",
      { signerName: "X.y/z" },
      `spec.signerName: Invalid value: "X.y": validating label "X": ${label}`,
    ],
    [
      "the legacy signer",
      { signerName: "kubernetes.io/legacy-unknown" },
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
    [
      "too short a lifetime",
      { expirationSeconds: 599 },
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
  ];
  for (const [name, more, message] of rows)
    await t.test(name, async () => {
      const { objects } = setUp();
      const draft = { metadata: { name: "r" }, spec: { ...spec(), ...more } };
      await assert.rejects(objects.create(csrResource, draft as never), { message: prefix + message });
    });
  const { objects } = setUp();
  const draft = { metadata: { name: "r" }, spec: { ...spec(), usages: ["web"] } };
  await assert.rejects(objects.create(csrResource, draft as never), {
    message: /spec\.usages\[0\]: Unsupported value: "web": supported values: "any", "cert sign", /,
  });
});

test("a request with an invalid signature is rejected", async () => {
  const { objects } = setUp();
  const { request, ...rest } = spec() as { request: string };
  const text = Buffer.from(request, "base64").toString();
  const der = Buffer.from(text.replace(/-----.*-----|\n/g, ""), "base64");
  der[der.length - 1]! ^= 1;
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  const draft = { metadata: { name: "r" }, spec: { ...rest, request: Buffer.from(pem).toString("base64") } };
  await assert.rejects(objects.create(csrResource, draft as never), {
    message: /signature of the request is not valid/,
  });
});

test("a lifetime of a minute may be requested if the rules allow it", () => {
  const definition = certificateSigningRequests({ minimumSeconds: 60 });
  const draft: Unstructured = { metadata: { name: "r", uid: "" }, spec: spec({ expirationSeconds: 60 }) };
  assert.deepEqual(definition.validate?.(draft, new MemoryObjects().context(admin)), []);
});

const approved: CertificateSigningRequestCondition = {
  type: "Approved",
  status: "True",
  reason: "x",
  lastUpdateTime: "t",
  lastTransitionTime: "t",
};
const denied: CertificateSigningRequestCondition = { ...approved, type: "Denied" };
const pem = Buffer.from(authority().certificate).toString("base64");
const other = Buffer.from(authority().certificate).toString("base64");

test("the approval subresource changes approvals, the status subresource the certificate", async (t) => {
  const rows: [string, "status" | "approval", object, object, string | object][] = [
    ["an approval is stored", "approval", {}, { conditions: [approved] }, { conditions: [approved] }],
    [
      "an approval does not set the certificate",
      "approval",
      {},
      { conditions: [approved], certificate: pem },
      { conditions: [approved] },
    ],
    [
      "an approval together with a denial is rejected",
      "approval",
      {},
      { conditions: [approved, denied] },
      'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
    ],
    [
      "the removal of an approval is rejected",
      "approval",
      { conditions: [approved] },
      { conditions: [] },
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ],
    [
      "an approval with status False is rejected",
      "approval",
      {},
      { conditions: [{ ...approved, status: "False" }] },
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    ],
    [
      "a certificate is stored",
      "status",
      { conditions: [approved] },
      { conditions: [approved], certificate: pem },
      { conditions: [approved], certificate: pem },
    ],
    [
      "a status update does not change an approval",
      "status",
      { conditions: [approved] },
      { conditions: [{ ...approved, reason: "y" }], certificate: pem },
      { conditions: [approved], certificate: pem },
    ],
    [
      "an approval by a status update is rejected",
      "status",
      {},
      { conditions: [approved] },
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ],
    [
      "a second certificate is rejected",
      "status",
      { certificate: pem },
      { certificate: other },
      "status.certificate: Forbidden: updates may not modify existing certificate content",
    ],
    [
      "an invalid certificate is rejected",
      "status",
      {},
      { certificate: "eA==" },
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    ],
  ];
  for (const [name, through, before, now, expected] of rows)
    await t.test(name, () => {
      const subresource = certificateSigningRequests().subresources![through]!;
      assert(subresource.type === "update");
      const context = new MemoryObjects({ now: () => start }).context(admin);
      const whole = (status: object) => ({
        metadata: { name: "r", uid: "u" },
        spec: spec(),
        status: structuredClone(status),
      });
      const old: ApiObject = whole(before);
      const draft: Unstructured = { ...whole(now), spec: { changed: true } };
      subresource.prepareUpdate(draft, old, context);
      assert.deepEqual(draft.spec, old.spec);
      const problems = subresource.validateUpdate!(draft, old, context).map(
        ({ path, message }) => `${path}: ${message}`,
      );
      if (typeof expected === "string") assert.deepEqual(problems, [expected]);
      else assert.deepEqual([problems, draft.status], [[], expected]);
    });
});

test("an update of the request itself changes nothing but metadata", () => {
  const definition = certificateSigningRequests();
  const context = new MemoryObjects().context(admin);
  const before: ApiObject = { metadata: { name: "r", uid: "u" }, spec: spec(), status: {} };
  const draft = {
    metadata: { name: "r", uid: "u", labels: { a: "b" } },
    spec: { username: "me" },
    status: { certificate: pem },
  } as Unstructured;
  void definition.prepareUpdate?.(draft, before, context);
  assert.deepEqual([draft.spec, draft.status, draft.metadata.labels], [before.spec, {}, { a: "b" }]);
  assert.deepEqual(definition.validateUpdate?.(draft, before, context), []);
});

test("decided requests are deleted after an hour, pending ones after a day", async (t) => {
  const ago = (hours: number) => new Date(start - hours * 3600_000).toISOString();
  const decided = (type: string, hours: number) => ({
    conditions: [{ type, status: "True", lastUpdateTime: ago(hours) }],
  });
  const rows: [string, number, object, boolean][] = [
    ["is pending for 23 hours", 23, {}, false],
    ["is pending for 25 hours", 25, {}, true],
    ["was approved less than an hour ago", 25, decided("Approved", 0.9), false],
    ["was approved over an hour ago", 2, decided("Approved", 1.1), true],
    ["was denied over an hour ago", 2, decided("Denied", 1.1), true],
    ["failed over an hour ago", 2, decided("Failed", 1.1), true],
    ["was approved and has a valid certificate", 1, { ...decided("Approved", 0.5), certificate: pem }, false],
  ];
  for (const [name, age, status, expected] of rows)
    await t.test(`a request that ${name} is ${expected ? "deleted" : "kept"}`, () => {
      const request = { metadata: { name: "r", uid: "u", creationTimestamp: ago(age) }, status };
      assert.equal(isStale(request as ApiObject, start), expected);
    });
  const recent = {
    conditions: [{ type: "Approved", status: "True", lastUpdateTime: ago(-4000 * 24) }],
    certificate: pem,
  };
  const request = { metadata: { name: "r", uid: "u", creationTimestamp: ago(0) }, status: recent };
  assert.equal(isStale(request as ApiObject, start + 3651 * day), true);
});
