import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { isFinalError } from "../../src/kubelet/pods/volumes/csi/csi-failure.ts";
import { blockPaths } from "../../src/kubelet/pods/volumes/csi/names.ts";
import { hostMounts } from "../../src/lib/host/mounts.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import { eventually } from "../contracts/eventually.ts";
import { type CsiAgent, CsiFixture, csiNodePath, never, nodePath, persistentSpec } from "./csi-fixture.ts";

interface CsiNodeObject {
  metadata: { annotations: Record<string, string> };
  spec: {
    drivers: { name: string; nodeID: string; topologyKeys: string[]; allocatable?: { count: number } }[];
  };
}

const registered = (agent: CsiAgent, name: string) => eventually(() => agent.drivers.get(name));

async function withFixture(work: (b: CsiFixture) => Promise<void>): Promise<void> {
  const b = await CsiFixture.create();
  try {
    await work(b);
  } finally {
    await b.end();
  }
}

describe("a CSI driver", { skip: process.getuid?.() !== 0 && "mounts need root" }, () => {
  // parity: endpoint socket plugins_registry/*.sock pluginregistration.v1.Registration
  it("is registered by its socket, notified, and in the node's objects until the socket is removed", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com", { maxVolumes: 7, topology: { "a.example.com/zone": "z1" } });
      await driver.start();
      const drivers = () => b.api.get<CsiNodeObject>(csiNodePath)?.spec.drivers ?? [];
      await eventually(() => (drivers().length > 0 ? true : undefined));
      assert.deepEqual(drivers(), [
        {
          name: "a.example.com",
          nodeID: "a.example.com-node",
          topologyKeys: ["a.example.com/zone"],
          allocatable: { count: 7 },
        },
      ]);
      const { metadata } = b.api.get<CsiNodeObject & { metadata: { labels: object } }>(nodePath)!;
      assert.deepEqual(metadata.labels, { "a.example.com/zone": "z1" });
      assert.equal(
        metadata.annotations["csi.volume.kubernetes.io/nodeid"],
        '{"a.example.com":"a.example.com-node"}',
      );
      const [reported] = await eventually(async () => {
        const calls = await driver.calls("NotifyRegistrationStatus");
        return calls.length > 0 ? calls : undefined;
      });
      assert.deepEqual(reported?.request, { pluginRegistered: true });
      await rm(driver.options.registrationSocket);
      await eventually(() => (drivers().length === 0 ? true : undefined));
      assert.equal(agent.drivers.get("a.example.com"), undefined);
    }));

  it("stages once for the node, publishes to each pod, and leaves nothing behind", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      await b.driver("a.example.com").start();
      await registered(agent, "a.example.com");
      const { plugin } = agent;
      const spec = persistentSpec("a.example.com");
      const first = b.request(plugin, spec);
      const second = b.request(plugin, spec, { pod: fakePod({ metadata: { uid: "pod-2" as PodUid } }) });
      await plugin.device?.waitForAttach(first.pod, spec, never);
      await plugin.device?.mountDevice(first.pod, spec, first.deviceDir!, undefined, never);
      await plugin.setUp(first);
      await plugin.setUp(second);
      await writeFile(join(plugin.mountPath!(first.dir), "file"), "shared");
      assert.equal(await readFile(join(plugin.mountPath!(second.dir), "file"), "utf8"), "shared");
      const note = JSON.parse(await readFile(join(first.dir, "vol_data.json"), "utf8"));
      assert.equal(note.volumeHandle, "handle-pv-1");
      assert.equal(note.volumeLifecycleMode, "Persistent");
      const usage = await plugin.stats?.(first, spec, never);
      assert.equal(usage?.capacityBytes, 1024 * 1024);
      await plugin.tearDown(first, never);
      assert.equal(await readFile(join(plugin.mountPath!(second.dir), "file"), "utf8"), "shared");
      await assert.rejects(
        plugin.device!.unmountDevice(first.deviceDir!, never),
        /is still mounted by other references/,
      );
      await plugin.tearDown(second, never);
      await plugin.device?.unmountDevice(first.deviceDir!, never);
      await plugin.tearDown(second, never); // idempotent
      await plugin.device?.unmountDevice(first.deviceDir!, never);
      assert.deepEqual(b.mounts(), []);
      assert.equal(existsSync(first.dir), false);
      assert.deepEqual(await readdir(join(b.rootDir, "plugins/kubernetes.io/csi/a.example.com")), []);
    }));

  it("mounts a volume with the SELinux label, and finds it again after a restart", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com");
      await driver.start();
      await registered(agent, "a.example.com");
      const { plugin } = agent;
      const mountOptions = ["noatime"];
      const spec = persistentSpec("a.example.com", "pv-1", { mountOptions });
      for (const [seLinuxMount, expected] of [
        [true, true],
        [false, false],
        [undefined, false],
      ] as const) {
        b.objects["a.example.com"] = { ...b.objects["a.example.com"], seLinuxMount };
        assert.equal(await plugin.mountsWithLabel!(spec, never), expected);
      }
      const label = "system_u:object_r:container_file_t:s0:c1,c2";
      const request = b.request(plugin, spec, { label });
      await plugin.device?.mountDevice(request.pod, spec, request.deviceDir!, undefined, never, label);
      await plugin.setUp(request);
      for (const method of ["NodeStageVolume", "NodePublishVolume"]) {
        const [call] = await driver.calls(method);
        const { volumeCapability } = call!.request as unknown as { volumeCapability: { mount: object } };
        assert.deepEqual(volumeCapability.mount, {
          fsType: "tmpfs",
          mountFlags: ["noatime", `context="${label}"`],
        });
      }
      for (const dir of [request.dir, dirname(request.deviceDir!)]) {
        const data = JSON.parse(await readFile(join(dir, "vol_data.json"), "utf8"));
        assert.equal(data.seLinuxMountContext, label);
      }
      assert.equal((await plugin.reconstruct?.(request))?.label, label);
      const [device] = (await plugin.device?.reconstructDevices?.()) ?? [];
      assert.equal(device?.spec.label, label);
    }));

  it("expands a volume in use, and the PVC gets its new size", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      await b.driver("a.example.com").start();
      await registered(agent, "a.example.com");
      const { plugin } = agent;
      const spec = persistentSpec("a.example.com");
      const request = b.request(plugin, spec);
      await plugin.device?.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      await plugin.setUp(request);
      assert.equal(plugin.requiresRemountNow?.(spec), false);
      const claimPath = "/api/v1/namespaces/default/persistentvolumeclaims/claim";
      b.api.put(claimPath, {
        metadata: { name: "claim", namespace: "default", uid: "claim-uid" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "4Mi" } } },
        status: {
          capacity: { storage: "1Mi" },
          allocatedResources: { storage: "4Mi" },
          allocatedResourceStatuses: { storage: "NodeResizePending" },
          conditions: [{ type: "FileSystemResizePending", status: "True" }],
        },
      });
      const grown = persistentSpec("a.example.com", "pv-1", { capacity: { storage: "4Mi" } });
      assert.equal(plugin.requiresRemountNow?.(grown), true);
      await plugin.setUp({ ...request, spec: grown });
      const { blocks, bsize } = await statfs(plugin.mountPath!(request.dir));
      assert.equal(blocks * bsize, 4 * 1024 * 1024);
      assert.deepEqual(b.api.get<{ status: object }>(claimPath)?.status, {
        capacity: { storage: "4Mi" },
        allocatedResources: { storage: "4Mi" },
        allocatedResourceStatuses: {},
        conditions: [],
      });
      assert.match(
        agent.events.join("\n"),
        /FileSystemResizeSuccessful MountVolume\.NodeExpandVolume succeeded/,
      );
    }));

  it("that is killed in the middle of staging continues when it is back, and is registered again", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com");
      await driver.faults({ NodeStageVolume: "execute-and-hang" });
      await driver.start();
      const before = await registered(agent, "a.example.com");
      const { plugin } = agent;
      const spec = persistentSpec("a.example.com");
      const request = b.request(plugin, spec);
      const staging = plugin.device!.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      const failure = assert.rejects(
        staging,
        (error) => /code = Unavailable/.test(String(error)) && !isFinalError(error),
      );
      await eventually(() => (b.mounts().length > 0 ? true : undefined));
      await driver.kill();
      await failure;
      assert.equal(
        existsSync(join(request.deviceDir!, "..", "vol_data.json")),
        true,
        "the record of a volume that may be staged was removed",
      );
      await driver.faults({});
      await driver.start();
      await eventually(() => {
        const now = agent.drivers.get("a.example.com");
        return now && now !== before ? true : undefined;
      });
      await plugin.device?.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      await plugin.setUp(request);
      assert.equal(b.mounts().length, 2, "there is not one mount for the node and one for the pod");
      await plugin.tearDown(request, never);
      await plugin.device?.unmountDevice(request.deviceDir!, never);
      assert.deepEqual(b.mounts(), []);
    }));

  it("that never responds blocks neither another driver nor the shutdown of the agent", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const stuck = b.driver("stuck.example.com");
      await stuck.faults({ NodePublishVolume: "hang" });
      const good = b.driver("good.example.com");
      await Promise.all([stuck.start(), good.start()]);
      await registered(agent, "stuck.example.com");
      await registered(agent, "good.example.com");
      const { plugin } = agent;
      const abort = new AbortController();
      const blocked = b.request(plugin, persistentSpec("stuck.example.com", "pv-stuck"), {
        signal: abort.signal,
      });
      const other = b.request(plugin, persistentSpec("good.example.com", "pv-good"));
      for (const { pod, spec, deviceDir } of [blocked, other])
        await plugin.device?.mountDevice(pod, spec, deviceDir!, undefined, never);
      const publishing = plugin.setUp(blocked);
      const aborted = assert.rejects(publishing, { name: "AbortError" });
      await eventually(async () => ((await stuck.calls("NodePublishVolume")).length > 0 ? true : undefined));
      await plugin.setUp(other);
      await writeFile(join(plugin.mountPath!(other.dir), "file"), "");
      abort.abort();
      await aborted;
      assert.equal(
        existsSync(join(blocked.dir, "vol_data.json")),
        true,
        "the record of a volume that may be published was removed",
      );
    }));

  it("that never responds to its registration blocks no other", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const stuck = b.driver("stuck.example.com");
      await stuck.faults({ GetInfo: "hang", NodeGetInfo: "hang" });
      await stuck.start();
      await b.driver("good.example.com").start();
      await registered(agent, "good.example.com");
      assert.equal(agent.drivers.get("stuck.example.com"), undefined);
    }));

  it("is called by a restarted agent to unpublish what the previous one published", () =>
    withFixture(async (b) => {
      const firstAgent = await b.agent();
      await b.driver("a.example.com").start();
      await registered(firstAgent, "a.example.com");
      const spec = persistentSpec("a.example.com");
      const request = b.request(firstAgent.plugin, spec);
      await firstAgent.plugin.device?.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      await firstAgent.plugin.setUp(request);
      const mountId = (await hostMounts.at(firstAgent.plugin.mountPath!(request.dir)))?.id;
      await firstAgent.stop();
      const agent = await b.agent();
      await assert.rejects(
        agent.plugin.tearDown(request, never),
        /not found in the list of registered CSI drivers/,
      );
      await registered(agent, "a.example.com");
      const found = await agent.plugin.reconstruct?.(request);
      assert.equal(
        found && agent.plugin.uniqueName(request.pod, found),
        agent.plugin.uniqueName(request.pod, spec),
      );
      assert.equal(agent.plugin.device?.deviceDir(found!), request.deviceDir);
      await agent.plugin.setUp(request);
      assert.ok(mountId);
      assert.equal(
        (await hostMounts.at(firstAgent.plugin.mountPath!(request.dir)))?.id,
        mountId,
        "the volume was mounted again",
      );
      await agent.plugin.tearDown(request, never);
      await agent.plugin.device?.unmountDevice(request.deviceDir!, never);
      assert.deepEqual(b.mounts(), []);
    }));

  it("publishes an inline volume with the pod's info and tokens", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const object = {
        podInfoOnMount: true,
        tokenRequests: [{ audience: "vault" }],
        requiresRepublish: true,
      };
      const driver = b.driver("a.example.com", {}, object);
      await driver.start();
      await registered(agent, "a.example.com");
      const { plugin } = agent;
      const spec = {
        name: "scratch",
        volume: { name: "scratch", csi: { driver: "a.example.com", volumeAttributes: { size: "small" } } },
        readOnly: false,
      };
      const request = b.request(plugin, spec);
      assert.equal(plugin.device?.applies?.(spec), false);
      assert.equal(plugin.requiresRemountNow?.(spec), true);
      await plugin.setUp(request);
      await plugin.setUp(request);
      const calls = await driver.calls("NodePublishVolume");
      assert.equal(calls.length, 2, "the driver requires republish and was not called again");
      const { volumeContext, volumeId } = calls[0]!.request as { volumeContext: object; volumeId: string };
      assert.match(volumeId, /^csi-[0-9a-f]{64}$/);
      assert.deepEqual(volumeContext, {
        size: "small",
        "csi.storage.k8s.io/pod.name": "web",
        "csi.storage.k8s.io/pod.namespace": "default",
        "csi.storage.k8s.io/pod.uid": "pod-1",
        "csi.storage.k8s.io/serviceAccount.name": "",
        "csi.storage.k8s.io/ephemeral": "true",
        "csi.storage.k8s.io/serviceAccount.tokens":
          '{"vault":{"token":"token of web for vault","expirationTimestamp":"2026-01-01T01:00:00Z"}}',
      });
      await plugin.tearDown(request, never);
      assert.deepEqual(b.mounts(), []);
    }));

  it("publishes a block device, and is called to unstage it with the last pod", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com");
      await driver.start();
      await registered(agent, "a.example.com");
      const spec = persistentSpec("a.example.com", "pv-1");
      const block = { ...spec, persistent: { ...spec.persistent!, mode: "Block" as const } };
      const targets = ["pod-1", "pod-2"].map((uid) => ({
        podUid: uid as PodUid,
        dir: join(b.rootDir, "pods", uid, "volumeDevices/kubernetes.io~csi/pv-1"),
      }));
      const { plugin } = agent;
      for (const target of targets) {
        const pod = fakePod({ metadata: { uid: target.podUid } });
        const path = await plugin.block!.map(pod, block, target, never);
        assert.equal(path, blockPaths(b.rootDir, "pv-1", target.podUid).publish);
        assert.equal((await stat(path)).isCharacterDevice(), true);
      }
      const found = await plugin.reconstruct?.(targets[0]!);
      assert.equal(found?.persistent?.mode, "Block");
      await assert.rejects(plugin.device!.attach!(block, never), {
        message: "attaching volumes from the kubelet is not supported",
      });
      const unmap = async (target: (typeof targets)[number]) => {
        await plugin.block!.unmap(target, never);
        await plugin.block!.tearDownDevice!(target, never);
      };
      await unmap(targets[0]!);
      assert.deepEqual(await driver.calls("NodeUnstageVolume"), []);
      await unmap(targets[1]!);
      await unmap(targets[1]!);
      assert.equal((await driver.calls("NodeUnstageVolume")).length, 1);
      assert.deepEqual(b.mounts(), []);
      const left = await readdir(join(b.rootDir, "plugins/kubernetes.io/csi/volumeDevices"));
      assert.deepEqual(left.sort(), ["publish", "staging"]);
    }));

  it("that fails to publish leaves no directory, and the pod gets its message", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com");
      await driver.faults({ NodePublishVolume: { code: "INTERNAL", message: "no such disk" } });
      await driver.start();
      await registered(agent, "a.example.com");
      const spec = persistentSpec("a.example.com");
      const request = b.request(agent.plugin, spec);
      await assert.rejects(agent.plugin.setUp(request), {
        message: "rpc error: code = Internal desc = no such disk",
      });
      assert.equal(existsSync(request.dir), false);
    }));

  it("that fails to republish keeps the existing mount", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com", {}, { requiresRepublish: true });
      await driver.start();
      await registered(agent, "a.example.com");
      const { plugin } = agent;
      const spec = persistentSpec("a.example.com");
      const request = b.request(plugin, spec);
      await plugin.device?.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      await plugin.setUp(request);
      const path = plugin.mountPath!(request.dir);
      const before = (await hostMounts.at(path))?.id;
      await driver.faults({
        NodePublishVolume: { code: "INTERNAL", message: "no" },
        NodeStageVolume: { code: "INTERNAL", message: "no" },
      });
      await assert.rejects(plugin.setUp(request), /desc = no/);
      await plugin.device!.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      assert.equal((await driver.calls("NodeStageVolume")).length, 1, "the volume was staged again");
      assert.ok(before);
      assert.equal((await hostMounts.at(path))?.id, before);
      assert.equal(existsSync(join(request.dir, "vol_data.json")), true);
      await plugin.tearDown(request, never);
      await plugin.device?.unmountDevice(request.deviceDir!, never);
      assert.deepEqual(b.mounts(), []);
    }));

  it("that reports an unmount that it did not do is called again", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      const driver = b.driver("a.example.com");
      await driver.start();
      await registered(agent, "a.example.com");
      const spec = persistentSpec("a.example.com");
      const request = b.request(agent.plugin, spec);
      await agent.plugin.device?.mountDevice(request.pod, spec, request.deviceDir!, undefined, never);
      await agent.plugin.setUp(request);
      await driver.faults({ NodeUnpublishVolume: "skip" });
      await assert.rejects(agent.plugin.tearDown(request, never), /is still mounted/);
      assert.equal(existsSync(join(request.dir, "vol_data.json")), true);
      await driver.faults({});
      await agent.plugin.tearDown(request, never);
      assert.equal(existsSync(request.dir), false);
    }));

  it("gets fsGroup applied to its files, unless it applies it itself", () =>
    withFixture(async (b) => {
      const agent = await b.agent();
      await b.driver("a.example.com").start();
      const own = b.driver("own.example.com", {
        capabilities: ["STAGE_UNSTAGE_VOLUME", "VOLUME_MOUNT_GROUP"],
      });
      await own.start();
      await registered(agent, "a.example.com");
      await registered(agent, "own.example.com");
      const { plugin } = agent;
      for (const name of ["a.example.com", "own.example.com"]) {
        const request = b.request(plugin, persistentSpec(name, `pv-${name}`), { fsGroup: 1234 });
        await plugin.device?.mountDevice(request.pod, request.spec, request.deviceDir!, 1234, never);
        await plugin.setUp(request);
      }
      assert.deepEqual(b.ownershipChanges, [
        `${join(b.rootDir, "pods/pod-1/volumes/kubernetes.io~csi/pv-a.example.com/mount")} 1234`,
      ]);
      const [call] = await own.calls("NodePublishVolume");
      const { volumeCapability } = call!.request as { volumeCapability: { mount: object } };
      assert.deepEqual(volumeCapability.mount, { fsType: "tmpfs", volumeMountGroup: "1234" });
    }));
});
