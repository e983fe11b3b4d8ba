import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { explained } from "../cluster/explained.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { claimsPath, DraTestNode, resourceApi } from "./dra-test-node.ts";

const available = containerdVersions().find(({ name }) => name === "2.x")?.available;
// Each test has its own driver and mostly waits, so they run in parallel.
const options = { skip: available === true ? false : available, concurrency: 4 };

describe("pods with resource claims", options, () => {
  let node: DraTestNode;
  before(async () => {
    node = await DraTestNode.start();
  });
  after(async () => {
    await node?.destroy();
  });

  // parity: metric /metrics dra_resource_claims_in_use
  test("a pod with a claim template gets its device, and the claim is unprepared and deleted with the pod", async () => {
    const driver = await node.driver("template.example.com", ["gpu-0"]);
    await node.template("template", "template.example.com");
    await driver.start();
    await node.pod("template", [{ name: "device", resourceClaimTemplateName: "template" }]);
    const { status, metadata } = await node.apiNode.runs("template");
    assert.deepEqual(await node.devices("template"), ["DEVICE_GPU=gpu-0"]);
    const [generated] = status?.resourceClaimStatuses ?? [];
    assert.match(generated?.resourceClaimName ?? "", /^template-device-/);
    const claim = (await node.claims()).find((one) => one.metadata?.name === generated?.resourceClaimName);
    const uid = claim?.metadata?.uid ?? "";
    assert.deepEqual(await driver.prepared(), [uid]);
    const recorded = (await node.checkpoint()).find((one) => one.uid === uid);
    assert.deepEqual(recorded?.pods, [metadata.uid]);
    assert.deepEqual((await node.podResources()).template, [`template.example.com/device=${uid}-gpu-gpu-0`]);
    const inUse = 'dra_resource_claims_in_use{driver_name="template.example.com"}';
    await waitFor(async () => assert.deepEqual(await node.metric(inUse), [`${inUse} 1`]));
    assert.equal((await driver.calls("NodePrepareResources")).length, 1);
    await node.apiNode.deletePod("template");
    await node.apiNode.isGone("template");
    assert.deepEqual(await driver.prepared(), []);
    assert.equal(
      (await node.checkpoint()).find((one) => one.uid === uid),
      undefined,
    );
    await waitFor(async () => {
      const left = (await node.claims()).map((one) => one.metadata?.name);
      assert.ok(!left.includes(generated?.resourceClaimName), left.join());
    });
  });

  test("a claim that two pods share is prepared once, and unprepared after the last of them", async () => {
    const driver = await node.driver("shared.example.com", ["gpu-0"]);
    await node.claim("shared", "shared.example.com");
    await driver.start();
    const claims = [{ name: "device", resourceClaimName: "shared" }];
    await Promise.all([node.pod("shared-a", claims), node.pod("shared-b", claims)]);
    await Promise.all([node.apiNode.runs("shared-a"), node.apiNode.runs("shared-b")]);
    assert.equal((await driver.calls("NodePrepareResources")).length, 1);
    for (const name of ["shared-a", "shared-b"])
      assert.deepEqual(await node.devices(name), ["DEVICE_GPU=gpu-0"]);
    await node.apiNode.deletePod("shared-a");
    await node.apiNode.isGone("shared-a");
    assert.equal((await driver.prepared()).length, 1);
    assert.deepEqual(await driver.calls("NodeUnprepareResources"), []);
    await node.apiNode.deletePod("shared-b");
    await node.apiNode.isGone("shared-b");
    assert.deepEqual(await driver.prepared(), []);
    await waitFor(async () => {
      const claim = (await node.claims()).find((one) => one.metadata?.name === "shared");
      assert.equal(claim?.status?.allocation, undefined, JSON.stringify(claim?.status));
    });
  });

  // parity: event FailedPrepareDynamicResources
  test("a pod without its driver waits with an event and an explanation, and runs when the driver registers", async () => {
    const driver = await node.driver("late.example.com", ["gpu-0"]);
    await driver.start();
    await node.claim("late", "late.example.com");
    await waitFor(async () => {
      const { items } = await node.apiNode.get<{ items: { spec: { driver: string } }[] }>(
        `${resourceApi}/resourceslices`,
      );
      assert.ok(items.some(({ spec }) => spec.driver === "late.example.com"));
    });
    await waitFor(() =>
      assert.match(node.apiNode.agent.log(), /Plugin registered" plugin="late\.example\.com"/),
    );
    await driver.stop();
    await waitFor(() =>
      assert.match(node.apiNode.agent.log(), /Deregistered plugin" plugin="late\.example\.com"/),
    );
    await node.pod("late", [{ name: "device", resourceClaimName: "late" }]);
    const message =
      /FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources: DRA driver late\.example\.com is not registered/;
    await waitFor(async () => assert.match((await node.events("late")).join("\n"), message));
    const cause =
      /^ResourceClaim late: waiting for DRA driver late\.example\.com to register: .*DRA driver late\.example\.com is not registered$/;
    await explained(node.rootDir).waitForPod("late", (pod) => assert.match(pod.cause ?? "", cause), 60_000);
    await driver.start();
    await node.apiNode.runs("late");
    assert.deepEqual(await node.devices("late"), ["DEVICE_GPU=gpu-0"]);
  });

  test("a driver that fails for a claim blocks its pod with the driver's message, which can be deleted", async () => {
    const driver = await node.driver("failing.example.com", ["gpu-0"]);
    await driver.faults({ prepare: { message: "no such firmware" } });
    await driver.start();
    await node.claim("failing", "failing.example.com");
    await node.pod("failing", [{ name: "device", resourceClaimName: "failing" }]);
    const message = /NodePrepareResources failed for ResourceClaim failing: no such firmware/;
    await waitFor(async () => assert.match((await node.events("failing")).join("\n"), message));
    await node.apiNode.deletePod("failing");
    await node.apiNode.isGone("failing");
    assert.equal(
      (await node.checkpoint()).find(({ name }) => name === "failing"),
      undefined,
    );
  });

  test("a driver that hangs blocks its own pods only, with an explanation, and these can be deleted", async () => {
    const stuck = await node.driver("stuck.example.com", ["gpu-0"]);
    await stuck.faults({ NodePrepareResources: "hang" });
    const other = await node.driver("other.example.com", ["gpu-0"]);
    await Promise.all([stuck.start(), other.start()]);
    await node.claim("stuck", "stuck.example.com");
    await node.claim("other", "other.example.com");
    await node.pod("stuck", [{ name: "device", resourceClaimName: "stuck" }]);
    const text = /waiting for DRA driver stuck\.example\.com to prepare ResourceClaim stuck/;
    await explained(node.rootDir).waits("stuck", "claims", text, 60_000);
    await node.pod("other", [{ name: "device", resourceClaimName: "other" }]);
    await node.apiNode.runs("other");
    await node.apiNode.deletePod("stuck");
    await node.apiNode.isGone("stuck");
    assert.equal(
      (await node.checkpoint()).find(({ name }) => name === "stuck"),
      undefined,
    );
  });

  test("an instance of another version takes over, and the driver's slices are kept", async () => {
    const name = "rolling.example.com";
    const first = await node.driver(name, ["gpu-0", "gpu-1"], { versions: ["v1beta1.DRAPlugin"] });
    await first.start();
    await node.claim("rolling-a", name);
    await node.pod("rolling-a", [{ name: "device", resourceClaimName: "rolling-a" }]);
    await node.apiNode.runs("rolling-a");
    const second = node.instance(name, ["gpu-0", "gpu-1"], {
      endpoint: `${first.options.endpoint}.2`,
      registrationSocket: first.options.registrationSocket.replace("-reg", "-2-reg"),
    });
    await second.start();
    await waitFor(() => assert.match(node.apiNode.agent.log(), /Plugin registered.*rolling.*dra\.sock\.2/));
    await node.claim("rolling-b", name);
    await node.pod("rolling-b", [{ name: "device", resourceClaimName: "rolling-b" }]);
    await node.apiNode.runs("rolling-b");
    await first.stop();
    for (const pod of ["rolling-a", "rolling-b"]) await node.apiNode.deletePod(pod);
    for (const pod of ["rolling-a", "rolling-b"]) await node.apiNode.isGone(pod);
    const services = new Set((await second.calls("NodePrepareResources")).map(({ service }) => service));
    assert.deepEqual(
      [...services].map((service) => service.split(".").at(-2)),
      ["v1beta1", "v1"],
    );
    assert.deepEqual(await second.prepared(), []);
  });

  test("the health of a device is in the status of the containers that use it", async () => {
    const driver = await node.driver("health.example.com", ["gpu-0"]);
    await driver.health({ "gpu-0": { health: "HEALTHY" } });
    await driver.start();
    await node.claim("health", "health.example.com");
    await node.pod("health", [{ name: "device", resourceClaimName: "health" }]);
    const reports = (health: string, message?: string) =>
      waitFor(async () => {
        const { status } = await node.apiNode.pod("health");
        const [resource] = status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? [];
        assert.equal(resource?.name, "claim:device");
        const [device] = resource?.resources ?? [];
        assert.match(device?.resourceID ?? "", /^health\.example\.com\/device=.*-gpu-gpu-0$/);
        assert.deepEqual([device?.health, device?.message], [health, message]);
      });
    await reports("Healthy");
    await driver.health({ "gpu-0": { health: "UNHEALTHY", message: "too hot" } });
    await reports("Unhealthy", "too hot");
    await driver.kill();
    await reports("Unknown");
  });

  test("a claim of all devices is prepared once, and the container gets each of them", async () => {
    const driver = await node.driver("all.example.com", ["gpu-0", "gpu-1"]);
    await driver.start();
    await node.claim("all", "all.example.com", { allocationMode: "All" });
    await node.pod("all", [{ name: "device", resourceClaimName: "all" }]);
    await node.apiNode.runs("all");
    const [uid] = await driver.prepared();
    assert.deepEqual(
      (await node.podResources()).all?.sort((a, b) => (a < b ? -1 : 1)),
      ["gpu-0", "gpu-1"].map((device) => `all.example.com/device=${uid}-gpu-${device}`),
    );
    assert.equal((await driver.calls("NodePrepareResources")).length, 1);
  });

  test("a claim with admin access has a device that another pod uses, and is unprepared alone", async () => {
    const driver = await node.driver("admin.example.com", ["gpu-0"]);
    await driver.start();
    await node.claim("owner", "admin.example.com");
    await node.pod("owner", [{ name: "device", resourceClaimName: "owner" }]);
    await node.apiNode.runs("owner");
    const [owned] = await driver.prepared();
    const claim = () => node.claim("admin", "admin.example.com", { adminAccess: true });
    await assert.rejects(claim(), /admin access to devices requires/);
    await node.patch("/api/v1/namespaces/default", {
      metadata: { labels: { "resource.kubernetes.io/admin-access": "true" } },
    });
    await claim();
    await node.pod("admin", [{ name: "device", resourceClaimName: "admin" }]);
    await node.apiNode.runs("admin");
    for (const name of ["owner", "admin"])
      assert.deepEqual(await node.devices(name), ["DEVICE_GPU=gpu-0"], name);
    assert.equal((await driver.prepared()).length, 2);
    await node.apiNode.deletePod("admin");
    await node.apiNode.isGone("admin");
    assert.deepEqual(await driver.prepared(), [owned]);
    assert.deepEqual(await node.devices("owner"), ["DEVICE_GPU=gpu-0"]);
  });

  test("an extended resource that a scheduler has allocated by a claim is prepared, for the containers that request it", async () => {
    const driver = await node.driver("extended.example.com", ["gpu-0"]);
    await driver.start();
    const resource = "vendor.example/extended";
    const resources = { requests: { [resource]: "1" }, limits: { [resource]: "1" } };
    const pod = await node.apiNode.addPod("extended", { resources }, { schedulerName: "other" });
    await node.schedule(pod, resource, { driver: "extended.example.com", device: "gpu-0" });
    await node.apiNode.runs("extended");
    assert.deepEqual(await node.devices("extended"), ["DEVICE_CONTAINER_0_REQUEST_0=gpu-0"]);
    const [uid] = await driver.prepared();
    assert.deepEqual((await node.podResources()).extended, [
      `extended.example.com/device=${uid}-container-0-request-0-gpu-0`,
    ]);
    await node.apiNode.deletePod("extended");
    await node.apiNode.isGone("extended");
    assert.deepEqual(await driver.prepared(), []);
  });

  test("a claim that the embedded API cannot allocate is rejected with the reason", async () => {
    await node.driver("refused.example.com", []);
    await node.create(claimsPath, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "cel" },
      spec: {
        devices: {
          requests: [
            {
              name: "gpu",
              exactly: {
                deviceClassName: "refused.example.com",
                selectors: [{ cel: { expression: "1 < 2" } }],
              },
            },
          ],
        },
      },
    });
    await node.pod("cel", [{ name: "device", resourceClaimName: "cel" }]);
    const reason = /ResourceClaim cel: not supported by this API server: selectors of request gpu/;
    await waitFor(async () => assert.match((await node.events("cel")).join("\n"), reason));
    await node.apiNode.deletePod("cel");
    await node.apiNode.isGone("cel");
  });
});
