import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { TestCluster } from "./cluster-node.ts";

/**
 * The requests for one pod of one container, whose image is present. They do not depend on the speed of the machine; a change that needs one
 * more has to change its budget here, with a reason.
 */
const budgets = {
  start: {
    // Waiting for its containers; running, with its address.
    "PATCH pods/status": 2,
    // Pulled, Created, Started.
    "POST events": 3,
    RunPodSandbox: 1,
    PodSandboxStatus: 1,
    ImageStatus: 1,
    CreateContainer: 1,
    StartContainer: 1,
    ContainerStatus: 1,
    // Before the first stage and after each of the two. The events of the runtime for them report nothing new.
    ListPodSandbox: 3,
    ListContainers: 3,
  },
  end: {
    // The containers have terminated; the phase.
    "PATCH pods/status": 2,
    // Killing.
    "POST events": 1,
    "DELETE pods": 1,
    StopContainer: 1,
    StopPodSandbox: 1,
    RemoveContainer: 1,
    RemovePodSandbox: 1,
    PodSandboxStatus: 1,
    ContainerStatus: 1,
    ListPodSandbox: 5,
    ListContainers: 5,
  },
} as const;

/** Timers of the node fall into the life of some pods, and a busy machine may separate what is usually one request. */
const pods = 6;
const ofNode = [
  "Status",
  "ImageFsInfo",
  "ListImages",
  "ListPodSandboxStats",
  "ListContainerStats",
  "Version",
];

test("the life of a pod needs no more requests to the API server and the runtime than its budget", async (t) => {
  const cluster = await TestCluster.start(t);
  const config = Object.assign(cluster.config(), { clusterDNS: ["10.0.0.10"] });
  await cluster.startAgent({ config });
  const { api, runtime } = cluster;
  const counted = async (life: () => Promise<void>): Promise<Record<string, number>> => {
    const [requests, calls] = [api.requests.length, runtime.calls.length];
    await life();
    const found: Record<string, number> = {};
    const count = (what: string) => {
      found[what] = (found[what] ?? 0) + 1;
    };
    for (const request of api.requests.slice(requests)) {
      const what = kindOf(request);
      if (what !== undefined) count(what);
    }
    for (const { method } of runtime.calls.slice(calls)) if (!ofNode.includes(method)) count(method);
    return found;
  };
  const lives = { start: [] as Record<string, number>[], end: [] as Record<string, number>[] };
  for (let i = 0; i < pods; i++) {
    const name = `pod-${i}`;
    const { metadata } = cluster.addPod(name);
    lives.start.push(
      await counted(async () => {
        await cluster.runs(name);
        await waitFor(() => assert.equal(cluster.events(name, "Started").length, 1));
        await quiet(cluster);
      }),
    );
    lives.end.push(
      await counted(async () => {
        api.deletePod(name);
        await cluster.isGone(name);
        await waitFor(() => assert.equal(cluster.containersOf(metadata.uid).length, 0));
        await waitFor(() => assert.equal(cluster.agent.overview.rows().length, 0));
        await quiet(cluster);
      }),
    );
  }
  for (const part of ["start", "end"] as const) {
    const kinds = new Set(lives[part].flatMap((life) => Object.keys(life)));
    const budget: Readonly<Record<string, number>> = budgets[part];
    const least = Object.fromEntries(
      [...kinds].map((kind) => [kind, Math.min(...lives[part].map((life) => life[kind] ?? 0))]),
    );
    const over = Object.entries(least).filter(([kind, count]) => count > (budget[kind] ?? 0));
    assert.deepEqual(over, [], `${part}: ${JSON.stringify(least)}`);
    t.diagnostic(`${part}: ${JSON.stringify(least)}`);
  }
});

/** Undefined for requests of the node itself. */
function kindOf(request: string): string | undefined {
  const [method = "", resource = "", path = ""] = request.split(" ");
  if (resource === "events") return `${method} events`;
  if (resource !== "pods") return undefined;
  return `${method} ${path.endsWith("/status") ? "pods/status" : "pods"}`;
}

/** Resolves when nothing was requested for as long as a status may be delayed, and longer. */
async function quiet({ api, runtime }: TestCluster): Promise<void> {
  const total = () =>
    api.requests.filter((request) => kindOf(request) !== undefined).length +
    runtime.calls.filter(({ method }) => !ofNode.includes(method)).length;
  for (let before = -1; before !== total(); ) {
    before = total();
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}
