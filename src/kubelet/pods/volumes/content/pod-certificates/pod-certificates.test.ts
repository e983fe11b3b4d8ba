import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "../../../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../../../lib/base/logger.ts";
import { createMetrics } from "../../../../../lib/base/metrics.ts";
import { dateOf, plusMs } from "../../../../../lib/base/time.ts";
import { pem } from "../../../../../lib/base/x509/pem.ts";
import type { Pod, PodUid } from "../../../../../lib/model/pod.ts";
import { FakeRequestApi } from "./fake-request-api.ts";
import { PodCertificates } from "./pod-certificates.ts";

const chain = (text: string) => pem("CERTIFICATE", Buffer.from(text));
const minute = 60_000;
const pod = {
  metadata: { namespace: "ns", name: "web", uid: "pod-uid" },
  spec: { serviceAccountName: "robot" },
} as Pod;
const source = {
  signerName: "example.com/signer",
  keyType: "ECDSAP256",
  maxExpirationSeconds: 7200,
  userAnnotations: { "example.com/a": "b" },
  credentialBundlePath: "bundle",
};

async function setUp(t: TestContext) {
  const clock = new FakeClock();
  const api = new FakeRequestApi(clock);
  const metrics = createMetrics();
  const stop = new AbortController();
  const events: string[] = [];
  const errors: string[] = [];
  const changed: PodUid[] = [];
  let nodeUid: string | undefined = "node-uid";
  const logger: Logger = {
    ...silentLogger,
    error: (message, fields) => void errors.push(`${message}: ${fields?.err}`),
  };
  const certificates = new PodCertificates({
    api,
    nodeName: "n1",
    metrics,
    clock,
    logger,
    nodeUid: () => nodeUid,
    events: { normal() {}, warning: (_, reason, message) => void events.push(`${reason}: ${message}`) },
    onChange: (uid) => void changed.push(uid),
    random: () => 0.5,
  });
  await certificates.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await certificates.done;
  });
  const get = () => certificates.get(pod, "certs", 0, source);
  /** Keys are generated in the thread pool, outside of simulated time. */
  const until = async (condition: () => boolean, stepMs = 0) => {
    for (let i = 0; !condition(); i++) {
      assert.ok(i < 100_000, "the condition was never true");
      await clock.advance(stepMs);
      await turn();
    }
  };
  const created = (count: number) => until(() => api.created.length === count);
  const issue = async (name: string, text: string) => {
    const at = (minutes: number) => dateOf(plusMs(clock.wall(), minutes * minute)).toISOString();
    const count = changed.length;
    api.sign(name, {
      conditions: [{ type: "Issued", status: "True", reason: "Issued", message: "" }],
      certificateChain: chain(text),
      notBefore: at(0),
      beginRefreshAt: at(60),
      notAfter: at(90),
    });
    await until(() => changed.length > count);
  };
  const states = async () => {
    const { values } = await (metrics.registry.getSingleMetric("kubelet_podcertificate_states")?.get() ?? {
      values: [],
    });
    return values.map(({ labels, value }) => `${labels.signer_name} ${labels.state} ${value}`);
  };
  const setNodeUid = (uid: string | undefined) => {
    nodeUid = uid;
  };
  return {
    clock,
    api,
    certificates,
    events,
    errors,
    changed,
    get,
    created,
    issue,
    states,
    until,
    setNodeUid,
  };
}

describe("pod certificates", () => {
  // parity: gate PodCertificateRequest=true
  it("are requested when a volume needs them first, for the pod, its service account and its node", async (t) => {
    const { get, created, api } = await setUp(t);
    assert.deepEqual(api.selectors, []);
    assert.throws(get, { message: "credential bundle is not issued yet" });
    assert.throws(get, { message: "credential bundle is not issued yet" });
    await created(1);
    const { stubPKCS10Request, ...spec } = api.created[0]?.body.spec ?? {};
    assert.ok(Buffer.from(String(stubPKCS10Request), "base64").length > 100);
    assert.deepEqual(spec, {
      signerName: "example.com/signer",
      podName: "web",
      podUID: "pod-uid",
      serviceAccountName: "robot",
      serviceAccountUID: "account-uid",
      nodeName: "n1",
      nodeUID: "node-uid",
      maxExpirationSeconds: 7200,
      unverifiedUserAnnotations: { "example.com/a": "b" },
    });
    assert.deepEqual(api.created[0]?.body.metadata, {
      namespace: "ns",
      generateName: "req-",
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "pod-uid" }],
    });
  });

  it("are available with their key as soon as they are issued", async (t) => {
    const { get, created, issue, changed, states, api } = await setUp(t);
    assert.throws(get);
    await created(1);
    assert.deepEqual(await states(), ["example.com/signer not_yet_issued 1"]);
    await issue("req-1", "first");
    assert.deepEqual(changed, ["pod-uid"]);
    const { privateKey, certificateChain } = get();
    assert.match(privateKey, /BEGIN PRIVATE KEY/);
    assert.equal(certificateChain, chain("first"));
    assert.deepEqual(await states(), ["example.com/signer fresh 1"]);
    assert.deepEqual(api.selectors, ["spec.nodeName=n1"]);
  });

  it("are renewed with a new key, and the previous ones are used in the meantime", async (t) => {
    const { get, created, issue, until, clock, api } = await setUp(t);
    assert.throws(get);
    await created(1);
    await issue("req-1", "first");
    const first = get();
    await clock.advance(60 * minute);
    assert.equal(api.created.length, 1);
    await until(() => api.created.length === 2, minute);
    assert.deepEqual(get(), first);
    await issue("req-2", "second");
    assert.equal(get().certificateChain, chain("second"));
    assert.notEqual(get().privateKey, first.privateKey);
  });

  // parity: event CertificateExpired, event CertificateOverdueForRefresh
  it("that are not renewed in time are reported, and expire", async (t) => {
    const { get, created, issue, until, clock, api, events, states } = await setUp(t);
    assert.throws(get);
    await created(1);
    await issue("req-1", "first");
    await clock.advance(62 * minute);
    await until(() => api.created.length === 2, minute);
    // While the thread pool generated the second key, any number of minutes may have passed.
    await until(() => events.length >= 2, minute);
    await clock.advance(30 * minute);
    assert.deepEqual(events, [
      "CertificateOverdueForRefresh: PodCertificate refresh overdue",
      "CertificateExpired: PodCertificate expired",
    ]);
    assert.equal(get().certificateChain, chain("first"));
    assert.deepEqual(await states(), ["example.com/signer expired 1"]);
  });

  // parity: event Denied
  it("that are denied are reported by an event and an error, and are not requested again", async (t) => {
    const { get, created, until, clock, events, api, changed } = await setUp(t);
    assert.throws(get);
    await created(1);
    api.sign("req-1", {
      conditions: [{ type: "Denied", status: "True", reason: "UnsupportedKeyType", message: "use RSA3072" }],
    });
    await until(() => changed.length > 0);
    const details = 'reason="UnsupportedKeyType" message="use RSA3072"';
    assert.throws(get, { message: `PodCertificateRequest was permanently denied: ${details}` });
    await clock.advance(60 * minute);
    assert.equal(api.created.length, 1);
    assert.deepEqual(events, [
      'Denied: PodCertificateRequest ns/req-1 was denied, reason="UnsupportedKeyType", message="use RSA3072"',
    ]);
  });

  it("are requested again after errors, which are logged once", async (t) => {
    const { get, until, api, errors } = await setUp(t);
    api.failures.push(new Error("forbidden"), new Error("forbidden"), new Error("forbidden"));
    assert.throws(get);
    await until(() => api.created.length === 1, 1_000);
    assert.deepEqual(api.failures, []);
    assert.deepEqual(errors, [
      "Failed to request pod certificate, will retry: while fetching service account: forbidden",
    ]);
  });

  it("wait until the node is registered", async (t) => {
    const { get, until, api, errors, setNodeUid } = await setUp(t);
    setNodeUid(undefined);
    assert.throws(get);
    await until(() => errors.length === 1);
    assert.match(errors[0] ?? "", /node "n1" not found/);
    setNodeUid("later");
    await until(() => api.created.length === 1, 1_000);
    assert.equal(api.created[0]?.body.spec?.nodeUID, "later");
  });

  it("of a pod that is gone are not kept and not renewed", async (t) => {
    const { get, created, issue, clock, api, certificates, states } = await setUp(t);
    assert.throws(get);
    await created(1);
    await issue("req-1", "first");
    certificates.delete("pod-uid" as PodUid);
    await clock.advance(120 * minute);
    assert.equal(api.created.length, 1);
    assert.deepEqual(await states(), []);
  });
});
