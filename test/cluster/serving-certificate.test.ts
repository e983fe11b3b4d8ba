import assert from "node:assert/strict";
import { copyFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { selfSignedFiles } from "../../src/kubelet/certs/self-signed.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";

test("a server without a configured certificate creates one and keeps it across a restart", async (t) => {
  const node = await TestCluster.start(t);
  const certDir = join(node.dir, "pki");
  await node.startAgent({ certDir });
  const first = node.agent.servingCertificate?.current();
  assert.deepEqual(first?.leaf.dnsNames, [nodeName]);
  assert.deepEqual(await readdir(certDir), ["kubelet.crt", "kubelet.key"]);
  assert.equal((await stat(join(certDir, "kubelet.key"))).mode & 0o777, 0o600);
  await node.stopAgent();
  await node.startAgent({ certDir });
  assert.equal(node.agent.servingCertificate?.current()?.cert, first?.cert);
});

// parity: field tlsCertFile, field tlsPrivateKeyFile
test("the server uses tlsCertFile, including after it was replaced; if it is missing the agent does not start", async (t) => {
  const node = await TestCluster.start(t);
  const make = (hostName: string) =>
    selfSignedFiles({
      certDir: join(node.dir, hostName),
      hostName,
      clock: systemClock,
      logger: silentLogger,
    });
  const [given, other] = [await make("given"), await make("other")];
  const config = { ...node.config(), tlsCertFile: given.certFile, tlsPrivateKeyFile: given.keyFile };
  await node.startAgent({ config, certDir: join(node.dir, "pki") });
  const serving = node.agent.servingCertificate;
  assert.deepEqual(serving?.current()?.leaf.dnsNames, ["given"]);
  const reported: string[] = [];
  serving?.onChange(({ leaf }) => reported.push(...leaf.dnsNames));
  await copyFile(other.certFile, given.certFile);
  await copyFile(other.keyFile, given.keyFile);
  await waitFor(() => assert.deepEqual(reported, ["other"]), 15_000);
  assert.deepEqual(serving?.current()?.leaf.dnsNames, ["other"]);
  await node.stopAgent();
  const none = { ...config, tlsCertFile: join(node.dir, "none") };
  await assert.rejects(node.startAgent({ config: none, certDir: join(node.dir, "pki") }), /ENOENT.*none/);
});

test("an agent without a certificate directory has no serving certificate", async (t) => {
  const node = await TestCluster.start(t);
  await node.startAgent();
  assert.equal(node.agent.servingCertificate, undefined);
});
