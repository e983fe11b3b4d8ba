import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { metricValues } from "../../lib/base/fixtures.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { epochMs } from "../../lib/base/time.ts";
import { generateKey, makeRequest, parseRequest, privateKeyPem } from "../../lib/base/x509/x509.ts";
import { CertificateExpiryMonitor } from "./certificate-expiry-monitor.ts";
import { CertificateManager } from "./certificate-manager.ts";
import { servingCertificateMetrics } from "./certificate-metrics.ts";
import { available, FakeSigner, issue, MemoryStore, type SignerBehavior } from "./fake-signer.ts";
import { clientCertificateManager } from "./managers.ts";
import { servingTemplate } from "./templates.ts";

let clock: FakeClock;
let signer: FakeSigner;
let store: MemoryStore;
let stop: AbortController;
const metrics = () => createMetrics();
const hour = 3_600_000;

beforeEach(() => {
  clock = new FakeClock();
  signer = new FakeSigner(clock);
  store = new MemoryStore();
  stop = new AbortController();
});
afterEach(() => stop.abort());

function client(more: Partial<Parameters<typeof clientCertificateManager>[0]> = {}): CertificateManager {
  return clientCertificateManager({
    nodeName: "n1",
    clock,
    random: () => 0.5,
    logger: silentLogger,
    metrics: metrics(),
    store,
    api: () => signer,
    ...more,
  });
}

test("the first certificate is requested immediately, for the node, from the signer of client certificates", async () => {
  const manager = client();
  assert.equal(manager.current(), undefined);
  await manager.start(stop.signal);
  await clock.advance(0);
  const [request] = signer.requests;
  assert.equal(request?.signerName, "kubernetes.io/kube-apiserver-client-kubelet");
  assert.deepEqual(request?.usages, ["digital signature", "client auth"]);
  assert.equal(request?.name, undefined);
  const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
  assert.deepEqual(parseRequest(request!.request).subject, subject);
  assert.deepEqual(manager.current()?.leaf.subject, subject);
  assert.equal(store.pair, manager.current());
  stop.abort();
  await manager.done;
  assert.equal(clock.pending, 0, "no timer is left behind");
  assert.equal(signer.watchers, 0);
});

test("a certificate is replaced at its deadline, once, and listeners are notified", async () => {
  const manager = client();
  const notified: unknown[] = [];
  manager.onChange((pair) => notified.push(pair));
  await manager.start(stop.signal);
  await clock.advance(0.79 * hour);
  assert.equal(signer.requests.length, 1);
  const first = manager.current();
  await clock.advance(0.02 * hour);
  assert.equal(signer.requests.length, 2);
  assert.notEqual(manager.current(), first);
  assert.deepEqual(notified, [first, manager.current()]);
});

test("a stored certificate is used, and no other is requested before its deadline", async () => {
  await client().start(stop.signal);
  await clock.advance(0);
  stop.abort();
  const again = client();
  stop = new AbortController();
  await again.start(stop.signal);
  await clock.advance(0.5 * hour);
  assert.equal(again.current(), store.pair);
  assert.equal(signer.requests.length, 1);
});

test("an expired stored certificate is not used", async () => {
  await client().start(stop.signal);
  await clock.advance(0);
  stop.abort();
  await clock.advance(2 * hour);
  stop = new AbortController();
  const requested: unknown[] = [];
  const again = client({
    api: (current) => {
      requested.push(current);
      return signer;
    },
  });
  await again.start(stop.signal);
  assert.equal(again.current(), undefined);
  await clock.advance(0);
  assert.deepEqual(requested, [undefined]);
  assert.notEqual(again.current(), undefined);
});

test("an initial certificate is stored, used for the request, and replaced immediately", async () => {
  const { privateKey } = generateKey();
  const request = makeRequest({ subject: { commonName: "admin", organizations: [] }, key: privateKey });
  const validity = { from: epochMs(clock.wall()), until: epochMs(clock.wall()) + hour };
  const initial = { cert: issue(signer.authority, request, [], validity), key: privateKeyPem(privateKey) };
  const requested: (string | undefined)[] = [];
  const manager = client({
    initial,
    api: (current) => {
      requested.push(current?.leaf.subject.commonName);
      return signer;
    },
  });
  await manager.start(stop.signal);
  assert.equal(manager.current()?.leaf.subject.commonName, "admin");
  await clock.advance(0);
  assert.deepEqual(requested, ["admin"]);
  assert.equal(manager.current()?.leaf.subject.commonName, "system:node:n1");
  assert.equal(store.updates, 2);
});

for (const behavior of [
  "deny",
  "fail",
  "delete",
  "unavailable",
  "wrong key",
  { reject: 500 },
] as SignerBehavior[]) {
  const name = JSON.stringify(behavior);
  test(`after ${name} another certificate is requested, 2, 4, 8, 16, 32, 32 seconds later`, async () => {
    const attempts: number[] = [];
    const from = clock.elapsedMs;
    signer.behavior = () => {
      attempts.push((clock.elapsedMs - from) / 1000);
      return attempts.length < 8 ? behavior : "sign";
    };
    const all = metrics();
    const manager = client({ random: () => 0, metrics: all });
    await manager.start(stop.signal);
    await clock.advance(130_000);
    assert.deepEqual(attempts, [0, 2, 6, 14, 30, 62, 94, 126]);
    assert.notEqual(manager.current(), undefined);
    const errors = await metricValues(all, "kubelet_certificate_manager_client_expiration_renew_errors");
    assert.deepEqual(errors, { "": 7 });
  });
}

test("a rejected request is retried at least every 10 s", async () => {
  const attempts: number[] = [];
  signer.behavior = () => {
    attempts.push(clock.elapsedMs);
    return { reject: 403 };
  };
  const manager = client({ random: () => 1 });
  await manager.start(stop.signal);
  await clock.advance(300_000);
  const pauses = attempts.slice(1).map((at, i) => at - attempts[i]!);
  assert.ok(pauses.length > 25 && Math.max(...pauses) < 10_000, pauses.join());
  assert.match(manager.reason ?? "", /403|Forbidden|reject/i);
});

test("a stored certificate, loaded at startup, releases earlier waiters", async () => {
  const before = client();
  await before.start(stop.signal);
  await clock.advance(0);
  stop.abort();
  await before.done;
  stop = new AbortController();
  const manager = client();
  const notified: unknown[] = [];
  manager.onChange((pair) => notified.push(pair));
  const pair = available(manager);
  await manager.start(stop.signal);
  assert.equal(await pair, manager.current());
  assert.deepEqual(notified, [manager.current()]);
  assert.equal(signer.requests.length, 1, "no other certificate was requested");
});

test("a request that is not approved times out after 15 minutes, and another is sent", async () => {
  signer.behavior = () => (signer.requests.length === 0 ? "ignore" : "sign");
  const manager = client();
  await manager.start(stop.signal);
  await clock.advance(15 * 60_000 - 1);
  assert.equal(signer.requests.length, 1);
  await clock.advance(2200);
  assert.equal(signer.requests.length, 2);
  assert.notEqual(manager.current(), undefined);
});

test("a manager that is stopped while it waits returns immediately", async () => {
  signer.behavior = () => "ignore";
  const manager = client();
  await manager.start(stop.signal);
  await clock.advance(1000);
  stop.abort();
  await manager.done;
  assert.equal(clock.pending, 0);
});

test("certificates that are due immediately are not requested in a loop", async () => {
  signer.lifetimeMs = -1000;
  signer.backdateMs = hour;
  const manager = client({ random: () => 0 });
  await manager.start(stop.signal);
  await clock.advance(130_000);
  assert.equal(signer.requests.length, 8);
});

test("certificates without the requested names are not requested in a loop", async () => {
  signer.behavior = () => "wrong name";
  const manager = client({ random: () => 0 });
  await manager.start(stop.signal);
  await clock.advance(130_000);
  assert.equal(signer.requests.length, 8);
  assert.equal(manager.current()?.leaf.subject.commonName, "x", "better than none");
});

test("the remaining lifetime of a backdated certificate is used", async () => {
  signer.lifetimeMs = 60_000;
  signer.backdateMs = 300_000;
  const manager = client();
  await manager.start(stop.signal);
  await clock.advance(47_000);
  assert.equal(signer.requests.length, 1);
  await clock.advance(2000);
  assert.equal(signer.requests.length, 2);
});

test("a manager is unhealthy after five minutes without a certificate, until it has one", async () => {
  signer.behavior = () => "unavailable";
  const manager = client();
  await manager.start(stop.signal);
  await clock.advance(299_000);
  assert.equal(manager.health().ok, true);
  await clock.advance(2000);
  assert.match(JSON.stringify(manager.health()), /there is no valid certificate: .*connection refused/);
  signer.behavior = () => "sign";
  const pair = available(manager);
  await clock.advance(36_000);
  assert.equal(await pair, manager.current());
  assert.equal(manager.health().ok, true);
});

function serving(addresses: () => { type: string; address: string }[], all = metrics()): CertificateManager {
  const manager: CertificateManager = new CertificateManager({
    ...servingCertificateMetrics(all, clock, () => manager),
    name: "serving-certificate",
    store,
    api: () => signer,
    template: () => servingTemplate("n1", addresses(), false),
    signerName: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
    clock,
    random: () => 0.5,
    logger: silentLogger,
  });
  return manager;
}
const ip = (address: string) => ({ type: "InternalIP", address });

test("a serving certificate is requested when there is an address, and again when it changes", async () => {
  let addresses: { type: string; address: string }[] = [];
  const all = metrics();
  const manager = serving(() => addresses, all);
  await manager.start(stop.signal);
  await clock.advance(60_000);
  assert.equal(signer.requests.length, 0);
  const ttl = () => metricValues(all, "kubelet_certificate_manager_server_ttl_seconds");
  assert.deepEqual(await ttl(), { "": Number.POSITIVE_INFINITY });
  addresses = [ip("10.0.0.1"), { type: "Hostname", address: "n1" }];
  manager.wake();
  await clock.advance(0);
  assert.deepEqual(manager.current()?.leaf.ipAddresses, ["10.0.0.1"]);
  assert.deepEqual(manager.current()?.leaf.dnsNames, ["n1"]);
  assert.deepEqual(await ttl(), { "": 3600 });
  addresses = [ip("10.0.0.2")];
  await clock.advance(10_000);
  assert.deepEqual(manager.current()?.leaf.ipAddresses, ["10.0.0.2"]);
  addresses = [];
  manager.wake();
  await clock.advance(60_000);
  assert.equal(signer.requests.length, 2, "an address that is gone does not cause another request");
  const lifetime = await metricValues(all, "kubelet_certificate_manager_server_rotation_seconds");
  assert.deepEqual(lifetime, { count: 1, sum: 10 });
});

test("a request for addresses that have changed in the meantime is abandoned", async () => {
  let addresses = [ip("10.0.0.1")];
  signer.behavior = () => (signer.requests.length === 0 ? "ignore" : "sign");
  const all = metrics();
  const manager = serving(() => addresses, all);
  await manager.start(stop.signal);
  await clock.advance(10_000);
  assert.equal(signer.requests.length, 1);
  addresses = [];
  await clock.advance(10_000);
  assert.equal(signer.watchers, 1, "no addresses for a moment change nothing");
  addresses = [ip("10.0.0.2")];
  await clock.advance(1000);
  assert.equal(signer.requests.length, 2);
  assert.deepEqual(manager.current()?.leaf.ipAddresses, ["10.0.0.2"]);
  assert.equal(signer.watchers, 0);
  assert.deepEqual(await metricValues(all, "kubelet_server_expiration_renew_errors"), {});
});

for (const [what, behavior, expected] of [
  ["rejects us", { reject: 401 }, 1],
  ["is unavailable", "unavailable", 0],
  ["is broken", { reject: 500 }, 0],
  ["signs", "sign", 0],
] as const) {
  test(`the agent ${expected ? "exits" : "keeps running"} after five minutes without a certificate if the server ${what}`, async () => {
    signer.behavior = () => behavior;
    const manager = client();
    const reasons: string[] = [];
    const onCertificateUnavailable = (reason: string) => reasons.push(reason);
    const monitor = new CertificateExpiryMonitor({
      manager,
      clock,
      logger: silentLogger,
      onCertificateUnavailable,
    });
    await manager.start(stop.signal);
    await monitor.start(stop.signal);
    await clock.advance(290_000);
    assert.equal(reasons.length, 0);
    await clock.advance(600_000);
    assert.equal(reasons.length, expected);
    stop.abort();
    await monitor.done;
  });
}
