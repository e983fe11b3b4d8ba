import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { mayMount } from "../../src/kubelet/pods/volumes/fake-parts.ts";
import type { Volume } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, TestCluster } from "./cluster-node.ts";

const annotation = "volumes.kubernetes.io/controller-managed-attach-detach";
const volume = { name: "data", flexVolume: { driver: "example.com/disk" } } as Volume;
const spec = {
  volumes: [volume],
  containers: [container({ volumeMounts: [{ name: "data", mountPath: "/data" }] })],
};

/** Mounts tmpfs, and records the name of each call with the device. */
async function installDriver(pluginDir: string, log: string): Promise<void> {
  const dir = join(pluginDir, "example.com~disk");
  await mkdir(dir, { recursive: true });
  const driver = `#!/bin/sh
case "$1" in
  init) ;;
  attach) device=/dev/own ;;
  waitforattach) device=$2 ;;
  mountdevice) device=$3; mount -t tmpfs flex "$2" ;;
  unmountdevice) umount "$2" ;;
  detach) ;;
  *) echo '{"status": "Not supported"}'; exit 1 ;;
esac
echo "$1:$device" >>${log}
echo "{\\"status\\": \\"Success\\", \\"device\\": \\"$device\\"}"
`;
  await writeFile(join(dir, "disk"), driver);
  await chmod(join(dir, "disk"), 0o755);
}

// parity: field enableControllerAttachDetach, field volumePluginDir, event SuccessfulAttachVolume
for (const enableControllerAttachDetach of [true, false])
  test(`with enableControllerAttachDetach: ${enableControllerAttachDetach}, a driver in volumePluginDir ${enableControllerAttachDetach ? "does not attach volumes" : "attaches and detaches volumes"}`, {
    skip: !mayMount && "needs root",
  }, async (t) => {
    const cluster = await TestCluster.start(t);
    const log = join(cluster.dir, "calls");
    const volumePluginDir = join(cluster.dir, "drivers");
    await installDriver(volumePluginDir, log);
    await cluster.startAgent({
      config: { ...cluster.config(), enableControllerAttachDetach, volumePluginDir },
    });
    const node = () => cluster.api.all("nodes")[0]!;
    cluster.addPod("user", spec);
    const unique = "example.com/disk/data";
    await waitFor(() => assert.deepEqual((node().status as ApiStatus).volumesInUse, [unique]));
    if (enableControllerAttachDetach) {
      const { status } = node();
      const volumesAttached = [{ name: unique, devicePath: "/dev/given" }];
      cluster.api.put("nodes", { ...node(), status: { ...(status as object), volumesAttached } });
    }
    await cluster.runs("user");
    const attached = 'AttachVolume.Attach succeeded for volume "data" ';
    await waitFor(() =>
      assert.deepEqual(
        cluster.events("user", "SuccessfulAttachVolume"),
        enableControllerAttachDetach ? [] : [attached],
      ),
    );
    assert.equal(
      node().metadata.annotations?.[annotation],
      enableControllerAttachDetach ? "true" : undefined,
    );
    cluster.api.deletePod("user");
    await waitFor(() => assert.equal((node().status as ApiStatus).volumesInUse?.length ?? 0, 0));
    const device = enableControllerAttachDetach ? "/dev/given" : "/dev/own";
    const calls = ["init:", `waitforattach:${device}`, `mountdevice:${device}`, "unmountdevice:"];
    if (!enableControllerAttachDetach) {
      calls.splice(1, 0, `attach:${device}`);
      calls.push("detach:");
    }
    await waitFor(async () => assert.deepEqual((await readFile(log, "utf8")).trimEnd().split("\n"), calls));
  });

interface ApiStatus {
  readonly volumesInUse?: readonly string[];
}
