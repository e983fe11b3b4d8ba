import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kubectl } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { configMap, type Manifest, pod, run, uidOf } from "./pods.ts";

/** kubectl apply --server-side. */
export function applyingServerSide(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "server-side",
    (kubectl) => {
      test("a pod is created and runs; applying it again changes nothing", async () => {
        const k = kubectl();
        const input = pod("web", { labels: { app: "web" } });
        assert.equal(await apply(k, input), "pod/web serverside-applied\n");
        await k.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
        const uid = await uidOf(k, "web");
        assert.equal((await setup.node.running(uid)).length, 1);
        const version = () => k.ok(["get", "pod", "web", "-o", "jsonpath={.metadata.resourceVersion}"]);
        const before = await version();
        assert.equal(await apply(k, input), "pod/web serverside-applied\n");
        assert.equal(await version(), before);
      });

      test("managers own the fields they set: a removed field is deleted only if no other manager owns it", async () => {
        const k = kubectl();
        const one = ["--field-manager=one"];
        const two = ["--field-manager=two"];
        await apply(k, configMap("owned", { mine: "1", both: "2" }), one);
        await apply(k, configMap("owned", { both: "2", theirs: "3" }), two);
        await apply(k, configMap("owned", {}), one);
        assert.equal(
          await k.ok(["get", "cm", "owned", "-o", "jsonpath={.data}"]),
          '{"both":"2","theirs":"3"}',
        );
        const { metadata } = await k.json(["get", "cm", "owned", "--show-managed-fields"]);
        const secondManager = metadata.managedFields.find(({ manager }: Manifest) => manager === "two");
        assert.deepEqual(secondManager.fieldsV1, { "f:data": { "f:both": {}, "f:theirs": {} } });
        assert.equal(secondManager.operation, "Apply");
      });

      test("a field of another manager is a conflict that names both, until it is forced", async () => {
        const k = kubectl();
        await apply(k, configMap("fought", { a: "1" }), ["--field-manager=one"]);
        const two = ["apply", "--server-side", "--field-manager=two", "-f", "-"];
        const input = configMap("fought", { a: "2" });
        const reported = await k.fails(two, { input });
        assert.match(reported, /^error: Apply failed with 1 conflict: conflict with "one": \.data\.a\n/);
        assert.match(reported, /re-run the apply\s+command with the `--force-conflicts` flag/);
        assert.equal(await k.ok(["get", "cm", "fought", "-o", "jsonpath={.data.a}"]), "1");
        assert.equal(
          await k.ok([...two, "--force-conflicts"], { input }),
          "configmap/fought serverside-applied\n",
        );
        assert.equal(await k.ok(["get", "cm", "fought", "-o", "jsonpath={.data.a}"]), "2");
      });

      test("fields that other commands have set are conflicts, too", async () => {
        const k = kubectl();
        await apply(k, configMap("labeled", {}, { labels: { a: "1" } }));
        await k.ok(["label", "cm", "labeled", "a=2", "--overwrite"]);
        assert.match(
          await k.fails(["apply", "--server-side", "-f", "-"], {
            input: configMap("labeled", {}, { labels: { a: "1" } }),
          }),
          /conflict with "kubectl-label" using v1: \.metadata\.labels\.a/,
        );
      });

      test("a client-side applied pod migrates to server-side apply, with its defaults", async () => {
        const k = kubectl();
        const input = pod("moved", { labels: { app: "moved", old: "yes" } });
        await k.ok(["apply", "-f", "-"], { input });
        await k.ok(["wait", "--for=condition=Ready", "pod/moved", "--timeout=60s"]);
        delete input.metadata.labels.old;
        for (let times = 0; times < 2; times++) {
          const { status, stderr } = await k.run(["apply", "--server-side", "-f", "-"], { input });
          assert.deepEqual([status, stderr], [0, ""]);
        }
        const { metadata, spec } = await k.json(["get", "pod", "moved"]);
        assert.deepEqual(metadata.labels, { app: "moved" });
        assert.equal(spec.serviceAccountName, "default");
      });

      test("a created pod migrates, too", async () => {
        const k = kubectl();
        const input = pod("taken", { labels: { a: "1" } });
        const [uid] = await run(k, input);
        input.metadata.labels.a = "2";
        assert.match(
          await k.fails(["apply", "--server-side", "-f", "-"], { input }),
          /conflict with "kubectl-create" using v1: \.metadata\.labels\.a/,
        );
        await apply(k, input, ["--force-conflicts"]);
        assert.equal(await k.ok(["get", "pod", "taken", "-o", "jsonpath={.metadata.labels.a}"]), "2");
        assert.equal((await setup.node.running(uid!)).length, 1);
      });

      test("--dry-run=server and diff write nothing", async () => {
        const k = kubectl();
        const input = configMap("dry", { a: "1" });
        assert.equal(
          await apply(k, input, ["--dry-run=server"]),
          "configmap/dry serverside-applied (server dry run)\n",
        );
        assert.match(await k.fails(["get", "cm", "dry"]), /not found/);
        const { status, stdout } = await k.run(["diff", "--server-side", "-f", "-"], { input });
        assert.equal(status, 1);
        assert.match(stdout, /^\+ {2}a: "1"$/m);
        assert.match(await k.fails(["get", "cm", "dry"]), /not found/);
      });

      test("unknown fields are rejected with any validation setting", async () => {
        const input = { ...configMap("unknown", {}), dta: { a: "1" } };
        assert.match(
          await kubectl().fails(["apply", "--server-side", "--validate=false", "-f", "-"], { input }),
          /failed to create typed patch object \(server-side\/unknown; \/v1, Kind=ConfigMap\): \.dta: field not declared in schema/,
        );
      });
    },
    "parallel",
  );
}

function apply(k: Kubectl, input: object, more: readonly string[] = []): Promise<string> {
  return k.ok(["apply", "--server-side", "-f", "-", ...more], { input });
}
