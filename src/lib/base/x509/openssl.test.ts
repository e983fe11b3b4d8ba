import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { OpensslAuthority, opensslMissing } from "./fake-authority.ts";
import { oddCertificates } from "./fixtures.ts";
import { ipBytes } from "./ip-bytes.ts";
import { type Certificate, makeRequest, parseCertificates, parseRequest, signCertificate } from "./x509.ts";

const times = { notBefore: new Date("1960-02-29T23:59:59Z"), notAfter: new Date("2100-01-02T03:04:05Z") };
const keyTypes: Readonly<Record<string, () => { privateKey: KeyObject; publicKey: KeyObject }>> = {
  "P-256": () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  "P-384": () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  "P-521": () => generateKeyPairSync("ec", { namedCurve: "P-521" }),
  "RSA 2048": () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  "RSA 3072": () => generateKeyPairSync("rsa", { modulusLength: 3072 }),
  Ed25519: () => generateKeyPairSync("ed25519"),
};
const subjects = [
  { commonName: "system:node:w1", organizations: ["system:nodes"] },
  { commonName: "", organizations: [] },
  { commonName: 'a, b=c+d "e" <f>; #g \\h/i', organizations: ["Größe", "日本", "🚢", "x".repeat(64)] },
];
const names = {
  dnsNames: ["w1", "w1.example", "*.example"],
  ipAddresses: ["10.0.0.7", "fd00::7", "::1", "2001:db8:1:2:3:4:5:6"],
};
const namesText =
  "DNS:w1, DNS:w1.example, DNS:*.example, IP Address:10.0.0.7, IP Address:FD00:0:0:0:0:0:0:7, IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:1:2:3:4:5:6";

describe("compatibility with openssl", { skip: opensslMissing, timeout: 300_000 }, () => {
  const openssl = new OpensslAuthority();
  after(() => openssl.remove());

  for (const [type, generate] of Object.entries(keyTypes))
    test(`openssl verifies requests and a chain of three with keys of type ${type}`, () => {
      const authority = (commonName: string, issuer?: { certificate: string; key: KeyObject }) => {
        const { privateKey, publicKey } = generate();
        const certificate = signCertificate({
          subject: { commonName, organizations: [] },
          publicKey,
          key: privateKey,
          ...times,
          issuer: issuer ?? "self",
          isCa: true,
          usages: ["cert sign", "crl sign"],
        });
        return { certificate, key: privateKey };
      };
      const root = authority("root");
      const intermediate = authority("intermediate", root);
      const rootFile = openssl.file("root.pem", root.certificate);
      const intermediateFile = openssl.file("intermediate.pem", intermediate.certificate);
      for (const subject of subjects) {
        const { privateKey, publicKey } = generate();
        const request = openssl.file("r.csr", makeRequest({ subject, ...names, key: privateKey }));
        const shown = openssl.run("req", "-verify", "-noout", "-text", "-in", request);
        assert.match(shown, /verify OK/);
        assert.ok(shown.includes(namesText), shown);
        const leaf = signCertificate({
          subject,
          issuer: intermediate,
          publicKey,
          ...names,
          ...times,
          usages: ["digital signature", "key encipherment", "server auth", "client auth"],
        });
        const leafFile = openssl.file("leaf.pem", leaf);
        for (const purpose of ["sslserver", "sslclient"]) {
          const chain = ["-CAfile", rootFile, "-untrusted", intermediateFile];
          openssl.run("verify", "-x509_strict", "-purpose", purpose, ...chain, leafFile);
        }
        const text = openssl.run("x509", "-noout", "-text", "-in", leafFile);
        assert.match(text, /Not Before: Feb 29 23:59:59 1960 GMT\s+Not After : Jan {2}2 03:04:05 2100 GMT/);
        assert.ok(text.includes(namesText), text);
        // RFC 5280, 4.2.1.6: the alternative names of a certificate without a subject are critical.
        assert.equal(/Subject Alternative Name: critical/.test(text), subject.commonName === "");
        const legacy = new X509Certificate(leaf).toLegacyObject().subject as Record<string, unknown>;
        assert.deepEqual([legacy?.O ?? []].flat(), subject.organizations);
        assert.equal(legacy?.CN ?? "", subject.commonName);
        assertAlike(leaf);
      }
    });

  for (const { name, options } of oddCertificates)
    test(`a certificate created by openssl is read as openssl reads it: ${name}`, () => {
      assertAlike(openssl.make(options).certificate);
    });

  test("a request created by openssl is read as openssl reads it", () => {
    const names = "subjectAltName=DNS:a,IP:1.2.3.4,IP:fd00::1,email:a@b,URI:spiffe://x,RID:1.2.3,dirName:d";
    const config = openssl.file(
      "req.cnf",
      `[req]\ndistinguished_name=n\nreq_extensions=e\nattributes=a\nprompt=no\n[n]\nO=o\nCN=c\n[a]\nchallengePassword=secret-phrase\n[e]\nbasicConstraints=CA:FALSE\n${names}\n[d]\nCN=other\n`,
    );
    for (const [key, digest] of [
      ["rsa:2048", "-sha512"],
      ["ed25519", "-sha256"],
    ] as const) {
      const out = join(openssl.dir, "odd.csr");
      const flags = ["-newkey", key, digest, "-nodes", "-keyout", join(openssl.dir, "odd.key"), "-out", out];
      openssl.run("req", "-new", "-config", config, ...flags);
      const request = parseRequest(readFileSync(out, "utf8"));
      assert.deepEqual(request.subject, { commonName: "c", organizations: ["o"] });
      assert.deepEqual(request.dnsNames, ["a"]);
      assert.deepEqual(request.ipAddresses, ["1.2.3.4", "fd00::1"]);
      assert.deepEqual([request.emails, request.uris], [["a@b"], ["spiffe://x"]]);
      assert.equal(request.signatureValid, true);
    }
  });
});

const oids: Readonly<Record<string, string>> = {
  "1.3.6.1.5.5.7.3.1": "server auth",
  "1.3.6.1.5.5.7.3.2": "client auth",
  "1.3.6.1.5.5.7.3.3": "code signing",
  "1.3.6.1.5.5.7.3.4": "email protection",
  "1.3.6.1.5.5.7.3.8": "timestamping",
  "1.3.6.1.5.5.7.3.9": "ocsp signing",
  "2.5.29.37.0": "any",
};

/** We read a certificate as OpenSSL does, which Node.js exposes. */
function assertAlike(text: string): void {
  const [ours] = parseCertificates(text);
  const theirs = new X509Certificate(text);
  assert.ok(ours);
  // Of zero, `openssl x509 -serial` shows two digits and Node.js one.
  assert.equal(ours.serial, theirs.serialNumber === "0" ? "00" : theirs.serialNumber);
  assert.equal(ours.notBefore.getTime(), theirs.validFromDate.getTime());
  assert.equal(ours.notAfter.getTime(), theirs.validToDate.getTime());
  assert.equal(ours.isCa, theirs.ca);
  assert.ok(ours.publicKey.equals(theirs.publicKey));
  const extended = (theirs.keyUsage as readonly string[] | undefined)?.flatMap((oid) => oids[oid] ?? []);
  assert.deepEqual(
    ours.usages.filter((usage) => Object.values(oids).includes(usage)),
    extended ?? [],
  );
  // Creating a legacy object for a key on a curve without a NIST name crashes Node.js 24.
  const named = ["prime256v1", "secp384r1", "secp521r1", undefined];
  if (named.includes(theirs.publicKey.asymmetricKeyDetails?.namedCurve))
    for (const side of ["subject", "issuer"] as const) {
      const legacy = theirs.toLegacyObject()[side] as unknown as
        | Record<string, string | string[]>
        | undefined;
      assert.deepEqual(ours[side].organizations, [legacy?.O ?? []].flat());
      assert.equal(ours[side].commonName, [legacy?.CN ?? ""].flat().at(-1));
    }
  assert.deepEqual(namesOf(ours), namesIn(theirs.subjectAltName ?? ""));
}

const hex = (address: string) => ipBytes(address)?.toString("hex");

const sorted = (list: readonly string[]) => list.toSorted((a, b) => (a < b ? -1 : 1));

function namesOf({ dnsNames, ipAddresses, emails, uris }: Certificate): string[] {
  return sorted([
    ...dnsNames.map((name) => `DNS:${name}`),
    ...ipAddresses.map((address) => `IP:${hex(address)}`),
    ...emails.map((name) => `email:${name}`),
    ...uris.map((name) => `URI:${name}`),
  ]);
}

function namesIn(text: string): string[] {
  const entries = text.split(", ").flatMap((entry) => {
    const [, kind, value = ""] = /^(DNS|IP Address|email|URI):(.*)$/.exec(entry) ?? [];
    if (!kind) return [];
    return [kind === "IP Address" ? `IP:${hex(value)}` : `${kind}:${value}`];
  });
  return sorted(entries);
}
