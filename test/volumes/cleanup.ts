import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "../../src/lib/model/pod.ts";
import { podsPath } from "../cluster/node-with-api.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { VolumeNode } from "./volume-node.ts";

/** Pods with a secret, with subPaths and with a PVC. */
const deletedDuringOutage = ["waits", "parts", "claimed-read-only"];

/** The agent is killed and pods are deleted, while all pods of the other tests run. */
export function cleanupTests(node: () => VolumeNode): void {
  const allPods = async () => (await node().apiNode.get<{ items: Pod[] }>(podsPath)).items;

  /** Which mounts each running container sees, by their ids. */
  const mountsInside = async (pods: readonly Pod[]) => {
    const seen: Record<string, unknown> = {};
    for (const { metadata, status } of pods)
      for (const { name, state } of status?.containerStatuses ?? []) {
        if (!state?.running) continue;
        const mounts = await node().mountsInside(metadata.name, name);
        seen[`${metadata.name}/${name}`] = mounts.map(({ id, path }) => `${id} ${path}`);
      }
    return seen;
  };

  test("a killed agent leaves every mount and container; pods deleted in the meantime are cleaned up when it is back", async (t) => {
    const all = await allPods();
    const isDeleted = ({ metadata }: Pod) => deletedDuringOutage.includes(metadata.name);
    const pods = all.filter((pod) => !isDeleted(pod));
    const deleted = all.filter(isDeleted);
    const isOfOthers = (path: string) => !deleted.some((pod) => path.startsWith(`${node().podDir(pod)}/`));
    const mounts = [...node().mountIds()].filter(([path]) => isOfOthers(path));
    const inside = await mountsInside(pods);
    const running = (await node().apiNode.running()).filter(({ pod }) => !deletedDuringOutage.includes(pod));
    assert.ok(mounts.length >= 20 && Object.keys(inside).length >= 10);
    assert.deepEqual(
      deleted.map((pod) => node().remainsOf(pod).length > 1),
      [true, true, true],
    );
    t.diagnostic(`${mounts.length} mounts of the node, ${Object.keys(inside).length} containers`);
    const { agent } = node().apiNode;
    await agent.end("SIGKILL");
    for (const name of deletedDuringOutage)
      await node().apiNode.admin.request({
        method: "DELETE",
        path: `${podsPath}/${name}`,
        query: { gracePeriodSeconds: "0" },
      });
    await node().patch("/api/v1/namespaces/default/configmaps/settings", { data: { a: "tres" } });
    node().apiNode.startAgent();
    for (const pod of deleted) await node().isGone(pod);
    // By then all pods have been synced and their volumes updated.
    await waitFor(async () => assert.equal(await node().inside("content", "cat /v/config/a"), "tres"));
    await waitFor(async () => {
      const rows = (await agent.pods()) ?? [];
      const ready = rows.filter((row) => row.phase === "Running").length;
      assert.equal(ready, pods.filter((pod) => pod.status?.phase === "Running").length);
    });
    assert.deepEqual([...node().mountIds()], mounts);
    assert.deepEqual(await mountsInside(pods), inside);
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
    assert.deepEqual((await node().apiNode.running()).toSorted(byId), running.toSorted(byId));
    // A container that is recreated mounts what the previous agent set up.
    await node().terminateContainer("parts-too");
    await waitFor(async () => assert.equal(await node().inside("parts-too", "cat /part/x"), "other"));
    assert.deepEqual([...node().mountIds()], mounts);
  });

  test("volumes of a completed pod are removed with its containers", async () => {
    const pod = await node().addPod("ending", {
      spec: {
        restartPolicy: "Never",
        volumes: [
          { name: "keys", secret: { secretName: "keys" } },
          { name: "memory", emptyDir: { medium: "Memory" } },
        ],
        containers: [
          {
            command: ["sh", "-c", "cat /keys/user >/memory/copy && cat /memory/copy >/dev/termination-log"],
            volumeMounts: [
              { name: "keys", mountPath: "/keys" },
              { name: "memory", mountPath: "/memory" },
            ],
          },
        ],
      },
    });
    await waitFor(async () => {
      const { status } = await node().apiNode.pod("ending");
      const { message } = status?.containerStatuses?.[0]?.state?.terminated ?? {};
      assert.deepEqual([status?.phase, message], ["Succeeded", "me"]);
    });
    await waitFor(() =>
      assert.deepEqual(node().remainsOf(pod), [node().podDir(pod)], "more than its directory is left"),
    );
  });

  test("nothing remains of the volumes of deleted pods", async () => {
    const pods = await allPods();
    for (const { metadata } of pods) await node().deletePod(metadata.name);
    for (const pod of pods) await node().isGone(pod);
    assert.deepEqual([...node().mountIds().keys()], []);
    const { rootDir } = node().apiNode.node;
    assert.deepEqual(readdirSync(join(rootDir, "pods")), []);
    for (const directory of ["local-volume/mounts", "kubernetes.io/local-volume/volumeDevices"]) {
      const devices = join(rootDir, "plugins/kubernetes.io", directory);
      assert.deepEqual(existsSync(devices) ? readdirSync(devices) : [], [], directory);
    }
    // Mounts of the node itself are kept.
    assert.ok(existsSync(join(node().dir, "host/made-file")) && existsSync(join(node().dir, "pv/local/b")));
  });
}
