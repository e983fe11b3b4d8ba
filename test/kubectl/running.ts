import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { demoImage, uidOf } from "./pods.ts";

/** kubectl run. */
export function running(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "running",
    (kubectl) => {
      const image = `--image=${demoImage}`;

      test("a pod runs with the labels, variables and ports of the command", async () => {
        const k = kubectl();
        const given = ["--labels=app=web,tier=front", "--env=A=one two", "--port=8080"];
        const command = ["--command", "--", "sh", "-c", 'echo "A=$A"; exec sleep 1000'];
        assert.equal(await k.ok(["run", "web", image, ...given, ...command]), "pod/web created\n");
        await k.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
        const { metadata, spec } = await k.json(["get", "pod", "web"]);
        assert.deepEqual(metadata.labels, { app: "web", tier: "front" });
        assert.deepEqual(spec.containers[0].ports, [{ containerPort: 8080, protocol: "TCP" }]);
        assert.equal(spec.restartPolicy, "Always");
        assert.equal((await setup.node.running(metadata.uid)).length, 1);
        assert.match(setup.node.log(metadata.uid), / A=one two$/m);
        await k.ok(["delete", "pod", "web", "--now"]);
        await setup.node.nothingRuns(metadata.uid);
      });

      const ends: [name: string, script: string, phase: string, shown: RegExp][] = [
        ["done", "exit 0", "Succeeded", /0\/1 +Completed +0/],
        ["wrong", "exit 7", "Failed", /0\/1 +Error +0/],
      ];
      for (const [name, script, phase, shown] of ends) {
        test(`a pod with --restart=Never is ${phase} after \`${script}\``, async () => {
          const k = kubectl();
          await k.ok(["run", name, image, "--restart=Never", "--", "sh", "-c", script]);
          await k.ok(["wait", `--for=jsonpath={.status.phase}=${phase}`, `pod/${name}`, "--timeout=60s"]);
          assert.match(await k.ok(["get", "pod", name]), shown);
          assert.deepEqual(await setup.node.running(await uidOf(k, name)), []);
        });
      }

      test("a failed container is restarted with --restart=OnFailure", async () => {
        const k = kubectl();
        const overrides = JSON.stringify({ spec: { terminationGracePeriodSeconds: 1 } });
        await k.ok(["run", "tries", image, "--restart=OnFailure", `--overrides=${overrides}`, "--", "false"]);
        await k.ok([
          "wait",
          "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
          "pod/tries",
          "--timeout=60s",
        ]);
        await k.ok(["delete", "pod", "tries"]);
      });

      test("--dry-run=client -o yaml prints a manifest that create accepts", async () => {
        const k = kubectl();
        const dry = ["run", "written", image, "--restart=Never", "--dry-run=client", "-o", "yaml"];
        const input = await k.ok([...dry, "--command", "--", "true"]);
        assert.match(input, /^kind: Pod$/m);
        assert.match(await k.fails(["get", "pod", "written"]), /NotFound/);
        assert.equal(await k.ok(["create", "-f", "-"], { input }), "pod/written created\n");
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/written", "--timeout=60s"]);
      });

      test("a missing image is shown in the table and in the events", async () => {
        const k = kubectl();
        const none = ["--image=localhost/kubelet-ts/none:1", "--image-pull-policy=Never"];
        await k.ok(["run", "none", ...none]);
        const waiting =
          "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull";
        await k.ok(["wait", waiting, "pod/none", "--timeout=60s"]);
        assert.match(await k.ok(["get", "pod", "none"]), /0\/1 +ErrImageNeverPull +0/);
        await waitFor(async () =>
          assert.match(
            await k.ok(["describe", "pod", "none"]),
            /Warning +ErrImageNeverPull +.*Container image "localhost\/kubelet-ts\/none:1" is not present with pull policy of Never/,
          ),
        );
      });
    },
    "parallel",
  );
}
