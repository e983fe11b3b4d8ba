import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { explained } from "../cluster/explained.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { type Kubectl, kubectlFile } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { list, pod, run } from "./pods.ts";

const crash = ["sh", "-c", "echo database is locked > /dev/termination-log; exit 3"];

/** The plugin `kubectl why`. */
export function why(setup: KubectlSetup): void {
  describeInNamespace(setup, "why", (kubectl) => {
    let bin: string;
    before(async () => {
      bin = mkdtempSync(join(tmpdir(), "kubectl-why-"));
      for (const name of ["kubectl-why", "kubectl_complete-why"])
        symlinkSync(join(repoDir, "dist/kubectl-why/kubectl-why"), join(bin, name));
      const input = list(
        pod("crash", { container: { command: crash } }),
        pod("choosy", { spec: { nodeSelector: { disk: "ssd" } } }),
        pod("absent", { container: { image: "localhost/absent:1", imagePullPolicy: "Never" } }),
      );
      await kubectl().ok(["create", "-f", "-"], { input });
      await run(kubectl(), pod("well"));
    });
    after(() => rmSync(bin, { recursive: true, force: true }));

    /** kubectl looks for plugins, and the plugin for kubectl, in PATH. */
    const options = (k: Kubectl) => {
      const programs = dirname(kubectlFile(k.version));
      return { leading: 1, env: { PATH: `${bin}:${programs}:${process.env.PATH}` } };
    };
    const whyText = (args: readonly string[], k = kubectl()) => k.ok(["why", ...args], options(k));

    test("a pod is explained by its node, as kubelet explain does there", async () => {
      const first = (text: string) => text.split("\n", 1)[0]!;
      const expected = /^why\/crash {2}Running: container c exited with code 3 \(Error\): database is locked/;
      await waitFor(async () => {
        const text = await whyText(["crash"]);
        assert.match(first(text), expected);
        // Its steps are known to the node only.
        assert.match(text, /^ +\S.*\bsandbox\b/m);
        assert.doesNotMatch(text, /^note: /m);
      });
      const here = await explained(setup.node.files.kubelet).run("why/crash");
      assert.match(first(here), expected);
    });

    test("without a pod it explains those of the namespace that are not ready", async () => {
      await waitFor(async () => {
        const text = await whyText([]);
        const named = [...text.matchAll(/^why\/(\S+) {2}/gm)].map(([, name]) => name);
        assert.deepEqual(named, ["absent", "choosy", "crash"]);
        assert.match(text, /^why\/choosy {2}Pending: Unschedulable: 0\/1 nodes/m);
        assert.match(text, /^why\/absent {2}Pending: .*localhost\/absent:1/m);
      });
      assert.match(
        await whyText(["-n", "kube-node-lease"]),
        /^all pods of namespace kube-node-lease are ready$/m,
      );
    });

    test("-o json has the explanations and the node of each pod", async () => {
      const { pods, notes } = JSON.parse(await whyText(["pod/crash", "-o", "json"]));
      assert.deepEqual(
        [pods.length, pods[0].name, pods[0].nodeName, notes],
        [1, "crash", setup.nodeName, []],
      );
    });

    test("a node is explained with its thresholds", async () => {
      const text = await whyText(["node", setup.nodeName]);
      assert.match(text, new RegExp(`^${setup.nodeName}  `));
      assert.match(text, /^ {2}memory\.available +hard /m);
    });

    test("a user who may not get nodes/proxy sees the cause from the status, and why there is no more", async () => {
      const token = (await kubectl().ok(["create", "token", "default"])).trim();
      const k = await kubectl().as({ token });
      await waitFor(async () => {
        const text = await whyText(["crash"], k);
        assert.match(
          text,
          /^why\/crash {2}Running: container c exited with code 3 \(Error\): database is locked/,
        );
        assert.match(
          text,
          new RegExp(`^note: you may not get nodes/proxy, so node ${setup.nodeName} was not queried`, "m"),
        );
      });
      const error = await k.fails(["why", "-n", "default", "crash"], options(k));
      assert.match(error, /^kubectl why: pods "crash" is forbidden: /);
    });

    test("a pod that does not exist, and arguments that are wrong, are errors", async () => {
      const k = kubectl();
      assert.match(await k.fails(["why", "nobody"], options(k)), /^kubectl why: pods "nobody" not found$/m);
      assert.match(
        await k.fails(["why", "a", "b", "c"], options(k)),
        /^kubectl why: specify one pod, or "node" and its name/,
      );
      assert.match(
        await k.fails(["why", "crash", "-o", "yaml"], options(k)),
        /^kubectl why: -o yaml: only json/,
      );
    });

    test("-w prints each change", async () => {
      const k = kubectl();
      const watch = k.start(["why", "-w"], options(k));
      try {
        await watch.prints(/^why\/absent /m);
        await k.ok(["delete", "pod", "absent"]);
        const later = pod("later", { container: { image: "localhost/absent:2", imagePullPolicy: "Never" } });
        await k.ok(["create", "-f", "-"], { input: later });
        await watch.prints(/^why\/later {2}Pending: .*localhost\/absent:2/m);
      } finally {
        watch.child.kill("SIGTERM");
        await watch.exited;
      }
    });

    test("kubectl completes pods and nodes", async () => {
      const k = kubectl();
      const completed = async (...words: string[]) =>
        (await k.ok(["__complete", "why", ...words], { ...options(k), leading: 2 })).trim().split("\n");
      assert.deepEqual(await completed("cr"), ["crash", ":4"]);
      assert.deepEqual(await completed("node", ""), [setup.nodeName, ":4"]);
      assert.deepEqual(await completed("--all"), ["--all-namespaces", "--all-steps", ":4"]);
    });
  });
}
