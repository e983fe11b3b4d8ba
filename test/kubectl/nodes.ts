import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { Kubectl } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, run, uidOf } from "./pods.ts";

/** kubectl cordon, taint and drain. They change the node, so they run last. */
export function nodes(setup: KubectlSetup): void {
  describeInNamespace(setup, "nodes", (kubectl) => {
    afterEach(async () => {
      await kubectl().run(["uncordon", setup.nodeName]);
      await kubectl().run(["taint", "node", setup.nodeName, "reserved-"]);
    });

    const status = async () => /^\S+ +(\S+)/m.exec(await kubectl().ok(["get", "node", "--no-headers"]))?.[1];

    test("a cordoned node gets no pods until it is uncordoned, and keeps its running pods", async () => {
      const k = kubectl();
      const [earlier] = await run(k, pod("earlier"));
      assert.equal(await k.ok(["cordon", setup.nodeName]), `node/${setup.nodeName} cordoned\n`);
      assert.equal(await status(), "Ready,SchedulingDisabled");
      await waitsForNode(k, "waits", "0/1 nodes are available: 1 node(s) were unschedulable.");
      assert.equal((await setup.node.running(earlier!)).length, 1);
      assert.equal(await k.ok(["uncordon", setup.nodeName]), `node/${setup.nodeName} uncordoned\n`);
      assert.equal(await status(), "Ready");
      await runsNow(k, "waits");
    });

    test("pods that do not tolerate a taint are not scheduled to the node", async () => {
      const k = kubectl();
      assert.equal(
        await k.ok(["taint", "node", setup.nodeName, "reserved=yes:NoSchedule"]),
        `node/${setup.nodeName} tainted\n`,
      );
      assert.match(await k.ok(["describe", "node", setup.nodeName]), /^Taints: +reserved=yes:NoSchedule$/m);
      await waitsForNode(
        k,
        "strange",
        "0/1 nodes are available: 1 node(s) had untolerated taint {reserved: yes}.",
      );
      await run(k, pod("tolerant", { spec: { tolerations: [{ key: "reserved", operator: "Exists" }] } }));
      assert.equal(
        await k.ok(["taint", "node", setup.nodeName, "reserved-"]),
        `node/${setup.nodeName} untainted\n`,
      );
      await runsNow(k, "strange");
    });

    test("a nodeSelector selects the node by its labels", async () => {
      const k = kubectl();
      await k.ok(["create", "-f", "-"], {
        input: pod("picky", { spec: { nodeSelector: { disk: "fast" } } }),
      });
      await k.ok(["wait", "--for=condition=PodScheduled=False", "pod/picky", "--timeout=30s"]);
      await k.ok(["label", "node", setup.nodeName, "disk=fast"]);
      await runsNow(k, "picky");
      await k.ok(["label", "node", setup.nodeName, "disk-"]);
    });

    test("drain evicts pods of users, and leaves mirror pods", async () => {
      const k = kubectl();
      const [uid] = await run(k, pod("evicted"));
      const only = ["--force", "--ignore-daemonsets", "--pod-selector=!app", "--timeout=60s"];
      const { status, stdout } = await k.run(["drain", setup.nodeName, ...only]);
      assert.equal(status, 0, stdout);
      assert.match(stdout, /^pod\/evicted evicted$/m);
      assert.match(stdout, new RegExp(`^node/${setup.nodeName} drained$`, "m"));
      await setup.node.nothingRuns(uid!);
      assert.match(await setup.kubectl.ok(["get", "pods"]), /^demo-\S+ +1\/1 +Running/m);
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
    await setup.node.nothingRuns(await uidOf(k, name));
  }

  async function runsNow(k: Kubectl, name: string): Promise<void> {
    await k.ok(["wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s"]);
    assert.equal((await setup.node.running(await uidOf(k, name))).length, 1);
  }
}
