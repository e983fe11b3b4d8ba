import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import type { Kubectl } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { configMap, demoImage, list, type Manifest, pod, run, uidOf } from "./pods.ts";

/** kubectl apply, client side, and diff. */
export function applying(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "applying",
    (kubectl) => {
      test("apply creates a pod that runs, leaves an unchanged one, and updates a changed one", async () => {
        const k = kubectl();
        const manifest = pod("web", { labels: { app: "web" } });
        assert.equal(await apply(k, manifest), "pod/web created\n");
        await k.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
        const uid = await uidOf(k, "web");
        const [container] = await setup.node.running(uid);
        assert.ok(container, "it runs");
        const version = () => k.ok(["get", "pod", "web", "-o", "jsonpath={.metadata.resourceVersion}"]);
        const before = await version();
        assert.equal(await apply(k, manifest), "pod/web unchanged\n");
        assert.equal(await version(), before);
        manifest.metadata.labels.app = "other";
        assert.equal(await apply(k, manifest), "pod/web configured\n");
        assert.equal(
          await k.ok(["get", "pod", "web", "-o", "jsonpath={.metadata.labels}"]),
          '{"app":"other"}',
        );
        assert.deepEqual(
          (await setup.node.running(uid)).map(({ id }) => id),
          [container.id],
        );
      });

      test("fields that were removed from the manifest are deleted; fields of other managers are kept", async () => {
        const k = kubectl();
        const manifest = configMap("shared", { a: "1", b: "2" }, { labels: { mine: "1", also: "2" } });
        await apply(k, manifest);
        await k.ok(["label", "configmap", "shared", "theirs=3"]);
        await k.ok(["patch", "configmap", "shared", "-p", '{"data":{"c":"3"}}']);
        delete manifest.data.b;
        delete manifest.metadata.labels.also;
        assert.equal(await apply(k, manifest), "configmap/shared configured\n");
        const { data, metadata } = await k.json(["get", "configmap", "shared"]);
        assert.deepEqual(data, { a: "1", c: "3" });
        assert.deepEqual(metadata.labels, { mine: "1", theirs: "3" });
      });

      test("list items are merged by key: tolerations are added, another image restarts the container", async () => {
        const k = kubectl();
        await setup.node.tag(demoImage, "localhost/kubelet-ts/demo:applied");
        const manifest = pod("lists");
        await apply(k, manifest);
        await k.ok(["wait", "--for=condition=Ready", "pod/lists", "--timeout=60s"]);
        manifest.spec.containers[0].image = "localhost/kubelet-ts/demo:applied";
        manifest.spec.tolerations = [{ key: "k", operator: "Exists", effect: "NoSchedule" }];
        assert.equal(await apply(k, manifest), "pod/lists configured\n");
        const { spec } = await k.json(["get", "pod", "lists"]);
        assert.deepEqual(
          spec.containers.map(({ name, image }: Manifest) => [name, image]),
          [["c", "localhost/kubelet-ts/demo:applied"]],
        );
        assert.deepEqual(
          spec.tolerations.map(({ key }: Manifest) => key),
          ["k", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"],
        );
        await k.ok([
          "wait",
          "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
          "pod/lists",
          "--timeout=60s",
        ]);
        await k.ok(["wait", "--for=condition=Ready", "pod/lists", "--timeout=60s"]);
      });

      test("the objects of one file are applied in order, one by one", async () => {
        const k = kubectl();
        const file = k.file(
          "several.yaml",
          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: two}\ndata: {a: Yg==}\n",
        );
        assert.equal(await k.ok(["apply", "-f", file]), "configmap/one created\nsecret/two created\n");
        assert.equal(await k.ok(["apply", "-f", file]), "configmap/one unchanged\nsecret/two unchanged\n");
        assert.equal(await k.ok(["get", "secret", "two", "-o", "jsonpath={.data.a}"]), "Yg==");
      });

      test("apply --prune deletes objects that are no longer in the files", async () => {
        const k = kubectl();
        const labels = { set: "pruned" };
        await apply(k, list(configMap("stays", {}, { labels }), configMap("goes", {}, { labels })));
        const args = [
          "apply",
          "-f",
          "-",
          "--prune",
          "-l",
          "set=pruned",
          "--prune-allowlist=core/v1/ConfigMap",
        ];
        const out = await k.ok(args, { input: configMap("stays", {}, { labels }) });
        assert.equal(out, "configmap/stays unchanged\nconfigmap/goes pruned\n");
        assert.equal(await k.ok(["get", "configmap", "-l", "set=pruned", "-o", "name"]), "configmap/stays\n");
      });

      for (const [how, output] of [
        ["client", "dry run"],
        ["server", "server dry run"],
      ] as const) {
        test(`--dry-run=${how} prints what would be done and does nothing`, async () => {
          const k = kubectl();
          const input = configMap(`dry-${how}`, { a: "1" });
          const dry = ["apply", "-f", "-", `--dry-run=${how}`];
          assert.equal(await k.ok(dry, { input }), `configmap/dry-${how} created (${output})\n`);
          assert.match(await k.fails(["get", "configmap", `dry-${how}`]), /not found/);
          await apply(k, input);
          // Before 1.33 nothing is compared on the client.
          const same = how === "client" && k.version === "1.32" ? "configured" : "unchanged";
          assert.equal(await k.ok(dry, { input }), `configmap/dry-${how} ${same} (${output})\n`);
          input.data.a = "2";
          assert.equal(await k.ok(dry, { input }), `configmap/dry-${how} configured (${output})\n`);
          assert.equal(await k.ok(["get", "configmap", `dry-${how}`, "-o", "jsonpath={.data.a}"]), "1");
        });
      }

      test("a server-side dry run shows defaults, and runs nothing", async () => {
        const k = kubectl();
        const input = pod("dry-pod");
        const created = JSON.parse(
          await k.ok(["apply", "-f", "-", "--dry-run=server", "-o", "json"], { input }),
        );
        assert.equal(created.spec.serviceAccountName, "default");
        assert.equal(created.spec.dnsPolicy, "ClusterFirst");
        assert.match(await k.fails(["get", "pod", "dry-pod"]), /not found/);
        await setup.node.nothingRuns(created.metadata.uid);
      });

      test("diff shows what apply would change, and exits with 1 if there are changes", async () => {
        const k = kubectl();
        const input = configMap("differs", { a: "1" });
        await apply(k, input);
        assert.equal((await k.run(["diff", "-f", "-"], { input })).status, 0);
        input.data.a = "2";
        const { status, stdout } = await k.run(["diff", "-f", "-"], { input });
        assert.equal(status, 1);
        assert.match(stdout, /^- {2}a: "1"\n\+ {2}a: "2"$/m);
        assert.equal(await k.ok(["get", "configmap", "differs", "-o", "jsonpath={.data.a}"]), "1");
      });

      test("a change to an immutable field of a pod is rejected, with the field and its new value", async () => {
        const k = kubectl();
        const manifest = pod("fixed");
        await apply(k, manifest);
        manifest.spec.dnsPolicy = "None";
        manifest.spec.dnsConfig = { nameservers: ["192.0.2.53"] };
        const output = await k.fails(["apply", "-f", "-"], { input: manifest });
        assert.match(
          output,
          /^The Pod "fixed" is invalid: spec: Forbidden: pod updates may not change fields other than/,
        );
        assert.match(output, /^\+ "dnsPolicy": "None",$/m);
      });

      test("replace replaces the whole object, and rejects an outdated one", async () => {
        const k = kubectl();
        await k.ok(["create", "-f", "-"], { input: configMap("whole", { a: "1", b: "2" }) });
        const old = await k.json(["get", "configmap", "whole"]);
        const input = { ...old, data: { a: "3" } };
        assert.equal(await k.ok(["replace", "-f", "-"], { input }), "configmap/whole replaced\n");
        assert.equal(await k.ok(["get", "configmap", "whole", "-o", "jsonpath={.data}"]), '{"a":"3"}');
        assert.match(
          await k.fails(["replace", "-f", "-"], { input }),
          /\(Conflict\).*Operation cannot be fulfilled on configmaps "whole": the object has been modified; please apply your changes to the latest version and try again/,
        );
        assert.match(
          await k.fails(["replace", "-f", "-"], { input: configMap("absent", {}) }),
          /\(NotFound\).*configmaps "absent" not found/,
        );
      });

      test("replace --force deletes a pod and creates another with the same name", async () => {
        const k = kubectl();
        const [uid] = await run(k, pod("again"));
        const file = k.file("again.json", pod("again", { labels: { second: "yes" } }));
        const out = await k.ok(["replace", "--force", "-f", file]);
        assert.match(out, /^pod "again" deleted.*\npod\/again replaced\n$/);
        await setup.node.nothingRuns(uid!);
        await k.ok(["wait", "--for=condition=Ready", "pod/again", "--timeout=60s"]);
        const next = await uidOf(k, "again");
        assert.notEqual(next, uid);
        await waitFor(async () => assert.equal((await setup.node.running(next)).length, 1));
      });
    },
    "parallel",
  );
}

function apply(k: Kubectl, input: object): Promise<string> {
  return k.ok(["apply", "-f", "-"], { input });
}
