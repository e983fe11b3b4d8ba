import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { NamespaceMode, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { AgentProcess, cgroupDirs, runtimeClient } from "./agent-process.ts";
import { manifest, podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

describeOnContainerd("static pods", (version) => {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: CriClient;

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node);
    runtime = runtimeClient(node.endpoint);
    // The control pod must not change, regardless of what happens to other manifests.
    writeManifest(node.manifests, "control.yaml", manifest({ name: "control" }));
    agent.start();
    await running("control");
  });

  after(async () => {
    runtime?.close();
    await agent?.destroy();
  });

  async function podNamed(name: string): Promise<PodRow | undefined> {
    return (await agent.pods())?.find((row) => row.name.startsWith(`${name}-`));
  }

  const running = (name: string) =>
    waitFor(async () => {
      const row = await podNamed(name);
      assert.equal(row?.status?.phase, "Running", `${name} is ${row?.status?.phase}: ${row?.blockedOn}`);
      assert.equal(row?.ready, "1/1");
      return row!;
    });

  const gone = (name: string) => waitFor(async () => assert.equal(await podNamed(name), undefined));

  const containerIdOf = (row: PodRow) => row.status?.containerStatuses?.[0]?.containerID;

  /** Changes the directory, and checks that the control pod is unchanged. */
  async function keepsControlPod(act: () => Promise<void>): Promise<void> {
    const before = await running("control");
    await act();
    const after = await running("control");
    assert.equal(containerIdOf(after), containerIdOf(before));
    assert.equal(after.restarts, 0);
  }

  const logs = (pattern: RegExp) => waitFor(async () => assert.match(agent.log(), pattern));

  test("sandboxes that no kubelet created are stopped and removed, each reported once", async () => {
    const foreign: string[] = [];
    await keepsControlPod(async () => {
      for (let i = 0; i < 5; i++) {
        const metadata = { name: `foreign-${i}`, namespace: "elsewhere", uid: `not-ours-${i}`, attempt: 0 };
        const linux = { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } };
        foreign.push(await runtime.runPodSandbox({ metadata, linux }, ""));
      }
      await waitFor(async () => {
        const left = (await runtime.listPodSandboxes()).map(({ id }) => id as string);
        assert.deepEqual(
          foreign.filter((id) => left.includes(id)),
          [],
        );
      }, 60_000);
    });
    const killed = agent.log().match(/"Killing orphaned pod" pod="elsewhere\/foreign-.*/g) ?? [];
    assert.equal(killed.length, foreign.length, killed.join("\n"));
    for (const id of foreign) assert.ok(killed.some((line) => line.includes(id)));
  });

  test("the pod of a new manifest starts immediately, not at the next rescan", async () => {
    await keepsControlPod(async () => {
      writeManifest(node.manifests, "a.yaml", manifest({ name: "a" }));
      const row = await running("a");
      assert.match(row.ip, /^\d+\.\d+\.\d+\.\d+$/);
      const log = join(node.logDir, `default_${row.name}_${row.uid}`, "c", "0.log");
      assert.ok(existsSync(log), `${log} is missing`);
      // The link is created once the container runs.
      await waitFor(async () => assert.ok(agent.links().some((link) => link.includes(row.name))));
    });
  });

  test("the pod of an edited manifest is replaced", async () => {
    await keepsControlPod(async () => {
      const before = await running("a");
      writeManifest(node.manifests, "a.yaml", manifest({ name: "a", note: "edited" }));
      await waitFor(async () => {
        const row = await running("a");
        assert.notEqual(row.uid, before.uid);
      });
      await waitFor(async () => {
        const rows = (await agent.pods())!.filter((row) => row.name === before.name);
        assert.equal(rows.length, 1, "both versions exist");
      });
      const sandboxes = await runtime.listPodSandboxes();
      assert.equal(
        sandboxes.filter((s) => s.metadata?.uid === before.uid).length,
        0,
        "the old sandbox still exists",
      );
    });
  });

  test("the pod of a removed manifest is terminated, and its logs, directories, sandbox and cgroup are removed", async () => {
    await keepsControlPod(async () => {
      const row = await running("a");
      assert.ok(
        podCgroups().some((dir) => dir.includes(row.uid)),
        "the pod has no cgroup",
      );
      rmSync(join(node.manifests, "a.yaml"));
      await gone("a");
      assert.ok(!existsSync(join(node.logDir, `default_${row.name}_${row.uid}`)), "logs are left");
      assert.ok(!existsSync(join(node.rootDir, "pods", row.uid)), "the pod's directory is left");
      assert.equal(agent.links().filter((link) => link.includes(row.name)).length, 0, "a log link is left");
      assert.equal(podCgroups().filter((dir) => dir.includes(row.uid)).length, 0, "a cgroup is left");
      assert.equal((await runtime.listPodSandboxes()).filter((s) => s.metadata?.uid === row.uid).length, 0);
      assert.equal(
        (await runtime.listContainers()).filter((c) => c.labels["io.kubernetes.pod.uid"] === row.uid).length,
        0,
      );
    });
  });

  test("the pod of a manifest that is removed and restored runs again", async () => {
    await keepsControlPod(async () => {
      const content = manifest({ name: "back" });
      writeManifest(node.manifests, "back.yaml", content);
      const first = await running("back");
      rmSync(join(node.manifests, "back.yaml"));
      await waitFor(async () => assert.notEqual((await podNamed("back"))?.phase, "Running"));
      writeManifest(node.manifests, "back.yaml", content);
      await waitFor(async () => {
        const row = await running("back");
        assert.equal(row.uid, first.uid, "the UID differs for the same file and content");
        assert.notEqual(containerIdOf(row), containerIdOf(first));
      });
      rmSync(join(node.manifests, "back.yaml"));
      await gone("back");
    });
  });

  test("invalid YAML is reported once with file and line, and the pod runs once it is corrected", async () => {
    await keepsControlPod(async () => {
      writeManifest(
        node.manifests,
        "broken.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: broken\nspec: [\n",
      );
      await logs(/broken\.yaml:\d+/);
      const times = agent.log().match(/broken\.yaml:\d+/g)!.length;
      writeFileSync(join(node.manifests, ".wake"), "");
      writeManifest(node.manifests, "broken.yaml", manifest({ name: "broken" }));
      await running("broken");
      assert.equal(agent.log().match(/broken\.yaml:\d+/g)!.length, times, "reported more than once");
      rmSync(join(node.manifests, "broken.yaml"));
      await gone("broken");
    });
  });

  test("a pod without containers is reported with file, line and field", async () => {
    await keepsControlPod(async () => {
      writeManifest(
        node.manifests,
        "empty.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: empty\nspec:\n  containers: []\n",
      );
      await logs(/empty\.yaml:6: spec\.containers: /);
      assert.equal(await podNamed("empty"), undefined);
      rmSync(join(node.manifests, "empty.yaml"));
    });
  });

  test("the first of two files with the same pod runs; the other takes over when it is removed", async () => {
    await keepsControlPod(async () => {
      writeManifest(node.manifests, "one.yaml", manifest({ name: "twin", note: "one" }));
      const first = await running("twin");
      writeManifest(node.manifests, "two.yaml", manifest({ name: "twin", note: "two" }));
      await logs(/two\.yaml.*one\.yaml|one\.yaml.*two\.yaml/);
      assert.equal((await agent.pods())!.filter((row) => row.name === first.name).length, 1);
      assert.equal(containerIdOf(await running("twin")), containerIdOf(first), "the first pod was restarted");
      rmSync(join(node.manifests, "one.yaml"));
      await waitFor(async () => assert.notEqual((await running("twin")).uid, first.uid));
      rmSync(join(node.manifests, "two.yaml"));
      await gone("twin");
    });
  });

  test("a file of 100 MiB is rejected by its size", async () => {
    await keepsControlPod(async () => {
      const path = join(node.manifests, ".huge");
      writeFileSync(path, "kind: Pod\n");
      truncateSync(path, 100 * 1024 * 1024);
      writeManifest(node.manifests, "huge.yaml", "x");
      rmSync(join(node.manifests, "huge.yaml"));
      const { renameSync } = await import("node:fs");
      renameSync(path, join(node.manifests, "huge.yaml"));
      await logs(/huge\.yaml.*(large|big|MiB|bytes)/i);
      rmSync(join(node.manifests, "huge.yaml"));
    });
  });

  test("a binary file is rejected", async () => {
    await keepsControlPod(async () => {
      writeManifest(
        node.manifests,
        "binary.yaml",
        new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 255, 254]),
      );
      await logs(/binary\.yaml/);
      rmSync(join(node.manifests, "binary.yaml"));
    });
  });

  test("a manifest that is being written starts only when it is complete", async () => {
    await keepsControlPod(async () => {
      const text = manifest({ name: "slow" });
      // Split so that each part except the last is either a valid manifest of another pod or no valid manifest.
      const cuts = [0, text.indexOf("  dnsPolicy"), text.indexOf("      command:"), text.length];
      const file = openSync(join(node.manifests, "slow.yaml"), "w");
      for (let i = 1; i < cuts.length; i++) {
        writeSync(file, text.slice(cuts[i - 1], cuts[i]));
        fsyncSync(file);
        // Long enough for a premature reader to act on the partial file.
        await new Promise((resolve) => setTimeout(resolve, 300));
        if (i < cuts.length - 1)
          assert.equal(await podNamed("slow"), undefined, "the pod of a partial file started");
      }
      closeSync(file);
      await running("slow");
      const { length } = agent.log().match(/SyncLoop ADD[^\n]*slow/g) ?? [];
      assert.equal(length, 1, "the file has more than one pod");
      rmSync(join(node.manifests, "slow.yaml"));
      await gone("slow");
    });
  });

  test("a pod in the runtime without a manifest is killed", async () => {
    await keepsControlPod(async () => {
      const orphan = await runtime.runPodSandbox(
        {
          metadata: { name: "stray", uid: "stray-uid", namespace: "default", attempt: 0 },
          logDirectory: join(node.logDir, "default_stray_stray-uid"),
          labels: {
            "io.kubernetes.pod.name": "stray",
            "io.kubernetes.pod.uid": "stray-uid",
            "io.kubernetes.pod.namespace": "default",
          },
          linux: { cgroupParent: `${node.cgroupRoot}/kubepods/besteffort` },
        },
        "",
      );
      await waitFor(async () => {
        const left = await runtime.listPodSandboxes({ id: orphan });
        assert.equal(left.filter((s) => s.state === PodSandboxState.SANDBOX_READY).length, 0);
        assert.equal(left.length, 0);
      });
    });
  });

  test("a pod that creates directories next to the logs of pods cannot choose what is removed as an orphan", async () => {
    const orphans = Array.from({ length: 10 }, (_, i) => `a_b_orphan-${i}`);
    const names = ["a_b_..", "a_b_.", "a_b_", ...orphans];
    writeManifest(
      node.manifests,
      "logs.yaml",
      podManifest("logs", {
        containers: [
          {
            name: "c",
            command: ["sh", "-c", `cd /logs && mkdir ${names.join(" ")} && exec sleep 1000`],
            volumeMounts: [{ name: "logs", mountPath: "/logs" }],
          },
        ],
        volumes: [{ name: "logs", hostPath: { path: node.logDir } }],
      }),
    );
    await running("logs");
    const { uid } = await running("control");
    await keepsControlPod(async () => {
      // Orphans are removed at the start, then once a minute.
      await agent.end("SIGTERM");
      await waitFor(() => assert.ok(existsSync(join(node.logDir, orphans.at(-1)!))));
      agent.start();
      await waitFor(() =>
        assert.deepEqual(
          orphans.filter((name) => existsSync(join(node.logDir, name))),
          [],
        ),
      );
    });
    assert.ok(
      existsSync(join(node.rootDir, "pods", uid, "etc-hosts")),
      "files of a running pod were removed",
    );
    rmSync(join(node.manifests, "logs.yaml"));
    await gone("logs");
  });

  function podCgroups(): string[] {
    return ["", "/burstable", "/besteffort"].flatMap((qosClass) =>
      cgroupDirs(`${node.cgroupRoot}/kubepods${qosClass}`),
    );
  }
});
