import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { chainProblem } from "./chain-problem.ts";
import { bitString, contextTag, element, octetString, sequence, setOf, TAG, time } from "./der.ts";
import { parseCertificates, pem } from "./x509.ts";

const hex = (text: string) => Buffer.from(text, "hex");
const oid = (digits: string) => element(TAG.oid, hex(digits));
const ecdsaSha256 = sequence(oid("2a8648ce3d040302"));
const spkiOf = (key: { publicKey: { export(o: { format: "der"; type: "spki" }): Buffer } }) =>
  key.publicKey.export({ format: "der", type: "spki" });
const p256 = spkiOf(generateKeyPairSync("ec", { namedCurve: "P-256" }));
const commonName = (value: Buffer, type = oid("550403")) => sequence(setOf([sequence(type, value)]));
const plainName = commonName(element(TAG.utf8String, Buffer.from("user")));
const extension = (id: string, value: Buffer, critical?: number) =>
  sequence(
    oid(id),
    ...(critical === undefined ? [] : [element(TAG.boolean, Buffer.of(critical))]),
    octetString(value),
  );

/** A certificate whose parts can be anything; its signature is not. */
function make(o: {
  version?: Buffer;
  serial?: Buffer;
  algorithm?: Buffer;
  inner?: Buffer;
  name?: Buffer;
  afterValidity?: Buffer;
  spki?: Buffer;
  extensions?: readonly Buffer[];
  afterExtensions?: Buffer;
}) {
  const none = Buffer.alloc(0);
  const { algorithm = ecdsaSha256, extensions = [], afterValidity = none, afterExtensions = none } = o;
  const body = sequence(
    element(contextTag(0, true), o.version ?? element(TAG.integer, Buffer.of(2))),
    o.serial ?? element(TAG.integer, Buffer.of(1)),
    o.inner ?? algorithm,
    plainName,
    sequence(time(new Date(0)), time(new Date(1e12)), afterValidity),
    o.name ?? plainName,
    o.spki ?? p256,
    ...(extensions.length > 0
      ? [element(contextTag(3, true), sequence(...extensions), afterExtensions)]
      : []),
  );
  return pem("CERTIFICATE", sequence(body, algorithm, bitString(Buffer.of(0))));
}
const read = (o: Parameters<typeof make>[0]) => parseCertificates(make(o))[0]!;
const ca = (...more: readonly Buffer[]) => ({
  extensions: [extension("551d13", sequence(element(TAG.boolean, Buffer.of(0xff)))), ...more],
});
const constraints = (...lists: readonly Buffer[]) => ca(extension("551d1e", sequence(...lists)));
const dns = (text: string) => element(contextTag(2, false), Buffer.from(text));
const excluded = (...names: readonly Buffer[]) =>
  element(contextTag(1, true), ...names.map((n) => sequence(n)));

const rejected: readonly [string, Parameters<typeof make>[0]][] = [
  ["version 4", { version: element(TAG.integer, Buffer.of(3)) }],
  ["extensions in version 1", { ...ca(), version: element(TAG.integer, Buffer.of(0)) }],
  ["a negative serial number", { serial: element(TAG.integer, Buffer.of(0x80)) }],
  ["an empty serial number", { serial: element(TAG.integer) }],
  ["a serial number that is not the shortest", { serial: element(TAG.integer, Buffer.of(0, 1)) }],
  ["two signature algorithms", { inner: sequence(oid("2a8648ce3d040303")) }],
  ["a third time", { afterValidity: time(new Date(0)) }],
  ["a name of a universal string", { name: commonName(element(0x1c, Buffer.from("\0\0\0a"))) }],
  ["a printable string with @", { name: commonName(element(TAG.printableString, Buffer.from("a@b"))) }],
  ["a numeric string with letters", { name: commonName(element(TAG.numericString, Buffer.from("1a"))) }],
  ["an IA5 string beyond ASCII", { name: commonName(element(TAG.ia5String, Buffer.of(0xe9))) }],
  ["an unfinished object identifier", { name: commonName(element(TAG.utf8String), oid("5504ff")) }],
  ["a padded object identifier", { extensions: [extension("551d801e", sequence())] }],
  ["an empty object identifier", { extensions: [extension("", sequence())] }],
  ["a boolean of 1", { extensions: [extension("2a030405", sequence(), 1)] }],
  ["data after its extensions", { ...ca(), afterExtensions: element(TAG.integer, Buffer.of(1)) }],
  ["a critical key identifier", { extensions: [extension("551d0e", octetString(Buffer.of(1)), 0xff)] }],
  [
    "a path length that is not the shortest",
    {
      extensions: [
        extension(
          "551d13",
          sequence(element(TAG.boolean, Buffer.of(0xff)), element(TAG.integer, Buffer.of(0, 0))),
        ),
      ],
    },
  ],
  [
    "key usages with padding that is not zero",
    { extensions: [extension("551d0f", element(TAG.bitString, hex("0307")))] },
  ],
  ["no name constraints", constraints()],
  ["a name constraint with a dot at its end", constraints(excluded(dns("example.com.")))],
  ["a name constraint with an empty label", constraints(excluded(dns("a..b")))],
  [
    "a name constraint with a minimum",
    constraints(
      element(contextTag(1, true), sequence(dns("a.b"), element(contextTag(0, false), Buffer.of(1)))),
    ),
  ],
];
for (const [what, options] of rejected)
  test(`a certificate with ${what} is rejected`, () =>
    assert.throws(() => read(options), { code: "BadRequest" }));

test("the certificates of this test are valid otherwise", () => {
  assert.equal(read({}).subject.commonName, "user");
  assert.equal(chainProblem([read({}), read(ca())]), undefined);
  assert.equal(chainProblem([read({}), read(constraints(excluded(dns("a.b"))))]), undefined);
});

test("the zero at the end of a BMP string is not part of the name", () => {
  const name = commonName(element(TAG.bmpString, hex("006100620000")));
  assert.equal(read({ name }).subject.commonName, "ab");
});

const insecure = "x509: cannot verify signature: insecure algorithm";
for (const [what, digits] of [
  ["SHA-1 with RSA, by its other identifier", "2b0e03021d"],
  ["MD5 with RSA, by its other identifier", "2b0e030203"],
  ["MD4 with RSA", "2a864886f70d010103"],
  ["RSA-PSS with its defaults, which are SHA-1", "2a864886f70d01010a"],
  ["DSA with SHA-256", "608648016503040302"],
] as const)
  test(`a signature of ${what} is not trusted`, () =>
    assert.equal(chainProblem([read({ algorithm: sequence(oid(digits)) }), read(ca())]), insecure));

const weak = "x509: cannot verify signature: insecure or unknown key";
for (const [what, key] of [
  ["RSA of 512 bits", generateKeyPairSync("rsa", { modulusLength: 512 })],
  ["secp256k1", generateKeyPairSync("ec", { namedCurve: "secp256k1" })],
  ["Ed448", generateKeyPairSync("ed448")],
] as const)
  test(`a chain with a key of ${what} is not trusted`, () => {
    const spki = spkiOf(key);
    assert.equal(chainProblem([read({ spki }), read(ca())]), weak);
    assert.equal(chainProblem([read({}), read({ ...ca(), spki })]), weak);
  });

test("critical alternative names of unknown kinds only are an unknown critical extension", () => {
  const names = sequence(element(contextTag(8, false), hex("2a0304")));
  const extensions = [extension("551d11", names, 0xff)];
  assert.equal(chainProblem([read({ extensions }), read(ca())]), "x509: unhandled critical extension");
});

for (const name of ["x.example.com.", "*.com", "x..example.com"])
  test(`${name} does not evade the exclusion of example.com`, () => {
    const leaf = read({ extensions: [extension("551d11", sequence(dns(name)))] });
    const top = read(constraints(excluded(dns("example.com"))));
    assert.match(chainProblem([leaf, top]) ?? "", /not authorized to sign for this name/);
  });

test("an IPv4-mapped address evades the exclusion of neither family", () => {
  const ip = (digits: string) => element(contextTag(7, false), hex(digits));
  const leaf = read({ extensions: [extension("551d11", sequence(ip("00000000000000000000ffff0a000001")))] });
  for (const range of ["0a000000ff000000", "00".repeat(32)])
    assert.match(chainProblem([leaf, read(constraints(excluded(ip(range))))]) ?? "", /not authorized/);
});
