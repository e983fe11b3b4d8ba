import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../lib/base/logger.ts";
import type { PluginChannel } from "../../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { SocketChanged } from "../../../../lib/clients/plugin-rpc/plugin-channel.ts";
import type { CsiNodeInfo } from "./csi-node.ts";
import { DriverStore } from "./driver-store.ts";
import { CsiRegistration } from "./registration.ts";

const never = new AbortController().signal;

function setUp(node: Partial<CsiNodeInfo> = {}) {
  const log: string[] = [];
  const drivers = new DriverStore();
  const open = (endpoint: string): PluginChannel => ({
    connected: async () => {},
    close: () => void log.push(`close ${endpoint}`),
    call: (async () => ({ nodeId: "id", maxVolumesPerNode: 5n })) as unknown as PluginChannel["call"],
  });
  const registration = new CsiRegistration({
    drivers,
    node: {
      install: async (driver, { nodeId, maxVolumes }) =>
        void log.push(`install ${driver} ${nodeId} ${maxVolumes}`),
      update: async () => {},
      uninstall: async (driver) => void log.push(`uninstall ${driver}`),
      ...node,
    },
    clock: new FakeClock(),
    logger: silentLogger,
    metrics: { called: () => {} },
    open,
    onChange: (driver) => void log.push(`change ${driver}`),
  });
  return { registration, drivers, log };
}
const plugin = (...versions: string[]) => ({ name: "d", endpoint: "/d.sock", versions });

describe("a CSI driver", () => {
  it("is available, and in the node's objects, while it is registered", async () => {
    const { registration, drivers, log } = setUp();
    registration.validate(plugin("1.0.0"));
    await registration.register(plugin("1.0.0"), never);
    assert.equal(drivers.client("d").driver, "d");
    await registration.deregister(plugin("1.0.0"));
    assert.throws(() => drivers.client("d"), {
      message: "driver name d not found in the list of registered CSI drivers",
    });
    assert.deepEqual(log, ["install d id 5", "change d", "close /d.sock", "uninstall d", "change d"]);
  });

  for (const [what, reason, expected] of [
    ["remains in the node's objects when the agent stops during its registration", undefined, []],
    ["is removed from the node's objects when its socket is removed", new SocketChanged(), ["uninstall d"]],
  ] as const)
    it(what, async () => {
      const end = new AbortController();
      const { registration, drivers, log } = setUp({
        install: async (_driver, _info, signal) => {
          end.abort(reason);
          signal.throwIfAborted();
        },
      });
      await assert.rejects(registration.register(plugin("1.0.0"), end.signal));
      assert.equal(drivers.get("d"), undefined);
      assert.deepEqual(log, ["close /d.sock", ...expected]);
    });

  it("is not registered if the node's objects cannot be written", async () => {
    const { registration, drivers, log } = setUp({
      install: async () => {
        throw new Error("no API");
      },
    });
    await assert.rejects(registration.register(plugin("1.0.0"), never), { message: "no API" });
    assert.equal(drivers.get("d"), undefined);
    assert.deepEqual(log, ["close /d.sock", "uninstall d"]);
  });

  for (const name of ["", "a".repeat(64), "a/b", "..", "a\0", "ä"])
    it(`is rejected with the name ${JSON.stringify(name.slice(0, 8))}`, () => {
      const { registration } = setUp();
      assert.throws(() => registration.validate({ ...plugin("1.1.0"), name }), {
        message: /: invalid driver name "/,
      });
    });

  it("is rejected with a name of any length, which is not repeated as a whole", () => {
    const { registration } = setUp();
    assert.throws(
      () => registration.validate({ ...plugin("1.1.0"), name: "a".repeat(4_000_000) }),
      (error: Error) => error.message.length < 10_000,
    );
    for (const name of ["ebs.csi.aws.com", "Vendor-1.x", "a".repeat(63)])
      registration.validate({ ...plugin("1.1.0"), name });
  });

  const rejected: [string, readonly string[], string][] = [
    [
      "without versions",
      [],
      'kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. Plugin returned an empty list for supported versions',
    ],
    [
      "with a version before 1.0",
      ["0.3.0"],
      'kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. None of the versions specified ["0.3.0"] are supported. err=highest supported version reported is 0.3.0, must be v1.x',
    ],
    [
      "that is registered with the same or a higher version",
      ["1.1.0"],
      'kubernetes.io/csi: ValidatePlugin for CSI driver "d" failed. Another driver with the same name is already registered with a higher supported version: "1.1.0"',
    ],
  ];
  for (const [what, versions, reason] of rejected)
    it(`${what} is rejected`, async () => {
      const { registration } = setUp();
      await registration.register(plugin("1.1.0"), never);
      assert.throws(() => registration.validate(plugin(...versions)), {
        message: `validation failed for CSI Driver d at endpoint /d.sock: ${reason}`,
      });
      registration.validate(plugin("1.2.0"));
    });
});
