import assert from "node:assert/strict";
import { before, test } from "node:test";
import { columns, rows } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { list, pod, podThatPrints } from "./pods.ts";

const age = /^\d+m?\d*s$/;

/** kubectl get. */
export function getting(setup: KubectlSetup): void {
  describeInNamespace(
    setup,
    "getting",
    (kubectl) => {
      before(async () => {
        const web = pod("web", { labels: { app: "web", tier: "front" } });
        const job = podThatPrints("job", "exit 0", { labels: { app: "job" } });
        const broken = podThatPrints("broken", "exit 3", { labels: { app: "job" } });
        const k = kubectl();
        await k.ok(["create", "-f", "-"], { input: list(web, job, broken) });
        await k.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/job", "--timeout=60s"]);
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Failed", "pod/broken", "--timeout=60s"]);
      });

      test("a table of pods shows ready containers, and the reasons of pods that do not run", async () => {
        const table = await kubectl().ok(["get", "pods"]);
        assert.deepEqual(columns(table), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
        const shown = rows(table).map(({ AGE, ...row }) => {
          assert.match(AGE ?? "", age);
          return Object.values(row);
        });
        assert.deepEqual(shown, [
          ["broken", "0/1", "Error", "0"],
          ["job", "0/1", "Completed", "0"],
          ["web", "1/1", "Running", "0"],
        ]);
      });

      test("-o wide adds the address and the node of a pod", async () => {
        const table = await kubectl().ok(["get", "pod", "web", "-o", "wide"]);
        const [row] = rows(table);
        const { status, spec } = await kubectl().json(["get", "pod", "web"]);
        assert.equal(row?.IP, status.podIP);
        assert.deepEqual([row?.NODE, spec.nodeName], [setup.nodeName, setup.nodeName]);
        assert.deepEqual([row?.["NOMINATED NODE"], row?.["READINESS GATES"]], ["<none>", "<none>"]);
      });

      test("-o yaml, json, jsonpath, name, custom-columns and go-template show the same object", async () => {
        const k = kubectl();
        const { uid } = (await k.json(["get", "pod", "web"])).metadata;
        const yaml = await k.ok(["get", "pod", "web", "-o", "yaml"]);
        assert.match(yaml, /^apiVersion: v1\nkind: Pod\nmetadata:\n/);
        assert.match(yaml, new RegExp(`^ {2}uid: ${uid}$`, "m"));
        assert.doesNotMatch(yaml, /managedFields/);
        assert.match(
          await k.ok(["get", "pod", "web", "-o", "yaml", "--show-managed-fields"]),
          /managedFields/,
        );
        assert.equal(await k.ok(["get", "pod", "web", "-o", "jsonpath={.metadata.uid}"]), uid);
        assert.equal(await k.ok(["get", "pod", "web", "-o", "go-template={{.metadata.uid}}"]), uid);
        assert.equal(await k.ok(["get", "pod", "web", "-o", "name"]), "pod/web\n");
        const custom = await k.ok([
          "get",
          "pod",
          "web",
          "-o",
          "custom-columns=ID:.metadata.uid,A:.metadata.labels.app",
        ]);
        assert.deepEqual(rows(custom), [{ ID: uid, A: "web" }]);
      });

      test("a list as JSON has all items and a resourceVersion", async () => {
        const { kind, items } = await kubectl().json(["get", "pods"]);
        assert.equal(kind, "List");
        assert.deepEqual(
          items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
          ["broken", "job", "web"],
        );
      });

      const selections: [what: string, args: string[], names: string[]][] = [
        ["by a label", ["-l", "app=web"], ["web"]],
        ["by a set of values and a missing label", ["-l", "app in (web,job),!tier"], ["broken", "job"]],
        ["by a label that is not equal to a value", ["-l", "app!=job"], ["web"]],
        ["by phase", ["--field-selector", "status.phase=Running"], ["web"]],
        [
          "by fields that are not equal to a value",
          ["--field-selector", "status.phase!=Running,metadata.name!=job"],
          ["broken"],
        ],
        ["by labels and fields", ["-l", "app=job", "--field-selector", "status.phase=Failed"], ["broken"]],
        ["by a label that no pod has", ["-l", "app=none"], []],
        ["by name", ["web", "job"], ["web", "job"]],
      ];
      for (const [what, args, names] of selections) {
        test(`get selects pods ${what}`, async () => {
          const out = await kubectl().ok(["get", "pods", ...args, "-o", "name"]);
          assert.deepEqual(
            out.split("\n").slice(0, -1),
            names.map((name) => `pod/${name}`),
          );
        });
      }

      test("the field spec.nodeName selects the pods of a node, in all namespaces", async () => {
        const out = await kubectl().ok([
          "get",
          "pods",
          "-A",
          "--field-selector",
          `spec.nodeName=${setup.nodeName}`,
        ]);
        const found = rows(out);
        assert.ok(
          found.some((row) => row.NAMESPACE === "default" && row.NAME === `demo-${setup.nodeName}`),
          out,
        );
        assert.ok(
          found.some((row) => row.NAMESPACE === "getting" && row.NAME === "web"),
          out,
        );
      });

      test("--sort-by, --no-headers, --show-labels and -L change the table", async () => {
        const k = kubectl();
        const sorted = await k.ok(["get", "pods", "--sort-by=.status.phase", "--no-headers"]);
        assert.deepEqual(sorted.match(/^\S+/gm), ["broken", "web", "job"]);
        const labeled = rows(await k.ok(["get", "pod", "web", "--show-labels"]));
        assert.equal(labeled[0]?.LABELS, "app=web,tier=front");
        const columned = rows(await k.ok(["get", "pods", "-L", "tier"]));
        assert.deepEqual(
          columned.map((row) => row.TIER),
          ["", "", "front"],
        );
      });

      test("a list in pages is complete", async () => {
        const out = await kubectl().ok(["get", "pods", "--chunk-size=1", "-o", "name"]);
        assert.deepEqual(out.split("\n"), ["pod/broken", "pod/job", "pod/web", ""]);
      });

      test("one command lists several kinds, by their short names or as `all`", async () => {
        const out = await kubectl().ok(["get", "po,cm,sa"]);
        for (const one of ["pod/web", "configmap/kube-root-ca.crt", "serviceaccount/default"])
          assert.ok(out.includes(`\n${one} `), out);
        const all = await setup.kubectl.ok(["get", "all", "-A"]);
        const row = new RegExp(
          `default\\s+service/kubernetes\\s+ClusterIP\\s+${setup.node.apiAddress}\\s+<none>\\s+443/TCP`,
        );
        assert.match(all, row);
      });

      test("each kind has its usual columns", async () => {
        const expected: Record<string, string> = {
          "nodes -o wide":
            "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME",
          namespaces: "NAME STATUS AGE",
          "configmaps -A": "NAMESPACE NAME DATA AGE",
          "serviceaccounts -A": "NAMESPACE NAME AGE",
          "services -A -o wide": "NAMESPACE NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR",
          "endpointslices -A": "NAMESPACE NAME ADDRESSTYPE PORTS ENDPOINTS AGE",
          "leases -A": "NAMESPACE NAME HOLDER AGE",
          priorityclasses: "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY",
          events: "LAST SEEN TYPE REASON OBJECT MESSAGE",
        };
        for (const [what, names] of Object.entries(expected)) {
          const table = await kubectl().ok(["get", ...what.split(" ")]);
          assert.equal(columns(table).join(" "), names);
        }
      });

      test("the node is ready and has the version of this kubelet", async () => {
        const [row] = rows(await kubectl().ok(["get", "nodes"]));
        assert.deepEqual([row?.NAME, row?.STATUS, row?.VERSION], [setup.nodeName, "Ready", "v1.36.4"]);
      });

      test("a missing object is reported as NotFound", async () => {
        const k = kubectl();
        assert.equal(
          await k.fails(["get", "pod", "none"]),
          'Error from server (NotFound): pods "none" not found\n',
        );
        assert.equal(
          await k.fails(["get", "unicorns"]),
          `error: the server doesn't have a resource type "unicorns"\n`,
        );
        assert.equal(await k.ok(["get", "pod", "none", "--ignore-not-found"]), "");
        const { stderr } = await k.run(["get", "secrets"]);
        assert.equal(stderr, "No resources found in getting namespace.\n");
      });

      test("--raw prints the response of the API", async () => {
        const k = kubectl();
        assert.equal(await k.ok(["get", "--raw", "/healthz"]), "ok");
        assert.match(await k.ok(["get", "--raw", "/readyz?verbose"]), /readyz check passed/);
        const pods = JSON.parse(await k.ok(["get", "--raw", "/api/v1/namespaces/getting/pods?limit=1"]));
        assert.deepEqual([pods.kind, pods.items.length, pods.metadata.remainingItemCount], ["PodList", 1, 2]);
      });
    },
    "parallel",
  );
}
