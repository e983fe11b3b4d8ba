import assert from "node:assert/strict";
import { before, test } from "node:test";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { configMap, demoImage, type Manifest, pod, run } from "./pods.ts";

/** kubectl label, annotate, patch, edit and set. */
export function changing(setup: KubectlSetup): void {
  describeInNamespace(setup, "changing", (kubectl) => {
    let uid: string;
    before(async () => {
      [uid = ""] = await run(kubectl(), pod("web", { labels: { app: "web" } }));
    });
    const labels = () => kubectl().ok(["get", "pod", "web", "-o", "jsonpath={.metadata.labels}"]);
    const annotations = () => kubectl().ok(["get", "pod", "web", "-o", "jsonpath={.metadata.annotations}"]);

    test("labels are added, changed only with --overwrite, and removed", async () => {
      const k = kubectl();
      assert.equal(await k.ok(["label", "pod", "web", "tier=front"]), "pod/web labeled\n");
      assert.equal(await labels(), '{"app":"web","tier":"front"}');
      assert.match(
        await k.fails(["label", "pod", "web", "tier=back"]),
        /'tier' already has a value \(front\), and --overwrite is false/,
      );
      await k.ok(["label", "pods", "-l", "app=web", "tier=back", "--overwrite"]);
      assert.equal(await labels(), '{"app":"web","tier":"back"}');
      assert.equal(await k.ok(["label", "pods", "--all", "tier-"]), "pod/web unlabeled\n");
      assert.equal(await labels(), '{"app":"web"}');
      assert.match(
        await k.fails(["label", "pod", "web", "bad key=1"]),
        /name part must consist of alphanumeric characters/,
      );
    });

    test("annotations are added, changed only with --overwrite, and removed", async () => {
      const k = kubectl();
      assert.equal(await k.ok(["annotate", "pod", "web", "note=one"]), "pod/web annotated\n");
      assert.match(
        await k.fails(["annotate", "pod", "web", "note=two"]),
        /--overwrite is false but found the following declared annotation\(s\): 'note' already has a value \(one\)/,
      );
      await k.ok(["annotate", "pod", "web", "note=two", "--overwrite"]);
      assert.equal(await annotations(), '{"note":"two"}');
      await k.ok(["annotate", "pod", "web", "note-"]);
      assert.equal(await annotations(), "");
    });

    test("an outdated resourceVersion changes nothing", async () => {
      assert.match(
        await kubectl().fails(["label", "pod", "web", "late=1", "--resource-version=1"]),
        /\(Conflict\).*the object has been modified; please apply your changes to the latest version and try again/,
      );
    });

    const patches: [type: string, patch: unknown, after: string][] = [
      ["strategic", { metadata: { labels: { a: "s" } } }, '{"a":"s","app":"web"}'],
      ["merge", { metadata: { labels: { a: null, b: "m" } } }, '{"app":"web","b":"m"}'],
      [
        "json",
        [
          { op: "test", path: "/metadata/labels/b", value: "m" },
          { op: "move", from: "/metadata/labels/b", path: "/metadata/labels/c" },
        ],
        '{"app":"web","c":"m"}',
      ],
      ["json", [{ op: "remove", path: "/metadata/labels/c" }], '{"app":"web"}'],
    ];
    for (const [type, patch, after] of patches) {
      test(`a ${type} patch is applied: ${JSON.stringify(patch)}`, async () => {
        const patched = await kubectl().ok([
          "patch",
          "pod",
          "web",
          `--type=${type}`,
          "-p",
          JSON.stringify(patch),
        ]);
        assert.equal(patched, "pod/web patched\n");
        assert.equal(await labels(), after);
      });
    }

    test("a patch that changes nothing reports that", async () => {
      const patch = ["patch", "pod", "web", "-p", '{"metadata":{"labels":{"app":"web"}}}'];
      assert.equal(await kubectl().ok(patch), "pod/web patched (no change)\n");
    });

    test("a strategic patch merges items by key, a merge patch replaces the whole list", async () => {
      const k = kubectl();
      const ports = (...all: [name: string, port: number][]) => ({
        spec: { ports: all.map(([name, port]) => ({ name, port })) },
      });
      const input = {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s" },
        ...ports(["a", 1], ["b", 2]),
      };
      await k.ok(["create", "-f", "-"], { input });
      const now = async () =>
        (await k.json(["get", "service", "s"])).spec.ports.map(({ port }: Manifest) => port);
      await k.ok(["patch", "service", "s", "-p", JSON.stringify(ports(["c", 3]))]);
      assert.deepEqual((await now()).sort(), [1, 2, 3]);
      await k.ok(["patch", "service", "s", "-p", '{"spec":{"ports":[{"port":2,"$patch":"delete"}]}}']);
      assert.deepEqual((await now()).sort(), [1, 3]);
      await k.ok(["patch", "service", "s", "--type=merge", "-p", JSON.stringify(ports(["d", 4]))]);
      assert.deepEqual(await now(), [4]);
    });

    test("invalid patches are rejected, each with its reason", async () => {
      const rejected: [patch: string[], reason: RegExp][] = [
        [
          ["--type=json", "-p", '[{"op":"test","path":"/metadata/labels/app","value":"x"}]'],
          /The request is invalid/,
        ],
        [["--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/none"}]'], /The request is invalid/],
        [
          ["-p", '{"metadata":{"name":"other"}}'],
          /metadata\.name: Invalid value: "other": field is immutable|does not match/,
        ],
        [["-p", '{"spec":{"dnsPolicy":"Default"}}'], /pod updates may not change fields other than/],
        [["-p", '{"spec":{"nodeName":"other"}}'], /pod updates may not change fields other than/],
        [
          ["-p", '{"metadata":{"labels":{"a":1}}}'],
          /cannot unmarshal number into Go struct field ObjectMeta\.metadata\.labels of type string/,
        ],
        [["-p", '{"metadata":{"labels":'], /unexpected end of/i],
      ];
      for (const [patch, reason] of rejected)
        assert.match(await kubectl().fails(["patch", "pod", "web", ...patch]), reason);
    });

    test("--subresource=status writes the status, and nothing else", async () => {
      const k = kubectl();
      const condition = {
        type: "example.com/Seen",
        status: "True",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      };
      const patch = { spec: { activeDeadlineSeconds: 1 }, status: { conditions: [condition] } };
      const args = ["patch", "pod", "web", "--subresource=status", "-p", JSON.stringify(patch)];
      assert.equal(await k.ok(args), "pod/web patched\n");
      await k.ok(["wait", "--for=condition=example.com/Seen", "pod/web", "--timeout=20s"]);
      assert.match(await k.ok(["get", "pod", "web", "--subresource=status"]), /1\/1 +Running/);
      const { spec, status } = await k.json(["get", "pod", "web"]);
      assert.equal(spec.activeDeadlineSeconds, undefined);
      assert.ok(
        status.conditions.some(({ type }: Manifest) => type === "Ready"),
        "conditions are not merged by type",
      );
    });

    test("the main endpoint does not write the status", async () => {
      const args = ["patch", "pod", "web", "--type=merge", "-p", '{"status":{"phase":"Failed"}}'];
      assert.equal(await kubectl().ok(args), "pod/web patched (no change)\n");
      assert.equal(await kubectl().ok(["get", "pod", "web", "-o", "jsonpath={.status.phase}"]), "Running");
    });

    test("edit opens the object and writes the result", async () => {
      const k = kubectl();
      await k.ok(["create", "-f", "-"], { input: configMap("edited", { a: "1" }) });
      const editor = (script: string) => ({ env: { EDITOR: `sed -i '${script}'`, KUBE_EDITOR: "" } });
      assert.equal(
        await k.ok(["edit", "configmap", "edited"], editor('s/a: "1"/a: "2"/')),
        "configmap/edited edited\n",
      );
      assert.equal(await k.ok(["get", "configmap", "edited", "-o", "jsonpath={.data}"]), '{"a":"2"}');
      const { stderr } = await k.run(["edit", "configmap", "edited"], editor(""));
      assert.match(stderr, /^Edit cancelled, no changes made\.\n$/);
      assert.match(
        await k.fails(["edit", "configmap", "edited"], editor("s/^data:/dta:/")),
        /configmaps "edited" is invalid/,
      );
      assert.equal(await k.ok(["get", "configmap", "edited", "-o", "jsonpath={.data}"]), '{"a":"2"}');
    });

    test("debug adds an ephemeral container to a running pod", async () => {
      const k = kubectl();
      const args = [
        "debug",
        "web",
        `--image=${demoImage}`,
        "--container=tool",
        "--profile=general",
        "--attach=false",
      ];
      await k.ok([...args, "--", "sleep", "1000"]);
      const runs = "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}";
      await k.ok(["wait", runs, "pod/web", "--timeout=60s"]);
      const names = (await setup.node.running(uid)).map(({ metadata }) => metadata?.name);
      assert.deepEqual(new Set(names), new Set(["c", "tool"]));
    });

    test("set image restarts the container with the new image, in the same pod", async () => {
      const k = kubectl();
      const image = "localhost/kubelet-ts/demo:second";
      await setup.node.tag(demoImage, image);
      const main = async () => (await setup.node.running(uid)).find(({ metadata }) => metadata?.name === "c");
      const before = await main();
      assert.equal(await k.ok(["set", "image", "pod/web", `c=${image}`]), "pod/web image updated\n");
      await k.ok([
        "wait",
        "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        "pod/web",
        "--timeout=60s",
      ]);
      await k.ok(["wait", "--for=condition=Ready", "pod/web", "--timeout=60s"]);
      const after = await main();
      assert.ok(after && after.id !== before?.id);
      const { spec, metadata } = await k.json(["get", "pod", "web"]);
      assert.deepEqual([spec.containers[0].image, metadata.uid, metadata.generation], [image, uid, 3]);
    });
  });
}
