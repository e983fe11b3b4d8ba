import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { DeviceInventory } from "./device-inventory.ts";
import { DevicePlugin } from "./device-plugin.ts";
import { FakeDevicePlugin } from "./fake-device-plugin.ts";
import { gpu } from "./fixtures.ts";

test("devices of an older plugin count as listed when the newest one ends without a list", () => {
  const inventory = new DeviceInventory(new FakeClock());
  inventory.restore([gpu]);
  const [older, newest] = ["/older", "/newest"].map(
    (path) => new DevicePlugin(gpu, path, () => new FakeDevicePlugin(["a"]).open()),
  ) as [DevicePlugin, DevicePlugin];
  inventory.add(older);
  inventory.add(newest);
  inventory.listed(older, [{ id: "a", isHealthy: true, numaNodes: [] }]);
  assert.equal(inventory.isUnlisted(gpu), true);
  inventory.remove(newest);
  assert.deepEqual(inventory.healthy(gpu), ["a"]);
  assert.equal(inventory.isUnlisted(gpu), false);
});
