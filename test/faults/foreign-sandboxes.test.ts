import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { PodSandboxConfigSchema } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { waitFor } from "../e2e/wait-for.ts";
import { StandaloneAgent } from "./standalone-agent.ts";

const count = 60;
/** With a stream of events the agent relists every 10 s. */
const relists = 3;

const [agent, other] = await Promise.all([StandaloneAgent.create(), StandaloneAgent.create()]);
after(() => Promise.all([agent.destroy(), other.destroy()]));

const sandboxesOf = ({ runtime }: StandaloneAgent) => [...runtime.pods.sandboxes.values()];
const relistsOf = ({ runtime }: StandaloneAgent) =>
  runtime.callsOf("ListPodSandbox").filter(({ request }) => JSON.stringify(request) === "{}");

/** The calls and log lines of an agent during a fixed number of relists. */
async function idle(observed: StandaloneAgent): Promise<{ calls: Record<string, number>; lines: string[] }> {
  const { runtime } = observed;
  const nextRelist = async (more: number) => {
    const before = relistsOf(observed).length;
    await waitFor(() => assert.ok(relistsOf(observed).length >= before + more), 120_000);
    return runtime.calls.lastIndexOf(relistsOf(observed)[before + more - 1]!);
  };
  // Events of the removal may cause listings of single pods for a while.
  let begin = await nextRelist(1);
  for (let quiet = false; !quiet; ) {
    const next = await nextRelist(1);
    quiet = runtime.calls.slice(begin + 1, next).every(({ method }) => method !== "ListPodSandbox");
    begin = next;
  }
  const logged = observed.log().length;
  const end = await nextRelist(relists);
  const calls: Record<string, number> = {};
  for (const { method } of runtime.calls.slice(begin, end)) calls[method] = (calls[method] ?? 0) + 1;
  const lines = observed.log().slice(logged).split("\n").filter(Boolean);
  return { calls, lines };
}

test(`${count} sandboxes that no kubelet created are stopped once, and cause no further calls`, async (t) => {
  const ids = Array.from({ length: count }, (_, i) => {
    const metadata = { name: `foreign-${i}`, namespace: "elsewhere", uid: `not-ours-${i}`, attempt: 0 };
    return agent.runtime.pods.run(create(PodSandboxConfigSchema, { metadata }), "").id;
  });
  for (const each of [agent, other]) each.start();
  await Promise.all([agent.ready(), other.ready()]);
  await waitFor(() => assert.equal(sandboxesOf(agent).length, 0), 120_000);

  const stops = agent.runtime.callsOf("StopPodSandbox").map(({ request }) => JSON.stringify(request));
  for (const id of ids)
    assert.ok(stops.includes(JSON.stringify({ podSandboxId: id })), `${id} was not stopped by its own ID`);
  const lines = agent.log().split("\n");
  for (const i of ids.keys()) {
    const about = lines.filter((line) => line.includes(`elsewhere/foreign-${i}"`));
    assert.equal(new Set(about.map(messageOf)).size, about.length, about.join("\n"));
  }

  const [cleaned, baseline] = await Promise.all([idle(agent), idle(other)]);
  t.diagnostic(`calls of ${relists} relists: ${JSON.stringify(cleaned.calls)}`);
  assert.deepEqual(cleaned.lines, [], "an idle agent logs");
  assert.deepEqual(cleaned.lines, baseline.lines);
  // Timers of other periods may fall on either side of a relist.
  for (const method of new Set([...Object.keys(cleaned.calls), ...Object.keys(baseline.calls)])) {
    const [after, expected] = [cleaned.calls[method] ?? 0, baseline.calls[method] ?? 0];
    assert.ok(
      Math.abs(after - expected) <= 2,
      `${method}: ${after} calls, ${expected} without foreign sandboxes`,
    );
  }
});

/** The quoted message of a log line. */
function messageOf(line: string): string {
  return /\] "([^"]*)"/.exec(line)?.[1] ?? line;
}
