import assert from "node:assert/strict";
import { createPrivateKey, type KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import { pem } from "../../../../../lib/base/x509/pem.ts";
import { parseRequest, samePublicKey } from "../../../../../lib/base/x509/x509.ts";
import { newCertificateKey } from "./certificate-key.ts";

const bits = ({ asymmetricKeyDetails: d }: KeyObject) => d?.modulusLength ?? d?.namedCurve ?? "";

describe("keys of pod certificates", () => {
  for (const [kind, type, size] of [
    ["RSA3072", "rsa", 3072],
    ["RSA4096", "rsa", 4096],
    ["ECDSAP256", "ec", "prime256v1"],
    ["ECDSAP384", "ec", "secp384r1"],
    ["ECDSAP521", "ec", "secp521r1"],
    ["ED25519", "ed25519", ""],
  ] as const)
    it(`${kind} is a PKCS #8 key with an empty request that it has signed`, async () => {
      const { privateKey, request } = await newCertificateKey(kind);
      assert.match(privateKey, /^-----BEGIN PRIVATE KEY-----\n/);
      const key = createPrivateKey(privateKey);
      assert.deepEqual([key.asymmetricKeyType, bits(key)], [type, size]);
      const parsed = parseRequest(pem("CERTIFICATE REQUEST", request));
      assert.ok(parsed.signatureValid);
      assert.ok(samePublicKey(parsed.publicKey, key));
      assert.deepEqual(parsed.subject, { commonName: "", organizations: [] });
      assert.deepEqual([parsed.dnsNames, parsed.ipAddresses], [[], []]);
    });
  it("another kind is an error", () =>
    assert.rejects(newCertificateKey("DSA1024"), {
      message: 'while generating keypair: unknown key type "DSA1024"',
    }));
});
