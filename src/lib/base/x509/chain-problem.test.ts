import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { chainProblem } from "./chain-problem.ts";
import { OpensslAuthority, type OpensslCertificate, opensslMissing } from "./fake-authority.ts";
import { parseCertificates } from "./x509.ts";

const ca = "basicConstraints=critical,CA:TRUE";
const sign = "keyUsage=critical,keyCertSign";
const tooMany = "x509: too many intermediates for path length constraint";
const critical = "x509: unhandled critical extension";
const noCa = "x509: certificate is not authorized to sign other certificates";
const forbidden = (name: string) =>
  `x509: a root or intermediate certificate is not authorized to sign for this name: ${name} is not permitted by any constraint`;

/** Extensions from the root to the leaf; the expected error; the error of openssl. */
type Case = readonly [
  name: string,
  chain: readonly (readonly string[])[],
  problem: string | undefined,
  openssl: RegExp,
];

const plain = [ca, sign];
const leaf = ["basicConstraints=CA:FALSE"];
const constrained = (list: string) => [...plain, `nameConstraints=critical,${list}`];
const named = (names: string) => [...leaf, `subjectAltName=${names}`];
const ok = /: OK/;
const permitted = /permitted subtree violation/;
const excluded = /excluded subtree violation/;

const cases: readonly Case[] = [
  ["no constraints", [plain, plain, plain, leaf], undefined, ok],
  ["path length 0 and no intermediate", [[`${ca},pathlen:0`, sign], leaf], undefined, ok],
  [
    "path length 0 and an intermediate",
    [[`${ca},pathlen:0`, sign], plain, leaf],
    tooMany,
    /path length constraint/,
  ],
  ["path length 1 and one intermediate", [[`${ca},pathlen:1`, sign], plain, leaf], undefined, ok],
  [
    "path length 1 and two intermediates",
    [[`${ca},pathlen:1`, sign], plain, plain, leaf],
    tooMany,
    /path length constraint/,
  ],
  [
    "path length 0 of an intermediate",
    [plain, [`${ca},pathlen:0`, sign], plain, leaf],
    tooMany,
    /path length constraint/,
  ],
  ["an intermediate that is no CA", [plain, leaf, leaf], noCa, /invalid CA certificate/],
  [
    "a DNS name in the domain",
    [constrained("permitted;DNS:example.com"), named("DNS:a.example.com")],
    undefined,
    ok,
  ],
  ["the domain itself", [constrained("permitted;DNS:example.com"), named("DNS:example.com")], undefined, ok],
  ["another case", [constrained("permitted;DNS:example.com"), named("DNS:A.EXAMPLE.com")], undefined, ok],
  [
    "a DNS name that only has the same suffix",
    [constrained("permitted;DNS:example.com"), named("DNS:badexample.com")],
    forbidden('DNS name "badexample.com"'),
    permitted,
  ],
  [
    "one of two DNS names outside",
    [constrained("permitted;DNS:example.com"), named("DNS:a.example.com,DNS:a.example.org")],
    forbidden('DNS name "a.example.org"'),
    permitted,
  ],
  [
    "a DNS name that is excluded",
    [constrained("permitted;DNS:example.com,excluded;DNS:bad.example.com"), named("DNS:x.bad.example.com")],
    forbidden('DNS name "x.bad.example.com"'),
    excluded,
  ],
  [
    "an address in the range",
    [constrained("permitted;IP:10.0.0.0/255.0.0.0"), named("IP:10.1.2.3")],
    undefined,
    ok,
  ],
  [
    "an address outside of the range",
    [constrained("permitted;IP:10.0.0.0/255.0.0.0"), named("IP:11.1.2.3")],
    forbidden('IP address "11.1.2.3"'),
    permitted,
  ],
  [
    "an IPv6 address in the range",
    [constrained("permitted;IP:fd00::/ffff::"), named("IP:fd00::7")],
    undefined,
    ok,
  ],
  [
    "an IPv6 address where IPv4 is permitted",
    [constrained("permitted;IP:10.0.0.0/255.0.0.0"), named("IP:fd00::7")],
    forbidden('IP address "fd00::7"'),
    permitted,
  ],
  [
    "an excluded IPv6 range",
    [constrained("excluded;IP:fd00::/ffff::"), named("IP:fd00::7")],
    forbidden('IP address "fd00::7"'),
    excluded,
  ],
  [
    "a name of a kind without constraints",
    [constrained("permitted;DNS:a.b"), named("IP:1.2.3.4")],
    undefined,
    ok,
  ],
  ["no names at all", [constrained("permitted;IP:10.0.0.0/255.0.0.0"), leaf], undefined, ok],
  [
    "an e-mail address of the host",
    [constrained("permitted;email:a.b"), named("email:x@a.b")],
    undefined,
    ok,
  ],
  [
    "an e-mail address of another host",
    [constrained("permitted;email:a.b"), named("email:x@c.d")],
    forbidden('rfc822Name "x@c.d"'),
    permitted,
  ],
  [
    "one e-mail address that is excluded",
    [constrained("excluded;email:x@a.b"), named("email:x@a.b")],
    forbidden('rfc822Name "x@a.b"'),
    excluded,
  ],
  ["a URI of the host", [constrained("permitted;URI:.a.b"), named("URI:https://x.a.b/y")], undefined, ok],
  [
    "a URI of another host",
    [constrained("permitted;URI:.a.b"), named("URI:https://x.c.d/y")],
    forbidden('URI "https://x.c.d/y"'),
    permitted,
  ],
  [
    "constraints of the root on a leaf two levels below",
    [constrained("permitted;DNS:example.com"), plain, named("DNS:a.example.org")],
    forbidden('DNS name "a.example.org"'),
    permitted,
  ],
  ["an unknown extension", [plain, [...leaf, "1.2.3.4=DER:0500"]], undefined, ok],
  [
    "an unknown critical extension",
    [plain, [...leaf, "1.2.3.4=critical,DER:0500"]],
    critical,
    /unhandled critical extension/,
  ],
  [
    "an unknown critical extension of an intermediate",
    [plain, [...plain, "1.2.3.4=critical,DER:0500"], leaf],
    critical,
    /unhandled critical extension/,
  ],
];

describe("chains that openssl has signed", { skip: opensslMissing }, () => {
  const openssl = new OpensslAuthority();
  after(() => openssl.remove());

  for (const [name, extensions, problem, opensslResult] of cases)
    test(name, () => {
      let issuer: OpensslCertificate | undefined;
      const certificates = extensions.map((list, depth) => {
        issuer = openssl.make({ subject: `/CN=level ${depth}`, extensions: list, ...(issuer && { issuer }) });
        return issuer;
      });
      const chain = certificates.toReversed().map(({ certificate }) => certificate);
      const root = openssl.file("root.pem", chain.at(-1) ?? "");
      const intermediate = openssl.file("intermediate.pem", chain.slice(1, -1).join(""));
      const end = openssl.file("leaf.pem", chain[0] ?? "");
      const untrusted = chain.length > 2 ? ["-untrusted", intermediate] : [];
      const { stdout, stderr } = openssl.try("verify", "-CAfile", root, ...untrusted, end);
      assert.match(stdout + stderr, opensslResult, "openssl's own result");
      assert.equal(chainProblem(parseCertificates(chain.join(""))), problem);
    });

  for (const digest of ["-md5", "-sha1"])
    for (const key of [["rsa:2048"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]]) {
      if (digest === "-md5" && key[0] === "ec") continue;
      test(`a signature with ${digest} and ${key[0]} is not trusted, unless it is the root's own`, () => {
        const weak = { x509: [digest, "-days", "3"], key };
        const top = openssl.make({ subject: "/CN=top", extensions: plain, ...weak });
        const good = openssl.make({ subject: "/CN=good", extensions: leaf, issuer: top });
        const bad = openssl.make({ subject: "/CN=bad", extensions: leaf, issuer: top, ...weak });
        const chain = (end: OpensslCertificate) => parseCertificates(end.certificate + top.certificate);
        assert.equal(chainProblem(chain(good)), undefined);
        assert.equal(chainProblem(chain(bad)), "x509: cannot verify signature: insecure algorithm");
      });
    }
});
