import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { readCertificate } from "../../../src/lib/base/x509/parse-certificates.ts";
import { pemBlocks } from "../../../src/lib/base/x509/pem.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const fixture = (name: string) => {
  const text = readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), "utf8");
  return pemBlocks(text)[0]?.der ?? assert.fail(`no certificate in ${name}`);
};

const seeds = [
  fixture("kube/ca.pem"),
  fixture("kube/client-a.pem"),
  fixture("kube/server.pem"),
  fixture("probes/self-signed.pem"),
];

/** The object identifiers of extensions that are not used here: authorityKeyIdentifier, cRLDistributionPoints and certificatePolicies. */
const unused = ["551d23", "551d1f", "551d20"].map((oid) => Buffer.from(oid, "hex"));

/** Whether the certificate has such an extension that none of the seeds has. It may be malformed. */
function hasOtherUnused(input: Buffer): boolean {
  return unused.some((oid) => {
    const known = seeds.map((seed) => extensionIn(seed, oid)).filter((extension) => extension.length > 0);
    return input.includes(oid) && !known.some((extension) => input.includes(extension));
  });
}

function extensionIn(certificate: Buffer, oid: Buffer): Buffer {
  const at = certificate.indexOf(oid);
  if (at < 0) return Buffer.alloc(0);
  const header = at + oid.length + 2;
  return certificate.subarray(at, header + (certificate[header - 1] ?? 0));
}

/** A certificate in DER: if this parser accepts it, OpenSSL reads the same values from it. */
export default {
  seeds,
  maxLength: 1500,
  run(input) {
    const ours = accepted(() => readCertificate({ label: "CERTIFICATE", der: input, text: "" }));
    if (ours === undefined) return;
    let theirs: X509Certificate;
    try {
      theirs = new X509Certificate(input);
    } catch (error) {
      assert.fail(`OpenSSL rejects what is accepted here: ${String(error)}`);
    }
    const negative = theirs.serialNumber.startsWith("-");
    if (!negative) assert.equal(ours.serial.replace(/^(00)+(?=.)/, ""), theirs.serialNumber);
    const times = [theirs.validFromDate, theirs.validToDate];
    assert.deepEqual([ours.notBefore, ours.notAfter].map(Number), times.map(Number));
    assert.ok(ours.publicKey.equals(theirs.publicKey));
    // OpenSSL also counts old certificates without extensions as CAs, and none that has a malformed extension.
    if (ours.isCa !== theirs.ca)
      assert.ok(!ours.isCa || !ours.usages.includes("cert sign") || hasOtherUnused(input), "isCa");
  },
} satisfies FuzzTarget;
