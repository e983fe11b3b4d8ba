import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../lib/base/logger.ts";
import { epochMs } from "../../lib/base/time.ts";
import { generateKey, makeRequest, parseCertificates, privateKeyPem } from "../../lib/base/x509/x509.ts";
import { clientCaFile, servingCertificateFiles } from "./certificate-files.ts";
import { readPair } from "./certificate-pair.ts";
import { fakeAuthority, issue } from "./fake-signer.ts";
import { selfSignedFiles } from "./self-signed.ts";

const authority = fakeAuthority();
let dir: string;
let stop: AbortController;
let clock: FakeClock;
let errors: number;
let logger: Logger;
const at = (name: string) => join(dir, name);

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "certs-"));
  stop = new AbortController();
  clock = new FakeClock();
  errors = 0;
  logger = { ...silentLogger, error: () => errors++ };
});
afterEach(async () => {
  stop.abort();
  await rm(dir, { recursive: true, force: true });
});

function newPair(): { cert: string; key: string } {
  const { privateKey } = generateKey();
  const request = makeRequest({ subject: { commonName: "n", organizations: [] }, key: privateKey });
  const cert = issue(authority, request, ["server auth"], { from: 0, until: 4e12 });
  return { cert, key: privateKeyPem(privateKey) };
}

let version = 1;
/** Each write has a distinct mtime. */
async function put(name: string, text: string): Promise<void> {
  await writeFile(at(`${name}.tmp`), text);
  await utimes(at(`${name}.tmp`), version, version++);
  await rename(at(`${name}.tmp`), at(name));
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
    if (condition()) return;
    await clock.advance(1000);
    await settle(20);
  }
  assert.fail(`it is not so in time: ${what}`);
}

// parity: gate ReloadKubeletServerCertificateFile=true as reload
test("certificate and key of the server are read again when they change", async () => {
  const [first, second] = [newPair(), newPair()];
  await put("tls.crt", first.cert);
  await put("tls.key", first.key);
  const files = servingCertificateFiles({
    certFile: at("tls.crt"),
    keyFile: at("tls.key"),
    reload: true,
    clock,
    logger,
  });
  const notified: string[] = [];
  files.onChange(({ cert }) => notified.push(cert));
  await files.start(stop.signal);
  assert.equal(files.current()?.key, first.key);
  await put("tls.crt", second.cert);
  await until(() => errors === 1, "an incomplete new pair is logged as an error");
  assert.equal(files.current()?.cert, first.cert, "and the old one remains in use");
  await put("tls.key", second.key);
  await until(() => files.current()?.cert === second.cert, "the new pair is used");
  await rm(at("tls.key"));
  await until(() => errors === 2, "a file that is gone is logged as an error");
  assert.equal(files.current()?.cert, second.cert);
  assert.deepEqual(notified, [second.cert]);
  stop.abort();
  await files.done;
});

// parity: gate ReloadKubeletServerCertificateFile=false as reload
test("files are read once if reloading is disabled", async () => {
  const [first, second] = [newPair(), newPair()];
  await put("ca.crt", first.cert);
  const file = clientCaFile({ file: at("ca.crt"), reload: false, clock, logger });
  await file.start(stop.signal);
  await file.done;
  await put("ca.crt", second.cert);
  await clock.advance(60_000);
  assert.equal(file.current(), first.cert);
});

test("CA certificates are read again when they change; a file without any changes nothing", async () => {
  const [first, second] = [newPair().cert, newPair().cert];
  await put("ca.crt", `comment\n${first}`);
  const file = clientCaFile({ file: at("ca.crt"), reload: true, clock, logger });
  await file.start(stop.signal);
  assert.equal(file.current(), first);
  await put("ca.crt", "nothing");
  await until(() => errors === 1, "an empty bundle is logged as an error");
  assert.equal(file.current(), first);
  await put("ca.crt", first + second);
  await until(() => file.current() === first + second, "both authorities are known");
});

for (const [what, text] of [
  ["missing", undefined],
  ["without a certificate", "x"],
] as const) {
  test(`an agent does not start with a client CA file that is ${what}`, async () => {
    if (text !== undefined) await put("ca.crt", text);
    const file = clientCaFile({ file: at("ca.crt"), reload: true, clock, logger });
    await assert.rejects(file.start(stop.signal), { code: "CertificateFiles", message: /ca\.crt/ });
    await file.done;
  });
}

const selfSigned = (hostName = "n1") => selfSignedFiles({ certDir: at("pki"), hostName, clock, logger });

test("a self-signed certificate is created once: for the host, for a year, with an RSA key", async () => {
  const { certFile, keyFile } = await selfSigned();
  assert.deepEqual([certFile, keyFile], [at("pki/kubelet.crt"), at("pki/kubelet.key")]);
  const cert = await readFile(certFile, "utf8");
  const pair = readPair(cert, await readFile(keyFile, "utf8"));
  const seconds = epochMs(clock.wall()) / 1000;
  assert.equal(pair.leaf.subject.commonName, `n1@${seconds}`);
  assert.deepEqual(pair.leaf.dnsNames, ["n1"]);
  assert.deepEqual(pair.leaf.usages, ["digital signature", "key encipherment", "server auth"]);
  assert.equal(pair.leaf.notBefore.getTime(), epochMs(clock.wall()) - 3_600_000);
  assert.equal(pair.leaf.notAfter.getTime(), epochMs(clock.wall()) - 3_600_000 + 365 * 86_400_000);
  assert.equal(pair.privateKey.asymmetricKeyType, "rsa");
  const [leaf, ca] = parseCertificates(cert).map(({ pem }) => new X509Certificate(pem));
  assert.equal(parseCertificates(cert)[1]?.subject.commonName, `n1-ca@${seconds}`);
  assert.ok(leaf?.checkIssued(ca!) && leaf.verify(ca!.publicKey));
  assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
  assert.equal((await stat(certFile)).mode & 0o777, 0o644);
  await selfSigned();
  assert.equal(await readFile(certFile, "utf8"), cert);
});

test("a start that was killed between key and certificate is completed by the next", async () => {
  const { certFile, keyFile } = await selfSigned("10.0.0.1");
  const key = await readFile(keyFile, "utf8");
  await rm(certFile);
  await selfSigned("10.0.0.1");
  assert.equal(await readFile(keyFile, "utf8"), key);
  assert.deepEqual(readPair(await readFile(certFile, "utf8"), key).leaf.ipAddresses, ["10.0.0.1"]);
});

test("a certificate without its key is a configuration error", async () => {
  const { keyFile } = await selfSigned();
  await rm(keyFile);
  await assert.rejects(selfSigned(), {
    message: `error reading ${keyFile}, certificate and key must be supplied as a pair`,
  });
});
