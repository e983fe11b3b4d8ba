import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  lstat,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { generateKey, makeRequest, privateKeyPem } from "../../lib/base/x509/x509.ts";
import { CertificateStore } from "./certificate-store.ts";
import { fakeAuthority, issue } from "./fake-signer.ts";

const authority = fakeAuthority();
let dir: string;
let clock: FakeClock;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "certs-"));
  clock = new FakeClock(new Date(2026, 0, 31, 13, 5, 9).getTime());
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function newPair(): { cert: string; key: string } {
  const { privateKey } = generateKey();
  const request = makeRequest({ subject: { commonName: "n", organizations: [] }, key: privateKey });
  const cert = issue(authority, request, ["client auth"], { from: 0, until: 4e12 });
  return { cert, key: privateKeyPem(privateKey) };
}

function store(more: { certFile?: string; keyFile?: string } = {}): CertificateStore {
  return new CertificateStore({ prefix: "kubelet-client", dir, clock, logger: silentLogger, ...more });
}
const at = (name: string) => join(dir, name);
const current = () => at("kubelet-client-current.pem");

test("a pair is one file with the time in its name, and a link to it", async () => {
  const pair = newPair();
  const chain = pair.cert + authority.certificate;
  await store().update(chain, pair.key);
  const file = at("kubelet-client-2026-01-31-13-05-09.pem");
  assert.equal(await readlink(current()), file);
  assert.equal(await readFile(file, "utf8"), chain + pair.key);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual((await readdir(dir)).sort(), [
    "kubelet-client-2026-01-31-13-05-09.pem",
    "kubelet-client-current.pem",
  ]);
  const read = await store().current();
  assert.deepEqual([read?.cert, read?.key], [chain, pair.key]);
});

test("the directory is created if needed", async () => {
  const { cert, key } = newPair();
  const inner = new CertificateStore({ prefix: "p", dir: at("a/b"), clock, logger: silentLogger });
  assert.equal(await inner.current(), undefined);
  await inner.update(cert, key);
  assert.equal((await inner.current())?.cert, cert);
});

test("an update replaces the link, even within the same second", async () => {
  const [first, second, third] = [newPair(), newPair(), newPair()];
  await store().update(first.cert, first.key);
  await store().update(second.cert, second.key);
  assert.equal((await store().current())?.cert, second.cert);
  await clock.advance(1000);
  await store().update(third.cert, third.key);
  assert.equal((await store().current())?.cert, third.cert);
  assert.equal((await readdir(dir)).length, 3);
});

test("configured files are used as long as the store has no pair", async () => {
  const [own, named, plain] = [newPair(), newPair(), newPair()];
  await writeFile(at("kubelet-client.crt"), plain.cert);
  assert.equal(await store().current(), undefined, "an incomplete pair is not used");
  await writeFile(at("kubelet-client.key"), plain.key);
  assert.equal((await store().current())?.cert, plain.cert);
  await writeFile(at("x.crt"), named.cert);
  await writeFile(at("x.key"), named.key);
  const files = { certFile: at("x.crt"), keyFile: at("x.key") };
  assert.equal((await store(files).current())?.cert, named.cert);
  assert.equal(await store(files).hasOwn(), false);
  await store(files).update(own.cert, own.key);
  assert.equal((await store(files).current())?.cert, own.cert);
  assert.equal(await store(files).hasOwn(), true);
});

for (const [what, corrupt] of [
  ["is empty", () => truncate(current(), 0)],
  ["is truncated in the certificate", () => truncate(current(), 100)],
  ["is truncated in the key", async () => truncate(current(), (await stat(current())).size - 30)],
  ["has the key of another", async () => writeFile(current(), newPair().cert + newPair().key)],
  ["is junk", () => writeFile(current(), "junk")],
  ["is a dangling link", async () => rm(await readlink(current()))],
] as const) {
  test(`a pair that ${what} is ignored, and can be replaced`, async () => {
    const [first, second] = [newPair(), newPair()];
    await store().update(first.cert, first.key);
    await corrupt();
    assert.equal(await store().current(), undefined);
    await store().update(second.cert, second.key);
    assert.equal((await store().current())?.cert, second.cert);
  });
}

test("a pair that does not match is not stored", async () => {
  const [first, second] = [newPair(), newPair()];
  await store().update(first.cert, first.key);
  await assert.rejects(store().update(first.cert, second.key), { code: "CertificatePair" });
  await assert.rejects(store().update("junk", second.key), { code: "CertificatePair" });
  assert.equal((await store().current())?.cert, first.cert);
});

test("a link that another kubelet did not create is created", async () => {
  const { cert, key } = newPair();
  await store().update(cert, key);
  await rename(current(), at("kubelet-client-updated.pem"));
  assert.equal((await store().current())?.cert, cert);
  assert.ok((await lstat(current())).isSymbolicLink());
});

test("files of an interrupted update do not affect the next", async () => {
  const [first, second] = [newPair(), newPair()];
  await store().update(first.cert, first.key);
  await symlink(at("nothing"), at("kubelet-client-updated.pem"));
  await writeFile(at("kubelet-client.pem.new"), first.cert.slice(0, 50), { mode: 0o644 });
  assert.equal((await store().current())?.cert, first.cert);
  await store().update(second.cert, second.key);
  assert.equal((await store().current())?.cert, second.cert);
  assert.equal((await stat(current())).mode & 0o777, 0o600);
});

test("a file in place of the link is not replaced", async () => {
  const { cert, key } = newPair();
  await writeFile(current(), cert + key);
  assert.equal((await store().current())?.cert, cert);
  await assert.rejects(
    store().update(cert, key),
    /expected ".*-current.pem" to be a symlink but it is a file/,
  );
});

test("when a process that stores pairs is killed, a pair remains", {
  timeout: 60_000,
}, async () => {
  const pairs = [newPair(), newPair(), newPair()];
  await store().update(pairs[0]!.cert, pairs[0]!.key);
  const program = `
    import { writeFileSync } from "node:fs";
    import { CertificateStore } from ${JSON.stringify(new URL("./certificate-store.ts", import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL("../../lib/base/clock.ts", import.meta.url).href)};
    const { pairs, dir } = JSON.parse(process.env.INPUT);
    const logger = { info() {}, warn() {}, error() {}, debug() {} };
    const store = new CertificateStore({ prefix: "kubelet-client", dir, logger, clock: systemClock });
    for (let i = 0; ; i++) {
      await store.update(pairs[i % 3].cert, pairs[i % 3].key);
      if (i === 3) process.stdout.write("going");
    }`;
  for (let round = 0; round < 4; round++) {
    const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", program], {
      env: { ...process.env, INPUT: JSON.stringify({ pairs, dir }) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout!, "data");
    for (let turns = round * 37; turns > 0; turns--) existsSync(dir); // A different time in each round
    child.kill("SIGKILL");
    await once(child, "exit");
    const found = await store().current();
    assert.ok(pairs.some(({ cert, key }) => cert === found?.cert && key === found.key));
  }
  await store().update(pairs[0]!.cert, pairs[0]!.key);
});
