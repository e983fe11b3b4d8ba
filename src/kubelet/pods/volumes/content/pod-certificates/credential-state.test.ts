import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plusMs, type WallTime, wallTime } from "../../../../../lib/base/time.ts";
import { pem } from "../../../../../lib/base/x509/pem.ts";
import {
  type CertificateRequest,
  type CredentialState,
  type CredentialStep,
  credentialLabel,
  credentialOf,
  nextCredentialStep,
} from "./credential-state.ts";

const start = wallTime("2026-01-01T00:00:00Z");
const minutes = (n: number): WallTime => plusMs(start, n * 60_000);
const pending = { privateKey: "key\n", name: "req-1", abandonAt: minutes(10) };
const chain = pem("CERTIFICATE", Buffer.from("leaf"));
const issued = (reported = { overdue: false, expired: false }) =>
  ({
    kind: "issued",
    credential: {
      privateKey: "old\n",
      certificateChain: chain,
      refreshAt: minutes(60),
      notAfter: minutes(90),
      reported,
    },
  }) as const;
const request = (type?: string, over: Partial<CertificateRequest> = {}): CertificateRequest => ({
  conditions: type === undefined ? [] : [{ type, reason: "Why", message: 'as "is"' }],
  certificateChain: "",
  beginRefreshAt: minutes(60),
  notAfter: minutes(90),
  ...over,
});
const event = (reason: string, message: string) => ({ reason, message });
const overdue = event("CertificateOverdueForRefresh", "PodCertificate refresh overdue");
const expired = event("CertificateExpired", "PodCertificate expired");
const details = 'reason="Why", message="as \\"is\\""';

interface Row {
  rule: string;
  state: CredentialState;
  request?: CertificateRequest;
  at?: number;
  is: Partial<CredentialStep>;
}

const rows: Row[] = [
  { rule: "a volume without a certificate requests one", state: { kind: "none" }, is: { creates: true } },
  {
    rule: "a request that the watch does not have yet is awaited",
    state: { kind: "none", pending },
    at: 10,
    is: {},
  },
  {
    rule: "a request that is missing for a long time is sent again",
    state: { kind: "none", pending },
    at: 11,
    is: { state: { kind: "none", pending: undefined }, creates: true },
  },
  {
    rule: "a request without a result is awaited, however long it takes",
    state: { kind: "none", pending },
    request: request(),
    at: 1000,
    is: {},
  },
  {
    rule: "other conditions are not a result",
    state: { kind: "none", pending },
    request: request("Approved"),
    is: {},
  },
  {
    rule: "a denied request is final",
    state: { kind: "none", pending },
    request: request("Denied"),
    is: {
      state: { kind: "denied", reason: "Why", message: 'as "is"' },
      events: [event("Denied", `PodCertificateRequest ns/req-1 was denied, ${details}`)],
      isNew: true,
    },
  },
  {
    rule: "a failed request is final",
    state: { kind: "none", pending },
    request: request("Failed"),
    is: {
      state: { kind: "failed", reason: "Why", message: 'as "is"' },
      events: [event("Failed", `PodCertificateRequest ns/req-1 failed, ${details}`)],
      isNew: true,
    },
  },
  {
    rule: "an issued certificate is used with its key, without comments, and renewed after some jitter",
    state: { kind: "none", pending },
    request: request("Issued", { certificateChain: `# leaf\n${chain}` }),
    is: {
      state: {
        kind: "issued",
        credential: {
          privateKey: "key\n",
          certificateChain: chain,
          refreshAt: minutes(62),
          notAfter: minutes(90),
          reported: { overdue: false, expired: false },
        },
      },
      isNew: true,
    },
  },
  {
    rule: "nothing changes after a denied request",
    state: { kind: "denied", reason: "", message: "" },
    at: 1000,
    is: {},
  },
  { rule: "a certificate is kept before its renewal", state: issued(), at: 59, is: {} },
  { rule: "a certificate is renewed when it is time", state: issued(), at: 60, is: { creates: true } },
  {
    rule: "a late renewal is reported once",
    state: issued(),
    at: 71,
    is: { state: issued({ overdue: true, expired: false }), events: [overdue], creates: true },
  },
  {
    rule: "an expired certificate is reported once",
    state: { ...issued({ overdue: true, expired: false }), pending },
    request: request(),
    at: 91,
    is: { state: { ...issued({ overdue: true, expired: true }), pending }, events: [expired] },
  },
  {
    rule: "what was reported is not reported again",
    state: { ...issued({ overdue: true, expired: true }), pending },
    request: request(),
    at: 95,
    is: {},
  },
  {
    rule: "a renewed certificate replaces the previous one, with its own key",
    state: { ...issued({ overdue: true, expired: true }), pending },
    request: request("Issued", {
      certificateChain: chain,
      beginRefreshAt: minutes(160),
      notAfter: minutes(190),
    }),
    at: 95,
    is: {
      state: {
        kind: "issued",
        credential: {
          privateKey: "key\n",
          certificateChain: chain,
          refreshAt: minutes(162),
          notAfter: minutes(190),
          reported: { overdue: false, expired: false },
        },
      },
      isNew: true,
    },
  },
  {
    rule: "a renewal request that was deleted is sent again, and the certificate kept",
    state: { ...issued(), pending },
    at: 61,
    is: { state: { ...issued(), pending: undefined }, creates: true },
  },
  {
    rule: "a certificate without a time of renewal is kept",
    state: { kind: "issued", credential: { ...issued().credential, refreshAt: wallTime("never") } },
    at: 1000,
    is: {},
  },
];

describe("the credential of a pod", () => {
  for (const { rule, state, request: found, at = 5, is } of rows)
    it(rule, () => {
      const step = nextCredentialStep(state, {
        namespace: "ns",
        find: (name) => (name === "req-1" ? found : undefined),
        now: minutes(at),
        jitterMs: 2 * 60_000,
      });
      assert.deepEqual(step, { state, events: [], creates: false, isNew: false, ...is });
    });

  for (const [state, at, label] of [
    [{ kind: "none", pending }, 5, "not_yet_issued"],
    [{ kind: "denied", reason: "", message: "" }, 5, "denied"],
    [{ kind: "failed", reason: "", message: "" }, 5, "failed"],
    [issued(), 70, "fresh"],
    [issued(), 71, "overdue_for_refresh"],
    [issued(), 91, "expired"],
  ] as const)
    it(`the metric names it ${label}`, () => assert.equal(credentialLabel(state, minutes(at)), label));

  it("files are written while there is a certificate, and the error names why there is none", () => {
    assert.equal(credentialOf({ ...issued(), pending }).privateKey, "old\n");
    assert.throws(() => credentialOf({ kind: "none", pending }), {
      message: "credential bundle is not issued yet",
    });
    assert.throws(() => credentialOf({ kind: "denied", reason: "Why", message: "m" }), {
      message: 'PodCertificateRequest was permanently denied: reason="Why" message="m"',
    });
    assert.throws(() => credentialOf({ kind: "failed", reason: "Why", message: "m" }), {
      message: 'PodCertificateRequest was permanently failed: reason="Why" message="m"',
    });
  });
});
