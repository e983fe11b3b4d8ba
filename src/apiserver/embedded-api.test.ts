import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { systemClock } from "../lib/base/clock.ts";
import { silentLogger } from "../lib/base/logger.ts";
import { startEmbeddedApi } from "./embedded-api.ts";

/** Addresses that any machine has. */
const serviceRange = "127.77.0.0/20";
const serviceAddress = "127.77.0.1";

/** An API server for pods; the port of its service, and whether the certificate there is valid. */
async function apiForPods(t: TestContext, dir: string) {
  const api = await startEmbeddedApi({
    dir,
    kubeconfig: join(dir, "kubeconfig"),
    clock: systemClock,
    logger: silentLogger,
    serviceRange,
    podRange: "127.0.0.0/8",
  });
  t.after(() => api.stop());
  const ref = { resource: "services", namespace: "default", name: "kubernetes" };
  const { spec } = (await api.server.objects.get(ref)) as unknown as {
    spec: { clusterIP: string; ports: { port: number }[] };
  };
  const port = spec.ports[0]!.port;
  const ca = readFileSync(join(dir, "pki", "ca.crt"));
  const socket = connect({ host: spec.clusterIP, port, ca, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  const { authorized } = socket;
  socket.destroy();
  return { api, address: spec.clusterIP, port, authorized };
}

test("when port 443 is in use, the API uses another port for pods, and keeps it after a restart", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "embedded-api-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const holder = createServer();
  t.after(() => holder.close());
  // Only root can bind port 443; other users get another port anyway.
  holder.on("error", () => {});
  holder.listen(443, serviceAddress);
  await Promise.race([once(holder, "listening"), once(holder, "error")]);
  const first = await apiForPods(t, dir);
  assert.equal(first.address, serviceAddress);
  assert.notEqual(first.port, 443);
  assert.equal(first.authorized, true);
  await first.api.stop();
  const second = await apiForPods(t, dir);
  assert.deepEqual([second.port, second.authorized], [first.port, true]);
});
