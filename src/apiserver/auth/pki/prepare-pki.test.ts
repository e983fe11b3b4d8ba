import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "yaml";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { parseCertificates } from "../../../lib/base/x509/x509.ts";
import { type PkiOptions, preparePki } from "./prepare-pki.ts";

const day = 24 * 3600_000;

function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), "pki-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const prepare = (more: Partial<PkiOptions> = {}) =>
    preparePki({ dir: join(dir, "pki"), clock, hostnames: ["box"], addresses: ["192.0.2.7"], ...more });
  return { dir, clock, prepare };
}

test("certificates are signed by the CA, for their names and uses", (t) => {
  const { prepare } = setUp(t);
  const { ca, serving, admin, kubeletClient } = prepare();
  const authority = new X509Certificate(ca.certificate);
  for (const pair of [serving, admin, kubeletClient]) {
    const certificate = new X509Certificate(pair.certificate);
    assert(certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
    assert(certificate.checkPrivateKey(createPrivateKey(pair.key)));
  }
  const server = new X509Certificate(serving.certificate);
  for (const name of ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "box"])
    assert(server.checkHost(name), name);
  assert(server.checkHost("kubernetes.default.svc.cluster.local"));
  for (const ip of ["127.0.0.1", "::1", "10.96.0.1", "192.0.2.7"]) assert(server.checkIP(ip), ip);
  assert(!server.checkHost("elsewhere"));
  const [client] = parseCertificates(admin.certificate);
  assert.deepEqual(client?.subject, { commonName: "kubernetes-admin", organizations: ["system:masters"] });
  assert(client.usages.includes("client auth") && !client.usages.includes("server auth"));
  const [toKubelets] = parseCertificates(kubeletClient.certificate);
  assert.equal(toKubelets?.subject.commonName, "kube-apiserver-kubelet-client");
});

test("all files are kept across restarts, and only their owner can read keys", async (t) => {
  const { dir, prepare, clock } = setUp(t);
  const first = prepare();
  await clock.advance(30 * day);
  const second = prepare();
  const plain = ({ ca, serviceAccountKey: key, ...rest }: typeof first) => ({
    ...rest,
    ca: ca.certificate,
    key: key.export({ type: "sec1", format: "pem" }),
  });
  assert.deepEqual(plain(second), plain(first));
  const files = readdirSync(join(dir, "pki")).sort((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(files, [
    "admin.crt",
    "admin.key",
    "apiserver-kubelet-client.crt",
    "apiserver-kubelet-client.key",
    "apiserver.crt",
    "apiserver.key",
    "ca.crt",
    "ca.key",
    "sa.key",
  ]);
  for (const file of files.filter((name) => name.endsWith(".key")))
    assert.equal(statSync(join(dir, "pki", file)).mode & 0o777, 0o600, file);
  assert.equal(statSync(join(dir, "pki")).mode & 0o777, 0o700);
});

const rows: [
  when: string,
  change: (dir: string, clock: FakeClock) => Promise<void> | void,
  options: Partial<PkiOptions>,
  renewed: string[],
][] = [
  ["an address is added", () => {}, { addresses: ["192.0.2.8"] }, ["serving"]],
  ["an address is removed", () => {}, { addresses: [] }, []],
  [
    "most of their lifetime has passed",
    (_, clock) => clock.advance(300 * day),
    {},
    ["serving", "admin", "kubeletClient"],
  ],
  [
    "the clock is before their validity",
    (_, clock) => clock.advance(-day),
    {},
    ["serving", "admin", "kubeletClient"],
  ],
  [
    "a certificate file is truncated",
    (dir) => writeFileSync(join(dir, "pki/apiserver.crt"), "-----BEGIN CERTIFI"),
    {},
    ["serving"],
  ],
  [
    "a key belongs to another certificate",
    (dir) => writeFileSync(join(dir, "pki/admin.key"), readFileSync(join(dir, "pki/ca.key"))),
    {},
    ["admin"],
  ],
  ["a certificate is missing", (dir) => rmSync(join(dir, "pki/admin.crt")), {}, ["admin"]],
  ["the CA is missing", (dir) => rmSync(join(dir, "pki/ca.crt")), {}, ["serving", "admin", "kubeletClient"]],
];

test("only files that no longer match are recreated", async (t) => {
  for (const [when, change, options, renewed] of rows)
    await t.test(`if ${when}, these are recreated: ${renewed.join(", ") || "none"}`, async (t) => {
      const { dir, clock, prepare } = setUp(t);
      const first = prepare();
      await change(dir, clock);
      const second = prepare(options);
      const different = (["serving", "admin", "kubeletClient"] as const).filter(
        (pair) => first[pair].certificate !== second[pair].certificate,
      );
      assert.deepEqual(different, renewed);
      for (const pair of different)
        assert(
          new X509Certificate(second[pair].certificate).checkPrivateKey(createPrivateKey(second[pair].key)),
        );
    });
});

test("a CA with a missing or different key is an error, and is not replaced", (t) => {
  const { dir, prepare } = setUp(t);
  prepare();
  const key = join(dir, "pki/ca.key");
  writeFileSync(key, readFileSync(join(dir, "pki/admin.key")));
  assert.throws(() => prepare(), { code: "BadAuthority", message: /do not belong together/ });
  rmSync(key);
  assert.throws(() => prepare(), { code: "BadAuthority", message: /ca\.key is missing/ });
});

test("no certificate outlives the CA, and an expired CA is recreated", async (t) => {
  const { prepare, clock } = setUp(t);
  const first = prepare();
  await clock.advance(9.5 * 365 * day);
  const late = prepare();
  assert.equal(late.ca.certificate, first.ca.certificate);
  const [serving] = parseCertificates(late.serving.certificate);
  assert.equal(serving?.notAfter.getTime(), first.ca.notAfter.getTime());
  await clock.advance(365 * day);
  assert.notEqual(prepare().ca.certificate, first.ca.certificate);
});

test("the kubeconfig is self-contained, and is rewritten when its certificate is renewed", async (t) => {
  const { dir, prepare, clock } = setUp(t);
  const path = join(dir, "admin.conf");
  const options = { kubeconfig: { path, server: "https://127.0.0.1:6443" } };
  const { ca, admin } = prepare(options);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const text = readFileSync(path, "utf8");
  const config = parse(text);
  const decoded = (data: string) => Buffer.from(data, "base64").toString();
  assert.equal(config["current-context"], "kubelet-ts");
  assert.deepEqual(config.contexts[0], {
    name: "kubelet-ts",
    context: { cluster: "kubelet-ts", user: "kubernetes-admin" },
  });
  assert.equal(config.clusters[0].cluster.server, "https://127.0.0.1:6443");
  assert.equal(decoded(config.clusters[0].cluster["certificate-authority-data"]), ca.certificate);
  assert.equal(decoded(config.users[0].user["client-certificate-data"]), admin.certificate);
  assert.equal(decoded(config.users[0].user["client-key-data"]), admin.key);
  await clock.advance(300 * day);
  prepare(options);
  assert.notEqual(readFileSync(path, "utf8"), text);
});
