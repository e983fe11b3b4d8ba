import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { clusterAccess } from "./cluster-access.ts";

// parity: field kubeAPIQPS, field kubeAPIBurst
test("requests have the configured rate and burst, except for those of heartbeats and events", async (t) => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clock = new FakeClock();
  const cluster = clusterAccess({
    access: { cluster: { server: new URL(`http://127.0.0.1:${port}`) }, user: {} } as Access,
    config: { kubeAPIQPS: 2, kubeAPIBurst: 3 },
    kubeletVersion: "v1.36.4",
    clock,
    logger: silentLogger,
  });
  t.after(() => {
    cluster.close();
    server.closeAllConnections();
    server.close();
  });
  const request = (path: string) => ({ method: "GET", path, timeoutMs: 1e9 }) as const;
  const limited = Array.from({ length: 5 }, () => cluster.transport.request(request("/limited")));
  await Promise.all(limited.slice(0, 3));
  await Promise.all(Array.from({ length: 9 }, () => cluster.unlimited!.request(request("/lease"))));
  assert.equal(paths.filter((path) => path === "/limited").length, 3);
  await clock.advance(500);
  await limited[3];
  assert.equal(paths.filter((path) => path === "/limited").length, 4);
  await clock.advance(500);
  await limited[4];
});

type Access = Parameters<typeof clusterAccess>[0]["access"];
