import assert from "node:assert/strict";
import { parseCertificates } from "../../../src/lib/base/x509/parse-certificates.ts";
import { pem, pemBlocks } from "../../../src/lib/base/x509/pem.ts";
import { parseRequest } from "../../../src/lib/base/x509/request.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** "s" and the DER of a certificate signing request, or PEM text. */
export default {
  seeds: [
    pem("CERTIFICATE", Buffer.from("300a", "hex")),
    `# text\n${pem("CERTIFICATE REQUEST", Buffer.from("3003020100", "hex"))}`,
    "-----BEGIN A-----\nAAAA\n-----END A-----\n-----BEGIN B-----\nAA==\n-----END B-----\n",
    Buffer.concat([Buffer.from("s"), Buffer.from("3003020100", "hex")]),
  ],
  dictionary: ["-----BEGIN CERTIFICATE REQUEST-----\n", "-----END CERTIFICATE REQUEST-----\n", "-----", "\n"],
  maxLength: 1200,
  run(input) {
    if (input[0] === 115) {
      const text = pem("CERTIFICATE REQUEST", input.subarray(1));
      assert.ok(pemBlocks(text).every(({ der }) => der.equals(input.subarray(1))));
      const request = accepted(() => parseRequest(text));
      if (request === undefined) return;
      assert.deepEqual(accepted(() => parseRequest(text))?.subject, request.subject);
      return;
    }
    const text = input.toString("latin1");
    const blocks = pemBlocks(text);
    let from = 0;
    for (const { label, der, text: own } of blocks) {
      // In order, not overlapping, and each of them alone is the same block.
      const at = text.indexOf(own.trimEnd(), from);
      assert.ok(at >= from);
      from = at + own.length - 1;
      assert.deepEqual(
        pemBlocks(own).map((block) => [block.label, block.der.toString("hex")]),
        [[label, der.toString("hex")]],
      );
    }
    accepted(() => parseCertificates(text));
    accepted(() => parseRequest(text));
  },
} satisfies FuzzTarget;
