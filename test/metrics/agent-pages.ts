import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { fieldTypesOf } from "../../src/kubelet/stats/fake-stats.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { MeteredNode } from "./metered-node.ts";

interface Listed {
  kind: string;
  items: {
    metadata: { name: string; namespace: string; uid: string };
    spec: { containers: { name: string; image: string }[] };
    status: { phase?: string };
  }[];
}

/** The debug endpoints of a running agent. It was started with ComponentFlagz and ComponentStatusz. */
export function agentPages(node: () => MeteredNode): void {
  it("/configz has the fields of a kubelet, with the configured values", async () => {
    const { kubeletconfig } = await node().json<{ kubeletconfig: Record<string, unknown> }>("/configz");
    const recorded = JSON.parse(
      readFileSync(new URL("../fixtures/config/configz-defaults.json", import.meta.url), "utf8"),
    ) as { kubeletconfig: Record<string, unknown> };
    const ours = fieldTypesOf(kubeletconfig);
    const missing = [...fieldTypesOf(recorded.kubeletconfig)].filter(
      ([path, type]) => ours.get(path) !== type && !path.startsWith(".evictionHard."),
    );
    assert.deepEqual(missing, []);
    assert.equal(kubeletconfig.port, node().port);
    assert.equal(kubeletconfig.tlsCertFile, join(node().apiNode.node.rootDir, "pki/kubelet.crt"));
    assert.equal(kubeletconfig.imageGCHighThresholdPercent, 100);
  });

  it("/runningpods/ has the names of the pods in the runtime, and the IDs of their images", async () => {
    const { body } = await node().request("/runningpods/");
    const { kind, items } = JSON.parse(body) as Listed;
    const web = items.find(({ metadata }) => metadata.name === "web");
    assert.deepEqual(
      [kind, Object.keys(web ?? {}), web?.metadata.namespace, body.at(-1)],
      ["PodList", ["metadata", "spec", "status"], "default", "\n"],
    );
    const [container, ...others] = web?.spec.containers ?? [];
    assert.deepEqual([container?.name, others], ["c", []]);
    assert.match(container?.image ?? "", /^sha256:[0-9a-f]{64}$/);
  });

  it("/flagz has every flag of the command line, with its value", async () => {
    const accept = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz";
    const { status, body } = await node().request("/flagz", { headers: { accept } });
    assert.equal(status, 200, body);
    const { flags } = JSON.parse(body) as { flags: Record<string, string> };
    assert.deepEqual(
      [flags.v, flags["root-dir"], flags["hostname-override"], flags["max-pods"], flags.help],
      ["4", node().apiNode.node.rootDir, "node-a", "110", "false"],
    );
    assert.ok(Object.keys(flags).length > 100, `${Object.keys(flags).length} flags`);
    const text = await node().request("/flagz");
    assert.match(text.body, /^\nkubelet flagz\nWarning: .*\n/);
    assert.match(text.body, new RegExp(`^root-dir=${node().apiNode.node.rootDir}$`, "m"));
  });

  it("/statusz shows uptime, version and paths of the agent", async () => {
    const { body } = await node().request("/statusz");
    assert.match(body, /^\nkubelet statusz\n/);
    assert.match(body, /^Up: 0 hr \d\d min \d\d sec$/m);
    assert.match(body, /^Binary version: 1\.36\.\d+\nEmulation version: 1\.36$/m);
    assert.match(body, /^Paths: \/configz \/debug \/flagz \/healthz \/metrics$/m);
  });

  it("/debug/flags/v changes the verbosity", async () => {
    const set = (level: string) => node().request("/debug/flags/v", { method: "PUT", body: level });
    const written = () => node().apiNode.agent.log();
    assert.deepEqual((await set("0")).body, "successfully set klog.logging.verbosity to 0\n");
    const before = written().length;
    await node().apiNode.addPod("quiet");
    await node().apiNode.runs("quiet");
    assert.doesNotMatch(written().slice(before), /Container started/);
    await set("4");
    await node().apiNode.addPod("loud");
    await node().apiNode.runs("loud");
    await waitFor(() => assert.match(written().slice(before), /Container started.*default\/loud/));
    assert.equal((await set("many")).status, 400);
  });

  it("/pods lists desired pods with their status, /runningpods/ lists the pods in the runtime", async () => {
    const wanted = await node().json<Listed>("/pods");
    const phase = (name: string) => wanted.items.find(({ metadata }) => metadata.name === name)?.status.phase;
    assert.equal(wanted.kind, "PodList");
    assert.deepEqual([phase("web"), phase("fixed-node-a"), phase("crash")], ["Running", "Running", "Failed"]);
    const running = await node().json<Listed>("/runningpods/");
    const found = (name: string) => running.items.find(({ metadata }) => metadata.name === name);
    assert.equal(
      found("web")?.metadata.uid,
      wanted.items.find((p) => p.metadata.name === "web")?.metadata.uid,
    );
    assert.deepEqual(
      found("web")?.spec.containers.map(({ name }) => name),
      ["c"],
    );
    assert.ok(found("fixed-node-a"));
    assert.equal(found("crash"), undefined);
  });

  it("/checkpoint writes an archive of the named pod, or returns the runtime's error", async () => {
    const request = (path: string) => node().request(`/checkpoint/${path}`, { method: "POST" });
    const { status, body } = await request("default/web/c?timeout=5");
    const dir = join(node().apiNode.node.rootDir, "checkpoints");
    if (status === 200) {
      const { items } = JSON.parse(body) as { items: string[] };
      assert.deepEqual(
        items,
        readdirSync(dir).map((name) => join(dir, name)),
      );
      assert.match(items[0] ?? "", /\/checkpoint-web_default-c-\d{4}-.*\.tar$/);
    } else {
      assert.equal(status, 500);
      assert.match(body, /^checkpointing of default\/web\/c failed \(.*(criu|CheckpointContainer).*\)/is);
      assert.deepEqual(readdirSync(dir), []);
    }
    assert.equal((await node().apiNode.runs("web")).status?.containerStatuses?.[0]?.restartCount, 0);
    for (const [path, code, why] of [
      ["default/none/c", 404, /pod does not exist/],
      ["default/web/none", 404, /container none does not exist/],
      ["default/web/c?timeout=soon", 404, /cannot parse value of timeout parameter/],
      ["default/crash/c", 500, /container c not found/],
      ["default/web/c?timeout=-1", 500, /timeout value to be > 0/],
    ] as const) {
      const response = await request(path);
      assert.equal(response.status, code, path);
      assert.match(response.body, why);
    }
  });

  it("/debug/pprof returns CPU and heap profiles while pods are synced", async () => {
    let profiling = true;
    const work = async () => {
      while (profiling) await node().request("/metrics/cadvisor");
    };
    const taken = node()
      .request("/debug/pprof/profile?seconds=1")
      .finally(() => {
        profiling = false;
      });
    const [{ body }] = await Promise.all([taken, work()]);
    const profile = JSON.parse(body) as {
      nodes: { callFrame: { functionName: string } }[];
      endTime: number;
      startTime: number;
    };
    const names = profile.nodes.map(({ callFrame }) => callFrame.functionName);
    assert.ok(names.includes("exposition"), "the profile lacks the function that writes metrics");
    assert.ok(profile.endTime - profile.startTime > 500_000, "the profile is shorter than half a second");
    const heap = JSON.parse((await node().request("/debug/pprof/heap?seconds=1")).body) as {
      head: { callFrame: { functionName: string } };
      samples: unknown[];
    };
    assert.equal(heap.head.callFrame.functionName, "(root)");
    assert.ok(heap.samples.length > 0, "the heap profile has no samples");
    assert.equal((await node().request("/debug/pprof/snapshot")).status, 405);
    assert.match((await node().request("/debug/pprof/cmdline")).body, /--root-dir=/);
    assert.equal((await node().request("/debug/pprof/nothing")).status, 404);
  });
}
