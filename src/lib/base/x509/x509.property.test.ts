import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KubeletError } from "../errors.ts";
import { ipBytes, ipText } from "./ip-bytes.ts";
import {
  generateKey,
  makeRequest,
  parseCertificates,
  parseRequest,
  pem,
  pemBlocks,
  signCertificate,
} from "./x509.ts";

const { privateKey: key, publicKey } = generateKey();
const seed = 1;
const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 70 });
const subject = fc.record(
  { commonName: name, organizations: fc.array(name, { maxLength: 4 }) },
  { noNullPrototype: true },
);
const dnsNames = fc.uniqueArray(fc.domain(), { maxLength: 5 });
const ipAddresses = fc
  .array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 5 })
  .map((list) => list.map((address) => ipText(ipBytes(address)!)!));
const second = (min: string, max: string) =>
  fc
    .date({ min: new Date(min), max: new Date(max), noInvalidDate: true })
    .map((date) => new Date(Math.floor(date.getTime() / 1000) * 1000));

test("a request contains its inputs", () => {
  fc.assert(
    fc.property(subject, dnsNames, ipAddresses, (subject, dnsNames, ipAddresses) => {
      const parsed = parseRequest(makeRequest({ subject, dnsNames, ipAddresses, key }));
      assert.deepEqual(parsed.subject, subject);
      assert.deepEqual([parsed.dnsNames, parsed.ipAddresses], [dnsNames, ipAddresses]);
      assert.ok(parsed.signatureValid && parsed.publicKey.equals(publicKey));
    }),
    { seed, numRuns: 100 },
  );
});

test("a certificate contains its inputs, regardless of the year", () => {
  const usages = fc.subarray(["digital signature", "cert sign", "server auth", "client auth"] as const);
  const times = [second("1900-01-01", "9999-12-31"), second("1900-01-01", "9999-12-31")] as const;
  fc.assert(
    fc.property(subject, dnsNames, ipAddresses, ...times, usages, fc.boolean(), (...given) => {
      const [subject, dnsNames, ipAddresses, notBefore, notAfter, usages, isCa] = given;
      const fields = { subject, dnsNames, ipAddresses, notBefore, notAfter, usages, isCa };
      const [parsed] = parseCertificates(signCertificate({ ...fields, issuer: "self", publicKey, key }));
      assert.deepEqual({ ...parsed, ...fields }, parsed);
      assert.deepEqual(parsed?.issuer, subject);
    }),
    { seed, numRuns: 100 },
  );
});

test("addresses keep their value and have one form", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const text = ipText(Buffer.from(bytes))!;
      const back = ipBytes(text)!;
      assert.equal(ipText(back) ?? "", back.length === 16 ? text : ipText(back));
      if (back.length === 16) assert.deepEqual(back, Buffer.from(bytes));
    }),
    { seed },
  );
});

/** Runs a parser on random input: it may only succeed or throw a KubeletError. */
function rejectsOrParses(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof KubeletError, String(error));
    assert.equal(error.code, "BadRequest");
  }
}

function parseBoth(der: Uint8Array): void {
  rejectsOrParses(() => parseRequest(pem("CERTIFICATE REQUEST", der)));
  rejectsOrParses(() => parseCertificates(pem("CERTIFICATE", der)));
}

test("random bytes are rejected with a KubeletError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => parseBoth(bytes)),
    { seed, numRuns: 1000 },
  );
});

test("requests and certificates with a few bytes changed, removed or repeated are parsed, or rejected with a KubeletError", () => {
  const subject = { commonName: "system:node:a", organizations: ["system:nodes"] };
  const sans = { dnsNames: ["a"], ipAddresses: ["1.2.3.4"] };
  const dates = { notBefore: new Date(0), notAfter: new Date(1e12), usages: ["client auth"] as const };
  const seeds = [
    makeRequest({ subject, ...sans, key }),
    signCertificate({ subject, ...sans, ...dates, issuer: "self", publicKey, key, isCa: true }),
  ].map((text) => pemBlocks(text)[0]!.der);
  const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
  const splice = fc.record({ at: fc.nat(), length: fc.nat(20) });
  fc.assert(
    fc.property(
      fc.constantFrom(...seeds),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      splice,
      fc.nat(2),
      (original, changes, splice, what) => {
        let der = Buffer.from(original);
        for (const { at, to } of changes) der[at % der.length] = to;
        const at = splice.at % der.length;
        if (what === 1) der = Buffer.concat([der.subarray(0, at), der.subarray(at + splice.length)]);
        if (what === 2) der = Buffer.concat([der.subarray(0, at + splice.length), der.subarray(at)]);
        parseBoth(der);
      },
    ),
    { seed, numRuns: 3000 },
  );
});

test("text that looks like PEM is read in linear time", () => {
  const pieces = ["-----BEGIN ", "-----END ", "CERTIFICATE", "-----", "\n", "A", "=", "\r\n"];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (parts) => {
      rejectsOrParses(() => parseCertificates(parts.join("")));
      rejectsOrParses(() => parseRequest(parts.join("")));
    }),
    { seed, numRuns: 500 },
  );
  for (const piece of [
    "-----BEGIN A-----\n",
    "-----BEGIN ",
    "\n-----END A-----",
    "-----BEGIN A-----\nAAAA\n",
  ]) {
    assert.deepEqual(pemBlocks(piece.repeat(200_000)), []);
  }
});
