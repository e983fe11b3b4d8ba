import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { CsiTestNode } from "./csi-test-node.ts";
import type { DriverProcess } from "./driver-process.ts";

const available = containerdVersions().find(({ name }) => name === "2.x")?.available;
const group = { securityContext: { fsGroup: 4321 } };

interface Publish {
  readonly volumeId: string;
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly volumeCapability: { readonly mount?: { readonly volumeMountGroup?: string } };
}

describe("kinds of CSI volumes", { skip: available === true ? false : available }, () => {
  let testNode: CsiTestNode;
  const drivers = new Map<string, DriverProcess>();
  const driverOf = (name: string) => drivers.get(name)!;
  const published = async (name: string) =>
    (await driverOf(name).calls("NodePublishVolume")).map(({ request }) => request as unknown as Publish);

  before(async () => {
    testNode = await CsiTestNode.start("2.x");
    const rules: [name: string, object: object, more?: Parameters<CsiTestNode["driver"]>[2]][] = [
      ["inline", { podInfoOnMount: true, tokenRequests: [{ audience: "vault" }, { audience: "" }] }],
      ["secretive", { tokenRequests: [{ audience: "vault" }], serviceAccountTokenInSecrets: true }],
      ["policy-file", { fsGroupPolicy: "File" }],
      ["policy-none", { fsGroupPolicy: "None" }],
      ["policy-default", { fsGroupPolicy: "ReadWriteOnceWithFSType" }],
      ["group", {}, { capabilities: ["STAGE_UNSTAGE_VOLUME", "VOLUME_MOUNT_GROUP"] }],
      ["block", {}, { loopDevices: true }],
    ];
    await Promise.all(
      rules.map(async ([name, object, more]) => {
        const driver = await testNode.driver(`${name}.example.com`, object, more);
        drivers.set(name, driver);
        await driver.start();
      }),
    );
    const claims: [name: string, driver: string, spec?: object, csi?: object][] = [
      ["policy-file", "policy-file", { accessModes: ["ReadWriteMany"] }, { fsType: "" }],
      ["policy-none", "policy-none"],
      ["policy-default", "policy-default"],
      ["policy-default-many", "policy-default", { accessModes: ["ReadWriteMany"] }],
      ["group", "group"],
      ["block", "block", { volumeMode: "Block" }],
    ];
    for (const [name, driver, spec, csi] of claims)
      await testNode.claim(`${driver}.example.com`, name, spec, csi);
    const csi = (driver: string) => ({
      csi: { driver: `${driver}.example.com`, volumeAttributes: { size: "1" } },
    });
    for (const name of ["inline", "secretive"]) await testNode.pod(name, csi(name));
    for (const name of ["policy-file", "policy-none", "policy-default", "policy-default-many", "group"])
      await testNode.podWithClaim(name, { spec: group });
    await testNode.podWithClaim("block", {
      container: { volumeMounts: [], volumeDevices: [{ name: "data", devicePath: "/dev/xdisk" }] },
    });
  });
  after(async () => {
    await testNode?.destroy();
  });

  // parity: volume csi
  test("an inline volume is published with the pod's name and tokens, and removed with the pod", async () => {
    const { metadata } = await testNode.apiNode.runs("inline");
    await testNode.inside("inline", "echo hello > /data/file");
    const [call] = await published("inline");
    const { volumeContext: context } = call!;
    assert.match(call!.volumeId, /^csi-[0-9a-f]{64}$/);
    assert.equal(context.size, "1");
    assert.equal(context["csi.storage.k8s.io/ephemeral"], "true");
    assert.equal(context["csi.storage.k8s.io/pod.uid"], metadata.uid);
    const tokens = JSON.parse(context["csi.storage.k8s.io/serviceAccount.tokens"] ?? "{}");
    assert.deepEqual(Object.keys(tokens), ["", "vault"]);
    const review = await testNode.apiNode.admin.request<{
      status: { authenticated: boolean; user: object };
    }>({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: tokens.vault.token, audiences: ["vault"] },
      },
    });
    assert.equal(review.status.authenticated, true, JSON.stringify(review.status));
    await testNode.apiNode.deletePod("inline");
    await testNode.apiNode.isGone("inline");
    assert.equal((await driverOf("inline").calls("NodeUnpublishVolume")).length, 1);
    assert.equal((await driverOf("inline").calls("NodeStageVolume")).length, 0);
  });

  test("tokens are passed as secrets if the driver requests that", async () => {
    await testNode.apiNode.runs("secretive");
    const [call] = await published("secretive");
    assert.ok(call!.secrets?.["csi.storage.k8s.io/serviceAccount.tokens"]?.includes("vault"));
    assert.equal(call!.volumeContext["csi.storage.k8s.io/serviceAccount.tokens"], undefined);
  });

  test("files get the pod's group according to the driver's fsGroupPolicy", async () => {
    for (const [pod, gid] of [
      ["policy-file", "4321"],
      ["policy-none", "0"],
      ["policy-default", "4321"],
      ["policy-default-many", "0"],
    ] as const) {
      await testNode.apiNode.runs(pod);
      assert.equal(await testNode.inside(pod, "stat -c %g /data"), gid, pod);
      const group = (await published(pod.replace("-many", ""))).map(({ volumeCapability: c }) => c.mount);
      assert.ok(group.every((mount) => !mount?.volumeMountGroup));
    }
  });

  test("a driver that applies fsGroup itself gets the group, and the agent does not change files", async () => {
    await testNode.apiNode.runs("group");
    const [call] = await published("group");
    assert.equal(call!.volumeCapability.mount?.volumeMountGroup, "4321");
    const [stage] = await driverOf("group").calls("NodeStageVolume");
    assert.equal((stage!.request as unknown as Publish).volumeCapability.mount?.volumeMountGroup, "4321");
    assert.equal(await testNode.inside("group", "stat -c %g /data"), "0");
  });

  test("a container can write to a block device, which is kept after kill -9 of the agent and removed with its pod", async () => {
    await testNode.apiNode.runs("block");
    assert.match(await testNode.inside("block", "stat -c %F /dev/xdisk"), /^block special/);
    await testNode.inside("block", "echo -n hello | dd of=/dev/xdisk conv=fsync 2>/dev/null");
    const before = testNode.mounts();
    const of = (all: typeof before) => all.filter(({ path }) => path.includes("volumeDevices"));
    assert.ok(of(before).length > 0);
    const calls = async () =>
      (await driverOf("block").calls()).filter(({ method }) => /stage|publish/i.test(method));
    const called = (await calls()).length;
    await testNode.restartAgent();
    await testNode.apiNode.runs("block");
    await waitFor(async () =>
      assert.match(
        await testNode.request("/metrics"),
        /^volume_manager_total_volumes\{plugin_name="kubernetes.io\/csi:block.example.com",state="actual_state_of_world"\} 1$/m,
      ),
    );
    assert.deepEqual(testNode.mounts(), before);
    assert.equal((await calls()).length, called);
    assert.equal(await testNode.inside("block", "dd if=/dev/xdisk bs=5 count=1 2>/dev/null"), "hello");
    await testNode.apiNode.deletePod("block");
    await testNode.apiNode.isGone("block");
    await waitFor(() => assert.deepEqual(of(testNode.mounts()), []));
    const methods = (await calls()).map(({ method }) => method);
    assert.deepEqual(methods.slice(called), ["NodeUnpublishVolume", "NodeUnstageVolume"]);
  });
});
