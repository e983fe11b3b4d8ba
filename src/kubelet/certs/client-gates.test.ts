import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../../test/e2e/wait-for.ts";
import { base64, fixture, json, kubeconfig, TestApiServer } from "../../../test/kube/api-server.ts";
import { systemClock } from "../../lib/base/clock.ts";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { parseKubeconfig } from "../../lib/clients/kube/kubeconfig.ts";
import { Reflector } from "../../lib/clients/kube/reflector.ts";
import { FeatureGates } from "../../lib/config/feature-gates.ts";
import { connection } from "./cluster-access.ts";

const options = { kubeletVersion: "v1.36.4", logger: silentLogger };

// parity: gate WatchListClient=true, gate WatchListClient=false
for (const [streams, supported, expected] of [
  [true, true, ["watch with the initial events"]],
  [true, false, ["watch with the initial events", "list", "watch"]],
  [false, true, ["list", "watch"]],
] as const)
  test(`WatchListClient: ${streams}: objects are listed by ${expected.join(", then ")} if the server ${supported ? "streams" : "does not stream"} lists`, async (t) => {
    const requests: string[] = [];
    const server = await TestApiServer.start("h2", (request, response) => {
      const query = new URL(request.url ?? "", "https://server").searchParams;
      const initial = query.has("sendInitialEvents");
      requests.push(!query.has("watch") ? "list" : initial ? "watch with the initial events" : "watch");
      if (!query.has("watch")) return json(response, 200, { metadata: { resourceVersion: "5" }, items: [] });
      if (initial && !supported) return json(response, 422, { kind: "Status", reason: "Invalid", code: 422 });
      response.writeHead(200);
      const annotations = { "k8s.io/initial-events-end": "true" };
      const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "5", annotations } } };
      response.write(`${JSON.stringify(bookmark)}\n`);
    });
    t.after(() => server.close());
    const authority = { "certificate-authority-data": base64(fixture("ca.pem")) };
    const access = parseKubeconfig(kubeconfig({ server: server.url, ...authority }, { token: "t" }), "/k");
    const transport = connection(access, {
      ...options,
      clock: systemClock,
      gates: new FeatureGates({ WatchListClient: streams }),
    });
    t.after(() => transport.close());
    const watch = new Reflector({
      name: "nodes",
      path: "/api/v1/nodes",
      transport,
      clock: systemClock,
      logger: silentLogger,
      transform: (raw) => raw,
    });
    const stop = new AbortController();
    await watch.start(stop.signal);
    await watch.synced;
    await waitFor(() => assert.deepEqual(requests, expected));
    stop.abort();
    await watch.done;
  });

// parity: gate ClientsAllowCARotation=true, gate ClientsAllowCARotation=false
for (const rotates of [true, false])
  test(`ClientsAllowCARotation: ${rotates}: a new certificate authority in the file is ${rotates ? "" : "not "}trusted without a restart`, async (t) => {
    const server = await TestApiServer.start("h2", (_, response) => json(response, 200, {}));
    t.after(() => server.close());
    const dir = mkdtempSync(join(tmpdir(), "cluster-access-"));
    t.after(() => rmSync(dir, { recursive: true }));
    const file = join(dir, "ca.pem");
    writeFileSync(file, fixture("other-ca.pem"));
    const fields = { server: server.url, "certificate-authority": file };
    const access = parseKubeconfig(kubeconfig(fields, { token: "t" }), join(dir, "kubeconfig"));
    const clock = new FakeClock();
    const metrics = createMetrics();
    const gates = new FeatureGates({ ClientsAllowCARotation: rotates });
    const transport = connection(access, { ...options, clock, metrics, gates });
    t.after(() => transport.close());
    const request = () => transport.request({ method: "GET", path: "/version" });
    await assert.rejects(request(), /not signed by the certificate authority that we trust/);
    writeFileSync(file, fixture("ca.pem"));
    await clock.advance(1000);
    if (rotates) await request();
    else await assert.rejects(request(), /not signed by the certificate authority that we trust/);
    const reloads = /rest_client_transport_ca_reload_total\{.*"updated"\} 1/;
    assert.equal(reloads.test(await metrics.registry.metrics()), rotates);
  });

// parity: gate ClientsAllowTLSCacheGC=true, gate ClientsAllowTLSCacheGC=false
for (const frees of [true, false])
  test(`ClientsAllowTLSCacheGC: ${frees}: a closed client ${frees ? "leaves" : "remains in"} the cache that the metrics show`, async () => {
    const metrics = createMetrics();
    const gates = new FeatureGates({ ClientsAllowTLSCacheGC: frees });
    const access = parseKubeconfig(kubeconfig({ server: "https://127.0.0.1:1" }, { token: "t" }), "/k");
    const clock = new FakeClock();
    const [first, second] = [1, 2].map(() => connection(access, { ...options, clock, metrics, gates }));
    first?.close();
    const lines = (await metrics.registry.metrics()).split("\n");
    const entries = lines.filter((line) => /^rest_client_transport_cache_(entries|gc_calls)/.test(line));
    assert.deepEqual(
      entries,
      frees
        ? [
            "rest_client_transport_cache_entries 1",
            'rest_client_transport_cache_gc_calls_total{result="deleted"} 1',
          ]
        : ["rest_client_transport_cache_entries 2"],
    );
    second?.close();
  });
