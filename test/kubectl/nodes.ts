import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Kubectl } from "./kubectl.ts";
import { type Bench, describeIn } from "./kubectl-suite.ts";
import { pod, run, uidOf } from "./pods.ts";

/** kubectl cordon, taint and drain. They change the node, so they come last. */
export function nodes(bench: Bench): void {
  describeIn(bench, "nodes", (at) => {
    afterEach(async () => {
      await at().type(["uncordon", bench.nodeName]);
      await at().type(["taint", "node", bench.nodeName, "reserved-"]);
    });

    const status = async () => /^\S+ +(\S+)/m.exec(await at().ok(["get", "node", "--no-headers"]))?.[1];

    test("a cordoned node gets no pods, until it is uncordoned; running pods are not affected", async () => {
      const k = at();
      const [earlier] = await run(k, pod("earlier"));
      assert.equal(await k.ok(["cordon", bench.nodeName]), `node/${bench.nodeName} cordoned\n`);
      assert.equal(await status(), "Ready,SchedulingDisabled");
      await waitsForNode(k, "waits", "0/1 nodes are available: 1 node(s) were unschedulable.");
      assert.equal((await bench.node.running(earlier!)).length, 1);
      assert.equal(await k.ok(["uncordon", bench.nodeName]), `node/${bench.nodeName} uncordoned\n`);
      assert.equal(await status(), "Ready");
      await runsNow(k, "waits");
    });

    test("a taint keeps away pods that do not tolerate it", async () => {
      const k = at();
      assert.equal(
        await k.ok(["taint", "node", bench.nodeName, "reserved=yes:NoSchedule"]),
        `node/${bench.nodeName} tainted\n`,
      );
      assert.match(await k.ok(["describe", "node", bench.nodeName]), /^Taints: +reserved=yes:NoSchedule$/m);
      await waitsForNode(
        k,
        "strange",
        "0/1 nodes are available: 1 node(s) had untolerated taint {reserved: yes}.",
      );
      await run(k, pod("tolerant", { spec: { tolerations: [{ key: "reserved", operator: "Exists" }] } }));
      assert.equal(
        await k.ok(["taint", "node", bench.nodeName, "reserved-"]),
        `node/${bench.nodeName} untainted\n`,
      );
      await runsNow(k, "strange");
    });

    test("a node is selected by its labels", async () => {
      const k = at();
      await k.ok(["create", "-f", "-"], {
        input: pod("picky", { spec: { nodeSelector: { disk: "fast" } } }),
      });
      await k.ok(["wait", "--for=condition=PodScheduled=False", "pod/picky", "--timeout=30s"]);
      await k.ok(["label", "node", bench.nodeName, "disk=fast"]);
      await runsNow(k, "picky");
      await k.ok(["label", "node", bench.nodeName, "disk-"]);
    });

    test("drain evicts pods of users, and leaves mirror pods", async () => {
      const k = at();
      const [uid] = await run(k, pod("evicted"));
      const only = ["--force", "--ignore-daemonsets", "--pod-selector=!app", "--timeout=60s"];
      const { status, stdout } = await k.type(["drain", bench.nodeName, ...only]);
      assert.equal(status, 0, stdout);
      assert.match(stdout, /^pod\/evicted evicted$/m);
      assert.match(stdout, new RegExp(`^node/${bench.nodeName} drained$`, "m"));
      await bench.node.nothingRuns(uid!);
      assert.match(await bench.kubectl.ok(["get", "pods"]), /^demo-\S+ +1\/1 +Running/m);
    });
  });

  async function waitsForNode(k: Kubectl, name: string, reason: string): Promise<void> {
    await k.ok(["create", "-f", "-"], { input: pod(name) });
    await k.ok(["wait", "--for=condition=PodScheduled=False", `pod/${name}`, "--timeout=30s"]);
    const { spec, status } = await k.json(["get", "pod", name]);
    assert.equal(spec.nodeName, undefined);
    assert.equal(status.phase, "Pending");
    assert.equal(status.conditions[0].reason, "Unschedulable");
    assert.ok(status.conditions[0].message.startsWith(reason), status.conditions[0].message);
    await bench.node.nothingRuns(await uidOf(k, name));
  }

  async function runsNow(k: Kubectl, name: string): Promise<void> {
    await k.ok(["wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s"]);
    assert.equal((await bench.node.running(await uidOf(k, name))).length, 1);
  }
}
