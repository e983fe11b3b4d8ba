import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { type Claim, CsiTestNode, claimsPath } from "./csi-test-node.ts";
import type { DriverProcess } from "./driver-process.ts";

const available = containerdVersions().find(({ name }) => name === "2.x")?.available;

// Each test has its own driver and mostly waits, so they run in parallel.
const options = { skip: available === true ? false : available, concurrency: 4 };

describe("a CSI driver that crashes", options, () => {
  let testNode: CsiTestNode;

  before(async () => {
    testNode = await CsiTestNode.start("2.x");
  });
  after(async () => {
    await testNode?.destroy();
  });

  const wasCalled = (driver: DriverProcess, method: string, times = 1) =>
    waitFor(async () => assert.ok((await driver.calls(method)).length >= times, `${method} was not called`));
  const reports = (pod: string, pattern: RegExp) =>
    waitFor(async () => assert.match((await testNode.events(pod)).join("\n"), pattern));
  const started = async (name: string) => {
    const driver = await testNode.driver(`${name}.example.com`, {});
    await testNode.claim(`${name}.example.com`, name);
    return driver;
  };

  // The driver is killed before it did the requested work, or after.
  for (const [method, step] of [
    ["NodeStageVolume", "MountDevice"],
    ["NodePublishVolume", "SetUp"],
  ] as const)
    for (const fault of ["hang", "execute-and-hang"] as const) {
      const name = `${step.toLowerCase()}-${fault}`;
      test(`that is killed during ${method} (${fault}) blocks the pod with a reason, and the pod runs when the driver is back`, async () => {
        const driver = await started(name);
        await driver.faults({ [method]: fault });
        await driver.start();
        await testNode.podWithClaim(name);
        await wasCalled(driver, method);
        await driver.kill();
        const what = `FailedMount: MountVolume.${step} failed for volume "pv-${name}" : rpc error: code = Unavailable`;
        await reports(name, new RegExp(what));
        const row = (await testNode.apiNode.agent.pods())?.find((pod) => pod.name === name);
        assert.match(JSON.stringify(row), /waiting for volume data/);
        await driver.faults({});
        await driver.start();
        await testNode.apiNode.runs(name);
        assert.equal(await testNode.inside(name, "echo hello > /data/file && cat /data/file"), "hello");
        assert.equal(testNode.mounts().filter(({ path }) => path.includes(`pv-${name}`)).length, 1);
      });
    }

  for (const fault of ["hang", "execute-and-hang"] as const)
    test(`that is killed during NodeUnpublishVolume (${fault}) unpublishes the volume when it is back, and the pod is removed`, async () => {
      const name = `unpublish-${fault}`;
      const driver = await started(name);
      await driver.start();
      await testNode.podWithClaim(name);
      await testNode.apiNode.runs(name);
      await driver.faults({ NodeUnpublishVolume: fault });
      await testNode.apiNode.deletePod(name);
      await wasCalled(driver, "NodeUnpublishVolume");
      await driver.kill();
      const failed = new RegExp(`TearDown failed" volume="[^"]*handle-${name}".*code = Unavailable`);
      await waitFor(() => assert.match(testNode.log(), failed));
      assert.ok(
        (await testNode.apiNode.pod(name)).metadata.deletionTimestamp,
        "the pod was removed before its volume",
      );
      await driver.faults({});
      await driver.start();
      await testNode.apiNode.isGone(name);
      await wasCalled(driver, "NodeUnstageVolume");
      await waitFor(() =>
        assert.deepEqual(
          testNode.mounts().filter(({ path }) => path.includes(name)),
          [],
        ),
      );
    });

  test("that is killed during NodeExpandVolume causes an event, and expands the volume of the running pod when it is back", async () => {
    const name = "expand";
    const driver = await started(name);
    await driver.start();
    await testNode.podWithClaim(name);
    await testNode.apiNode.runs(name);
    const containers = await testNode.apiNode.containersOf(name);
    await driver.faults({ NodeExpandVolume: "hang" });
    await testNode.patch(`/api/v1/persistentvolumes/pv-${name}`, { spec: { capacity: { storage: "2Mi" } } });
    await testNode.patch(`${claimsPath}/${name}/status`, {
      status: {
        allocatedResources: { storage: "2Mi" },
        allocatedResourceStatuses: { storage: "NodeResizePending" },
      },
    });
    await wasCalled(driver, "NodeExpandVolume");
    await driver.kill();
    await reports(
      name,
      /VolumeResizeFailed: .*Expander.NodeExpand failed to expand the volume.*code = Unavailable/,
    );
    const { status } = await testNode.apiNode.get<Claim>(`${claimsPath}/${name}`);
    assert.equal(status.allocatedResourceStatuses?.storage, "NodeResizeInProgress");
    assert.deepEqual(
      status.conditions ?? [],
      [],
      "an unavailable driver changed the conditions of the claim",
    );
    await driver.faults({});
    await driver.start();
    await waitFor(async () => {
      const { status } = await testNode.apiNode.get<Claim>(`${claimsPath}/${name}`);
      assert.equal(status.capacity?.storage, "2Mi");
    });
    assert.equal(await testNode.inside(name, "df -k /data | tail -1 | awk '{print $2}'"), "2048");
    assert.deepEqual(await testNode.apiNode.containersOf(name), containers);
  });
});
