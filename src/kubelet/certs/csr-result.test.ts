import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { test } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import { generateKey, makeRequest } from "../../lib/base/x509/x509.ts";
import { requestName } from "./bootstrap.ts";
import type { SigningRequestState } from "./certificate-api.ts";
import { csrResult, incompatibility } from "./csr-result.ts";
import { fakeAuthority, issue } from "./fake-signer.ts";

const { privateKey: key } = generateKey();
const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const request = makeRequest({ subject, key });
const state: SigningRequestState = {
  name: "csr-1",
  uid: "u1",
  request,
  signerName: "s",
  conditions: [],
  certificate: "",
};
const condition = (type: string) => ({ conditions: [{ type, reason: "R", message: "M" }] });

for (const [what, request, expected] of [
  ["is new", state, "waiting"],
  ["is approved but not signed", { ...state, ...condition("Approved") }, "waiting"],
  ["is signed but not approved", { ...state, certificate: "pem" }, "waiting"],
  ["is approved and signed", { ...state, ...condition("Approved"), certificate: "pem" }, "pem"],
  [
    "is denied",
    { ...state, ...condition("Denied") },
    "certificate signing request is denied, reason: R, message: M",
  ],
  [
    "has failed",
    { ...state, ...condition("Failed"), certificate: "pem" },
    "certificate signing request failed, reason: R, message: M",
  ],
  ["is gone", undefined, 'csr "csr-1" was deleted'],
  ["is another one of the same name", { ...state, uid: "u2" }, 'csr "csr-1" changed UIDs'],
] as const) {
  test(`a request that ${what}`, () => {
    const result = csrResult(request, state);
    const outcome = { waiting: "waiting", issued: "", failed: "" }[result.kind];
    const text =
      result.kind === "issued"
        ? result.certificate
        : result.kind === "failed"
          ? result.error.message
          : outcome;
    assert.equal(text, expected);
  });
}

const requested = { request, signerName: "s", usages: [] };
const now = Date.UTC(2026, 5, 1);
const certificate = (until: number) => issue(fakeAuthority(), request, [], { from: 0, until });
for (const [what, found, expected] of [
  ["the same request", state, undefined],
  ["one with a certificate", { ...state, certificate: certificate(now + 1000) }, undefined],
  [
    "one whose certificate has expired",
    { ...state, certificate: certificate(now - 1000) },
    "one of the certificates for the CSR has expired",
  ],
  [
    "one for another name",
    { ...state, request: makeRequest({ subject: { ...subject, commonName: "x" }, key }) },
    "csr subjects differ",
  ],
  ["one for another signer", { ...state, signerName: "t" }, "csr signerNames differ"],
  [
    "one with another key",
    { ...state, request: makeRequest({ subject, key: generateKey().privateKey }) },
    "it is for another key",
  ],
  ["junk", { ...state, request: "junk" }, "PEM block type must be CERTIFICATE REQUEST"],
] as const) {
  test(`${what} ${expected ? "cannot" : "can"} be reused`, () => {
    assert.equal(incompatibility(found, requested, key, wallTime(now)), expected);
  });
}

test("the name of a request is the one that kubelets make of key, subject and usages", () => {
  const pem = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAGhRANCAARrF9Hy4SxCR/i85uVjpEDydwN9gS3r
M6D0oTlF2JjClk/jQuL+Gn+bjufrSnwPnhYrzjNXazFezsu2QGg3v1H1
-----END PRIVATE KEY-----`;
  const publicKey = createPublicKey(createPrivateKey(pem));
  const name = requestName(publicKey, subject, ["digital signature", "client auth"]);
  assert.equal(name, "node-csr-ZAK5k7jaDenZEG-dy61F8D3gFX4vUqfMLVTvaJKpRuw");
});
