import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { KubeletError } from "../errors.ts";
import { chainProblem } from "./chain-problem.ts";
import { OpensslAuthority, opensslMissing } from "./fake-authority.ts";
import { oddCertificates } from "./fixtures.ts";
import { type Certificate, parseCertificates, pem, pemBlocks } from "./x509.ts";

/** Undefined: rejected, with an error that a caller can handle. */
function read(der: Buffer): Certificate | undefined {
  try {
    return parseCertificates(pem("CERTIFICATE", der))[0];
  } catch (error) {
    assert.ok(error instanceof KubeletError, String(error));
    assert.equal(error.code, "BadRequest");
    return undefined;
  }
}

function readByOpenssl(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

describe("certificates of openssl with bytes changed, removed and repeated", { skip: opensslMissing }, () => {
  const openssl = new OpensslAuthority();
  after(() => openssl.remove());

  test("are rejected, or read as openssl reads them", () => {
    const originals = oddCertificates.map(
      ({ options }) => pemBlocks(openssl.make(options).certificate)[0]?.der ?? Buffer.alloc(0),
    );
    let rejected = 0;
    let alike = 0;
    const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
    fc.assert(
      fc.property(
        fc.constantFrom(...originals),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.record({ at: fc.nat(), length: fc.nat(20), what: fc.nat(3) }),
        (original, changes, splice) => {
          let der = Buffer.from(original);
          for (const { at, to } of changes) der[at % der.length] = to;
          const at = splice.at % der.length;
          if (splice.what === 1) der = Buffer.concat([der.subarray(0, at), der.subarray(at + splice.length)]);
          if (splice.what === 2) der = Buffer.concat([der.subarray(0, at + splice.length), der.subarray(at)]);
          const ours = read(der);
          if (!ours) rejected++;
          // The chain check returns in bounded time for any input.
          if (ours) chainProblem([ours, ours, ours]);
          const theirs = ours && readByOpenssl(der);
          if (!ours || !theirs) return;
          alike++;
          const date = theirs.validToDate.getTime();
          if (!Number.isNaN(date)) assert.equal(ours.notAfter.getTime(), date);
          if (ours.serial.length > 0 && !theirs.serialNumber.startsWith("-"))
            assert.equal(BigInt(`0x${ours.serial}`), BigInt(`0x${theirs.serialNumber}`));
        },
      ),
      { seed: 7, numRuns: 3000 },
    );
    assert.ok(rejected > 100 && alike > 100, `${rejected} rejected, ${alike} compared`);
  });
});
