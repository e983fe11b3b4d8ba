import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { json, kubeconfig, TestApiServer } from "../../../../test/kube/api-server.ts";
import { settle } from "../../base/fake-clock.ts";
import { createMetrics } from "../../base/metrics.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { requestMetrics } from "./request-metrics.ts";
import { HttpKubeTransport } from "./transport.ts";

/** On real connections: time does not move during a request. */
unaffectedByJumps(
  "requests within the rate limit and after a response with Retry-After",
  20_000,
  async (clock) => {
    const seen: string[] = [];
    let requests = 0;
    const server = await TestApiServer.start("http", (_request, response) => {
      seen.push(`${clock.elapsedMs} request`);
      if (++requests % 3 === 0) json(response, 429, {}, { "retry-after": "2" });
      else json(response, 200, {});
    });
    let inFlight = 0;
    const transport = new HttpKubeTransport({
      access: parseKubeconfig(kubeconfig({ server: server.url }, {}), "/etc/kubelet.conf"),
      userAgent: "test",
      qps: 1,
      burst: 1,
      env: {},
      clock,
      metrics: {
        ...requestMetrics(createMetrics(), clock),
        throttled: (_method, _host, seconds) => {
          inFlight++;
          seen.push(`${clock.elapsedMs} held back for ${seconds} s`);
        },
      },
      onResponse: () => void inFlight--,
    });
    const idle = async () => {
      do await settle();
      while (inFlight > 0);
    };
    try {
      for (let i = 0; i < 6; i++) void transport.request({ method: "GET", path: `/${i}` }).catch(() => {});
      await idle();
      for (let i = 0; i < 40; i++) {
        await clock.advance(500);
        await idle();
      }
      return seen;
    } finally {
      transport.close();
      await server.close();
    }
  },
  { numRuns: 6 },
);
