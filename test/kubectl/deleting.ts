import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { configMap, list, pod, run } from "./pods.ts";

/** Ignores SIGTERM. */
const ignoresTerm = { command: ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"] };

/** kubectl delete. */
export function deleting(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "deleting",
    (kubectl) => {
      test("a pod is terminated, and removed after its containers", async () => {
        const k = kubectl();
        const [uid] = await run(k, pod("web"));
        const watched = k.start([
          "get",
          "pod",
          "web",
          "-w",
          "-o",
          "jsonpath={.metadata.deletionGracePeriodSeconds},",
        ]);
        await watched.prints(/,/);
        assert.match(await k.ok(["delete", "pod", "web"]), /^pod "web" deleted/);
        await setup.node.nothingRuns(uid!);
        assert.match(await k.fails(["get", "pod", "web"]), /NotFound/);
        await watched.stop();
        assert.match(watched.stdout, /10,/, "the grace period is not that of the manifest");
      });

      test("--wait=false returns immediately; the pod is Terminating, and its containers exit within the grace period", async () => {
        const k = kubectl();
        const [uid] = await run(
          k,
          pod("slow", { container: ignoresTerm, spec: { terminationGracePeriodSeconds: 8 } }),
        );
        assert.match(await k.ok(["delete", "pod", "slow", "--wait=false"]), /^pod "slow" deleted/);
        assert.match(await k.ok(["get", "pod", "slow"]), /Terminating/);
        assert.equal((await setup.node.running(uid!)).length, 1);
        await k.ok(["wait", "--for=delete", "pod/slow", "--timeout=60s"]);
        await setup.node.nothingRuns(uid!);
      });

      test("--now sets a grace period of one second", async () => {
        const k = kubectl();
        const [uid] = await run(
          k,
          pod("now", { container: ignoresTerm, spec: { terminationGracePeriodSeconds: 3600 } }),
        );
        assert.match(await k.ok(["delete", "pod", "now", "--now"]), /^pod "now" deleted/);
        await setup.node.nothingRuns(uid!);
      });

      test("--grace-period shortens the grace period of the manifest, even while the pod terminates", async () => {
        const k = kubectl();
        const [uid] = await run(
          k,
          pod("shorter", { container: ignoresTerm, spec: { terminationGracePeriodSeconds: 3600 } }),
        );
        await k.ok(["delete", "pod", "shorter", "--wait=false"]);
        await k.ok(["delete", "pod", "shorter", "--grace-period=1", "--timeout=60s"]);
        await setup.node.nothingRuns(uid!);
      });

      test("--force --grace-period=0 removes the pod immediately, and the node kills its containers", async () => {
        const k = kubectl();
        const [uid] = await run(k, pod("forced"));
        const { status, stdout, stderr } = await k.run([
          "delete",
          "pod",
          "forced",
          "--force",
          "--grace-period=0",
        ]);
        assert.equal(status, 0);
        assert.match(stdout, /^pod "forced" force deleted/);
        assert.match(
          stderr,
          /^Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated/,
        );
        assert.match(await k.fails(["get", "pod", "forced"]), /NotFound/);
        await waitFor(() => setup.node.nothingRuns(uid!));
      });

      test("a pod of the same name can be created immediately", async () => {
        const k = kubectl();
        const [first] = await run(k, pod("next"));
        await k.ok(["delete", "pod", "next", "--force", "--grace-period=0"]);
        const [second] = await run(k, pod("next"));
        assert.notEqual(first, second);
        assert.equal((await setup.node.running(second!)).length, 1);
        await waitFor(() => setup.node.nothingRuns(first!));
      });

      test("--dry-run=server deletes nothing", async () => {
        const k = kubectl();
        await k.ok(["create", "configmap", "dry"]);
        assert.match(
          await k.ok(["delete", "configmap", "dry", "--dry-run=server"]),
          /^configmap "dry" deleted.*\(server dry run\)\n$/,
        );
        await k.ok(["get", "configmap", "dry"]);
      });

      test("a finalizer keeps an object until it is removed", async () => {
        const k = kubectl();
        const input = configMap("held", {}, { finalizers: ["example.com/hold"] });
        await k.ok(["create", "-f", "-"], { input });
        await k.ok(["delete", "configmap", "held", "--wait=false"]);
        const { metadata } = await k.json(["get", "configmap", "held"]);
        assert.match(metadata.deletionTimestamp, /^\d{4}-/);
        await k.ok(["patch", "configmap", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
        await k.ok(["wait", "--for=delete", "configmap/held", "--timeout=20s"]);
      });

      test("dependents are deleted with their owner, unless they are orphaned", async () => {
        const k = kubectl();
        for (const [owner, cascade] of [
          ["parent", "background"],
          ["strict", "foreground"],
          ["lax", "orphan"],
        ] as const) {
          await k.ok(["create", "configmap", owner]);
          const { metadata } = await k.json(["get", "configmap", owner]);
          const ownerReferences = [
            { apiVersion: "v1", kind: "ConfigMap", name: owner, uid: metadata.uid, blockOwnerDeletion: true },
          ];
          await k.ok(["create", "-f", "-"], {
            input: configMap(`child-of-${owner}`, {}, { ownerReferences }),
          });
          await k.ok(["delete", "configmap", owner, `--cascade=${cascade}`]);
        }
        await k.ok(["wait", "--for=delete", "configmap/child-of-parent", "--timeout=20s"]);
        assert.match(await k.fails(["get", "configmap", "child-of-strict"]), /NotFound/);
        const orphan = await k.json(["get", "configmap", "child-of-lax"]);
        assert.equal(orphan.metadata.ownerReferences, undefined);
      });

      test("a namespace is deleted with its content; its pods are terminated on the node", async () => {
        const k = kubectl().in("doomed");
        await k.ok(["create", "namespace", "doomed"]);
        const [uid] = await run(k, pod("web"));
        await k.ok(["create", "configmap", "settings"]);
        assert.match(await k.ok(["delete", "namespace", "doomed"]), /^namespace "doomed" deleted\n$/);
        assert.match(await k.fails(["get", "namespace", "doomed"]), /namespaces "doomed" not found/);
        assert.equal(await k.ok(["get", "pods,configmaps,serviceaccounts", "-o", "name"]), "");
        await setup.node.nothingRuns(uid!);
        assert.match(await k.fails(["create", "configmap", "late"]), /namespaces "doomed" not found/);
      });

      test("system namespaces cannot be deleted", async () => {
        assert.match(
          await kubectl().fails(["delete", "namespace", "kube-system"]),
          /\(Forbidden\): namespaces "kube-system" is forbidden: this namespace may not be deleted/,
        );
      });
    },
    "parallel",
  );

  describeInNamespace(setup, "deleting-many", (kubectl) => {
    test("objects are deleted by label, by file, or all of a kind", async () => {
      const k = kubectl();
      const labels = { of: "these" };
      const maps = ["a", "b", "c", "d"].map((name) => configMap(name, {}, name < "c" ? { labels } : {}));
      await k.ok(["create", "-f", "-"], { input: list(...maps) });
      const byLabel = await k.ok(["delete", "configmap", "-l", "of=these"]);
      assert.match(byLabel, /^configmap "a" deleted.*\nconfigmap "b" deleted.*\n$/);
      const file = k.file("c.json", configMap("c", {}));
      assert.match(await k.ok(["delete", "-f", file]), /^configmap "c" deleted.*\n$/);
      assert.match(await k.fails(["delete", "-f", file]), /\(NotFound\).*configmaps "c" not found/);
      assert.equal(await k.ok(["delete", "-f", file, "--ignore-not-found"]), "");
      const [uid] = await run(k, pod("one"));
      assert.match(await k.ok(["delete", "pods", "--all"]), /^pod "one" deleted/m);
      assert.equal(await k.ok(["get", "pods", "-o", "name"]), "");
      await setup.node.nothingRuns(uid!);
      assert.match(await k.ok(["delete", "configmap", "--all"]), /^configmap "d" deleted/m);
    });
  });
}
