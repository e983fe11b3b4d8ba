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

/** A certificate in DER: whatever is accepted here is read the same by OpenSSL. */
export default {
  seeds: [
    fixture("kube/ca.pem"),
    fixture("kube/client-a.pem"),
    fixture("kube/server.pem"),
    fixture("probes/self-signed.pem"),
  ],
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
    // OpenSSL also counts old certificates without extensions as CAs.
    if (ours.isCa !== theirs.ca) assert.ok(!ours.isCa || !ours.usages.includes("cert sign"), "isCa");
  },
} satisfies FuzzTarget;
