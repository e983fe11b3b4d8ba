import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { NotifySocket } from "../e2e/notify-socket.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { startApiProcess } from "./api-process.ts";
import { nodeName } from "./cluster-node.ts";
import { JoiningNode } from "./joining-node.ts";
import { startManualApprovalApi } from "./manual-approval-api.ts";

const rotating = ["--rotate-certificates", "--rotate-server-certificates"];

/** The current duration of a command on this machine. */
function commandMs(): number {
  const started = performance.now();
  execFileSync(process.execPath, [kubeletProgram, "--version"]);
  return performance.now() - started;
}

// parity: field rotateCertificates, field serverTLSBootstrap
test("a node joins with a token, continues with its certificate, and joins again when that has expired", async (t) => {
  // A lifetime that covers the start of 40 processes, so that certificates do not expire too early on a busy machine.
  const lifetimeMs = Math.max(16_000, 40 * commandMs());
  const api = await startApiProcess(t, { certificatesFor: `${Math.ceil(lifetimeMs / 1000)}s` });
  const node = await JoiningNode.prepare(t, api);
  const revokeToken = await api.allowJoining(node.bootstrap);
  const first = node.agent(...rotating);
  const uid = await api.addPod("web");
  await first.until(() => api.podRuns("web"));
  assert.doesNotMatch(first.log, /not implemented yet/);
  await waitFor(() => node.certificate("server"));
  await api.addAddress("192.0.2.7");
  const hasAddress = async () =>
    assert.match((await node.certificate("server")).subjectAltName!, /192\.0\.2\.7/);
  await first.until(() => waitFor(hasAddress, lifetimeMs / 2));
  await first.stop();

  const second = node.agent(...rotating);
  const isRotated = async () => assert.ok((await node.certificatesRequestedBy("system:node:")) >= 2);
  await second.until(() => waitFor(isRotated, lifetimeMs + 60_000));
  assert.equal(
    await node.certificatesRequestedBy("system:bootstrap:"),
    1,
    "the bootstrap token was used again",
  );
  await second.stop();

  await revokeToken();
  const last = await node.certificate();
  await pause(last.validToDate.getTime() - Date.now() + 1);
  const third = node.agent(...rotating);
  await third.prints(/Certificate request failed, will retry.*Unauthorized/);
  await api.addPod("after");
  await api.allowJoining(node.bootstrap);
  await third.until(() => api.podRuns("after"));
  assert.notEqual((await node.certificate()).fingerprint256, last.fingerprint256);
  assert.equal(await node.certificatesRequestedBy("system:bootstrap:"), 2);
  assert.equal(node.cluster.containersOf(uid).length, 1, "the container was restarted");
  await third.stop();

  await rm(join(node.certDir, "kubelet-client-current.pem"));
  await rm(node.bootstrap);
  const fourth = node.agent(...rotating);
  assert.equal(await fourth.exits(), 1);
  assert.match(fourth.log, /^kubelet: unable to load bootstrap kubeconfig: .*no such file/m);
});

test("a denied request is logged with its reason and recreated; once approved, the node registers immediately", async (t) => {
  const api = await startManualApprovalApi(t);
  const node = await JoiningNode.prepare(t, api);
  await api.allowJoining(node.bootstrap);
  const stopped = node.agent(...rotating);
  const oldRequest = await api.pendingRequest();
  await stopped.stop();
  assert.doesNotMatch(stopped.log, /Component did not stop in time/);
  await api.deleteRequest(oldRequest);

  const agent = node.agent(...rotating);
  await api.decide(await api.pendingRequest(), "Denied", "unknown node");
  await agent.prints(
    /Certificate request failed, will retry.*certificate signing request is denied, reason: ManualReview, message: unknown node/,
  );
  assert.doesNotMatch(agent.log, /Failed to list or watch/, "the agent lists objects without a certificate");
  const request = await api.pendingRequest();
  await api.decide(request, "Approved", "known node");
  await agent.until(() => waitFor(() => api.get(`/api/v1/nodes/${nodeName}`), 5000));
  await agent.stop();
});

test("an agent without rotation waits for its certificate at startup, and exits on a denial or a signal", async (t) => {
  const api = await startManualApprovalApi(t);
  const node = await JoiningNode.prepare(t, api);
  await api.allowJoining(node.bootstrap);
  const denied = node.agent();
  const request = await api.pendingRequest();
  await api.decide(request, "Denied", "unknown node");
  assert.equal(await denied.exits(), 1);
  assert.match(
    denied.log,
    /^kubelet: certificate signing request is denied, reason: ManualReview, message: unknown node$/m,
  );
  await api.deleteRequest(request);

  const signaled = node.agent();
  const waiting = await api.pendingRequest();
  assert.equal(waiting.metadata.name, request.metadata.name, "the request is not for the same key");
  await signaled.stop();

  const approved = node.agent();
  await approved.prints(/csr for this node already exists, reusing/);
  await api.decide(waiting, "Approved", "known node");
  await approved.until(() => waitFor(() => api.get(`/api/v1/nodes/${nodeName}`)));
  const link = join(node.certDir, "kubelet-client-current.pem");
  assert.match(await readFile(node.kubeconfig, "utf8"), new RegExp(`client-certificate: ${link}\n`));
  assert.equal((await readdir(node.certDir)).filter((name) => name.endsWith(".tmp")).length, 0);
  await approved.stop();
});

test("the watchdog is notified while an agent waits for its certificate, and READY=1 is sent later", async (t) => {
  const api = await startManualApprovalApi(t);
  const node = await JoiningNode.prepare(t, api);
  await api.allowJoining(node.bootstrap);
  const socket = new NotifySocket(join(node.cluster.dir, "notify"));
  t.after(() => socket.close());
  const agent = node.agentWith({ NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "1001000" });
  const request = await api.pendingRequest();
  await waitFor(() => assert.ok(socket.received().length >= 3, agent.log));
  assert.deepEqual(new Set(socket.received()), new Set(["WATCHDOG=1"]));
  await api.decide(request, "Approved", "known node");
  await agent.until(() => waitFor(() => assert.ok(socket.received().includes("READY=1"))));
  await agent.stop();
});
