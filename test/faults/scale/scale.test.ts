import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { long } from "../../long.ts";
import { BusyAgent } from "./busy-agent.ts";

const counts = [125, 250, 500] as const;
const observedMs = 10_000;

/** The costs of each pod, by phase of their lives. */
interface Costs {
  readonly cpuMsOfLife: number;
  readonly cpuMsPerSecond: number;
  readonly runtimeCalls: number;
  readonly apiRequests: number;
}

async function costs(t: TestContext, count: number): Promise<Costs> {
  const agent = await BusyAgent.start(t);
  const { runtime, api } = agent.cluster;
  /** Without periodic calls, whose number depends on how long the pods take. */
  const calls = () =>
    runtime.calls.filter(({ method }) => !/^(ExecSync|List.*|Status|Version)$/.test(method)).length;
  const requests = () => api.requests.filter((request) => /(pods|configmaps) /.test(request)).length;
  const before = { cpu: agent.cpuMs(), calls: calls(), requests: requests() };
  await agent.addPods("p", count);
  const started = agent.cpuMs();
  const from = performance.now();
  await pause(observedMs);
  const observed = agent.cpuMs();
  const seconds = (performance.now() - from) / 1000;
  await agent.removePods("p", count);
  return {
    cpuMsOfLife: (started - before.cpu + agent.cpuMs() - observed) / count,
    cpuMsPerSecond: (observed - started) / seconds / count,
    runtimeCalls: (calls() - before.calls) / count,
    apiRequests: (requests() - before.requests) / count,
  };
}

test(long("costs grow at most linearly with the number of pods"), { timeout: 900_000 }, async (t) => {
  const measured: Costs[] = [];
  for (const count of counts)
    await t.test(`${count} pods`, async (one) => {
      measured.push(await costs(one, count));
    });
  t.diagnostic(JSON.stringify(measured.map((costs, i) => ({ pods: counts[i], ...costs }))));
  const [few, ...more] = measured as [Costs, ...Costs[]];
  for (const [i, many] of more.entries()) {
    const about = `${counts[i + 1]} pods: ${JSON.stringify({ few, many })}`;
    assert.ok(many.runtimeCalls <= few.runtimeCalls * 1.5 + 1, `runtime calls, ${about}`);
    assert.ok(many.apiRequests <= few.apiRequests * 1.5 + 1, `API requests, ${about}`);
    // Quadratic costs would be 2 or 4 times as high for each pod; what does not depend on the pods becomes less.
    assert.ok(many.cpuMsOfLife < few.cpuMsOfLife * 1.9, `CPU time of a life, ${about}`);
    assert.ok(many.cpuMsPerSecond < few.cpuMsPerSecond * 1.9 + 0.2, `CPU time while running, ${about}`);
  }
});
