import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  generateKey,
  makeRequest,
  parseCertificates,
  parseRequest,
  pem,
  pemBlocks,
  privateKeyPem,
  signCertificate,
} from "./x509.ts";

const haveOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = haveOpenssl ? false : "openssl is not installed";
const notBefore = new Date("2026-01-02T03:04:05Z");
const notAfter = new Date("2056-01-02T03:04:05Z");
const node = { commonName: "system:node:w1", organizations: ["system:nodes"] };

function keys(type: string): { privateKey: KeyObject; publicKey: KeyObject } {
  if (type === "rsa") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  if (type === "ed25519") return generateKeyPairSync("ed25519");
  return type === "P-256" ? generateKey() : generateKeyPairSync("ec", { namedCurve: type });
}

function authority(type: string) {
  const { privateKey, publicKey } = keys(type);
  const certificate = signCertificate({
    subject: { commonName: "test-ca", organizations: [] },
    issuer: "self",
    publicKey,
    key: privateKey,
    notBefore,
    notAfter,
    isCa: true,
    usages: ["cert sign", "digital signature"],
  });
  return { certificate, key: privateKey };
}

describe("compatibility with openssl", { skip }, () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), "x509-"));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  function file(name: string, text: string): string {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  }
  function openssl(...args: string[]): string {
    const run = spawnSync("openssl", args, { encoding: "utf8", timeout: 30_000 });
    assert.equal(run.status, 0, `openssl ${args.join(" ")}: ${run.stderr}`);
    return run.stdout + run.stderr;
  }

  for (const type of ["P-256", "P-384", "rsa", "ed25519"]) {
    test(`openssl accepts requests and certificates with a key of type ${type}`, () => {
      const ca = authority(type);
      const { privateKey, publicKey } = keys(type);
      const names = { dnsNames: ["w1", "w1.example"], ipAddresses: ["10.0.0.7", "fd00::7"] };
      const request = file("r.csr", makeRequest({ subject: node, ...names, key: privateKey }));
      const shown = openssl("req", "-verify", "-noout", "-text", "-in", request);
      assert.match(shown, /verify OK/);
      assert.match(shown, /O = system:nodes, CN = system:node:w1/);
      assert.match(shown, /DNS:w1, DNS:w1.example, IP Address:10.0.0.7, IP Address:FD00:0:0:0:0:0:0:7/);

      const leaf = signCertificate({
        subject: node,
        issuer: ca,
        publicKey,
        ...names,
        notBefore,
        notAfter,
        usages: ["digital signature", "key encipherment", "server auth", "client auth"],
      });
      const caFile = file("ca.pem", ca.certificate);
      const leafFile = file("leaf.pem", leaf);
      for (const purpose of ["sslserver", "sslclient"]) {
        openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", caFile, leafFile);
      }
      const text = openssl("x509", "-noout", "-text", "-in", leafFile);
      assert.match(text, /Key Usage: critical\s+Digital Signature, Key Encipherment/);
      assert.match(
        text,
        /Extended Key Usage: *\s+TLS Web Server Authentication, TLS Web Client Authentication/,
      );
      assert.match(text, /Basic Constraints: critical\s+CA:FALSE/);
      assert.match(text, /Not Before: Jan {2}2 03:04:05 2026 GMT\s+Not After : Jan {2}2 03:04:05 2056 GMT/);
      const keyFile = file("key.pem", privateKeyPem(privateKey));
      assert.equal(
        openssl("pkey", "-in", keyFile, "-pubout"),
        openssl("x509", "-in", leafFile, "-noout", "-pubkey"),
      );
    });
  }

  for (const [rule, args] of [
    ["RSA", ["-newkey", "rsa:2048"]],
    ["Ed25519", ["-newkey", "ed25519"]],
    ["EC", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-sha384"]],
  ] as const) {
    test(`requests and certificates created by openssl with ${rule} keys are read`, () => {
      const common = [...args, "-nodes", "-keyout", join(dir, "k.pem"), "-subj", "/C=DE/O=a+O=b/CN=Jürgen"];
      const san = ["-utf8", "-addext", "subjectAltName=DNS:x,IP:1.2.3.4,email:a@b,URI:spiffe://x"];
      openssl("req", "-new", ...common, ...san, "-out", join(dir, "o.csr"));
      openssl("req", "-x509", ...common, ...san, "-days", "3", "-out", join(dir, "o.pem"));
      const request = parseRequest(read(join(dir, "o.csr")));
      assert.deepEqual(request.subject, { commonName: "Jürgen", organizations: ["a", "b"] });
      assert.deepEqual([request.dnsNames, request.ipAddresses], [["x"], ["1.2.3.4"]]);
      assert.deepEqual([request.emails, request.uris], [["a@b"], ["spiffe://x"]]);
      assert.equal(request.signatureValid, true);
      const text = read(join(dir, "o.pem"));
      const [certificate] = parseCertificates(text);
      const known = new X509Certificate(text);
      assert.equal(certificate?.serial, known.serialNumber);
      assert.equal(certificate?.notAfter.getTime(), Date.parse(known.validTo));
      assert.equal(certificate?.notBefore.getTime(), Date.parse(known.validFrom));
      assert.equal(certificate?.isCa, true);
      assert.ok(certificate?.publicKey.equals(known.publicKey));
    });
  }

  const read = (path: string) => openssl("enc", "-in", path, "-none");
});

test("a certificate signed by a CA contains the requested fields", () => {
  const ca = authority("P-256");
  const { publicKey } = generateKey();
  const usages = ["digital signature", "client auth"] as const;
  const text = signCertificate({ subject: node, issuer: ca, publicKey, notBefore, notAfter, usages });
  const [certificate, ...others] = parseCertificates(`noise\n${privateKeyPem(ca.key)}${text}`);
  assert.equal(others.length, 0);
  assert.deepEqual(certificate?.subject, node);
  assert.deepEqual(certificate?.issuer, { commonName: "test-ca", organizations: [] });
  assert.deepEqual(certificate?.usages, usages);
  assert.deepEqual([certificate?.notBefore, certificate?.notAfter], [notBefore, notAfter]);
  assert.equal(certificate?.isCa, false);
  assert.equal(certificate?.pem, text);
  assert.ok(certificate?.publicKey.equals(publicKey));
  assert.ok(new X509Certificate(text).verify(new X509Certificate(ca.certificate).publicKey));
  assert.ok(new X509Certificate(text).checkIssued(new X509Certificate(ca.certificate)));
});

test("a key is written in the form of its type", () => {
  assert.match(privateKeyPem(generateKey().privateKey), /^-----BEGIN EC PRIVATE KEY-----/);
  assert.match(privateKeyPem(keys("rsa").privateKey), /^-----BEGIN RSA PRIVATE KEY-----/);
  assert.match(privateKeyPem(keys("ed25519").privateKey), /^-----BEGIN PRIVATE KEY-----/);
});

test("an issuer with another key does not sign", () => {
  const issuer = { certificate: authority("P-256").certificate, key: generateKey().privateKey };
  const { publicKey } = generateKey();
  const sign = () => signCertificate({ subject: node, issuer, publicKey, notBefore, notAfter, usages: [] });
  assert.throws(sign, { code: "InvalidKey" });
});

test("a request signed with another key is not valid", () => {
  const request = makeRequest({ subject: node, key: generateKey().privateKey });
  const other = makeRequest({ subject: node, key: generateKey().privateKey });
  const der = (text: string) => Buffer.from(text.split("\n").slice(1, -2).join(""), "base64");
  // The signature (with its lengths) is all that follows the algorithm's name.
  const algorithm = Buffer.from("2a8648ce3d040302", "hex");
  const mixed = Buffer.concat([
    der(request).subarray(2, der(request).lastIndexOf(algorithm)),
    der(other).subarray(der(other).lastIndexOf(algorithm)),
  ]);
  assert.equal(der(request)[1]! & 0x80, 0x80); // length in 81 xx
  const body = mixed.subarray(1);
  const whole = Buffer.concat([Buffer.from([0x30, 0x81, body.length]), body]);
  const text = `-----BEGIN CERTIFICATE REQUEST-----\n${whole.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  assert.equal(parseRequest(text).signatureValid, false);
  assert.equal(parseRequest(request).signatureValid, true);
});

for (const [rule, text] of [
  ["nothing", ""],
  ["a certificate", authority("P-256").certificate],
  ["no DER", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"],
  ["a block that does not end", makeRequest({ subject: node, key: generateKey().privateKey }).slice(0, -20)],
] as const) {
  test(`${rule} is not a certificate request`, () => {
    assert.throws(() => parseRequest(text), { name: "KubeletError", code: "BadRequest" });
  });
}

test("an invalid name or address cannot be requested", () => {
  const key = generateKey().privateKey;
  for (const names of [{ ipAddresses: ["1.2.3"] }, { ipAddresses: ["fe80::1%eth0"] }, { dnsNames: ["ü"] }]) {
    assert.throws(() => makeRequest({ subject: node, ...names, key }), { code: "BadRequest" });
  }
});

describe("a certificate", () => {
  const certificate = authority("P-256").certificate;
  const der = pemBlocks(certificate)[0]!.der;
  /** The certificate with these bytes (as hex digits) replaced with others of the same length: the first such bytes, or the last. */
  const changed = (from: string, to: string, last = false) => {
    const at = last ? der.lastIndexOf(from, undefined, "hex") : der.indexOf(from, 0, "hex");
    assert.ok(at >= 0, `no ${from}`);
    const bytes = Buffer.from(der);
    Buffer.from(to, "hex").copy(bytes, at);
    return pem("CERTIFICATE", bytes);
  };
  for (const [rule, text] of [
    [
      "whose signature has another algorithm than it names",
      changed("2a8648ce3d040302", "2a8648ce3d040303", true),
    ],
    ["with an object identifier whose last number is incomplete", changed("0603551d0e", "0603551d8e")],
    ["with an object identifier that is not the shortest", changed("0603551d0e", "060355801d")],
    [
      "with an authority key identifier that is not a sequence",
      changed("0603551d23041830", "0603551d23041831"),
    ],
  ] as const)
    test(`${rule} is rejected`, () =>
      assert.throws(() => parseCertificates(text), { name: "KubeletError", code: "BadRequest" }));
});
