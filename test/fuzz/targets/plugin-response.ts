import assert from "node:assert/strict";
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { registerPlugin } from "../../../src/kubelet/plugins/register-plugin.ts";
import { volumeUsage } from "../../../src/kubelet/pods/volumes/csi/usage.ts";
import { chooseDevices } from "../../../src/kubelet/resources/devices/choose-devices.ts";
import { combineResponses } from "../../../src/kubelet/resources/devices/container-devices.ts";
import { deviceHints } from "../../../src/kubelet/resources/devices/device-hints.ts";
import { readDevices } from "../../../src/kubelet/resources/devices/device-plugin.ts";
import { driverCalls } from "../../../src/kubelet/resources/dra/driver-calls.ts";
import { isKubeletError } from "../../../src/lib/base/errors.ts";
import { NodeGetVolumeStatsResponseSchema } from "../../../src/lib/gen/csi/v1/csi_pb.js";
import {
  AllocateResponseSchema,
  type ContainerAllocateResponse,
  ListAndWatchResponseSchema,
} from "../../../src/lib/gen/deviceplugin/v1beta1/api_pb.js";
import { DRAPlugin, NodePrepareResourcesResponseSchema } from "../../../src/lib/gen/dra/v1/api_pb.js";
import { PluginInfoSchema } from "../../../src/lib/gen/pluginregistration/v1/api_pb.js";
import type { FuzzTarget } from "../target.ts";

const message = (first: string, schema: DescMessage, content: Record<string, unknown>) =>
  Buffer.concat([Buffer.from(first), toBinary(schema, create(schema, content))]);
const signal = new AbortController().signal;
const claims = [{ uid: "u", name: "c", namespace: "n" }];

/** A response of a plugin in protobuf; the first byte selects the method. */
export default {
  seeds: [
    message("L", ListAndWatchResponseSchema, {
      devices: [{ ID: "a", health: "Healthy", topology: { nodes: [{ ID: 1n }, { ID: -5n }] } }, { ID: "b" }],
    }),
    message("A", AllocateResponseSchema, {
      containerResponses: [
        { envs: { a: "b" }, mounts: [{ hostPath: "/a", containerPath: "/b" }], annotations: { c: "d" } },
        { envs: { a: "x" } },
      ],
    }),
    message("D", NodePrepareResourcesResponseSchema, {
      claims: {
        u: { devices: [{ poolName: "p", deviceName: "d", cdiDeviceIds: ["x/y=z"], requestNames: ["r"] }] },
      },
    }),
    message("C", NodeGetVolumeStatsResponseSchema, {
      usage: [
        { unit: 1, total: 5n, used: 2n, available: 3n },
        { unit: 2, total: -1n },
      ],
      volumeCondition: { abnormal: true, message: "m" },
    }),
    message("R", PluginInfoSchema, {
      type: "CSIPlugin",
      name: "a",
      endpoint: "/e.sock",
      supportedVersions: ["v1"],
    }),
  ],
  dictionary: ["__proto__", "constructor", "toString", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"],
  maxLength: 400,
  async run(input) {
    const bytes = input.subarray(1);
    switch (String.fromCharCode(input[0] ?? 0)) {
      case "L":
        return devices(decoded(ListAndWatchResponseSchema, bytes)?.devices ?? []);
      case "A":
        return allocated(decoded(AllocateResponseSchema, bytes)?.containerResponses ?? []);
      case "D":
        return prepared(decoded(NodePrepareResourcesResponseSchema, bytes));
      case "C":
        return usage(decoded(NodeGetVolumeStatsResponseSchema, bytes));
      case "R":
        return registered(decoded(PluginInfoSchema, bytes));
    }
  },
} satisfies FuzzTarget;

/** The library that decodes protobuf is not what is tested here. */
function decoded<S extends DescMessage>(schema: S, bytes: Buffer) {
  try {
    return fromBinary(schema, bytes);
  } catch {
    return undefined;
  }
}

function devices(reported: Parameters<typeof readDevices>[0]): void {
  const read = readDevices(reported);
  assert.equal(read.devices.length + read.ignored.length, reported.length);
  const known = new Map(read.devices.map((device) => [device.id, device]));
  const available = [...known.keys()];
  const hints = deviceHints({
    count: 1,
    devices: known,
    available: new Set(available),
    reusable: new Set(),
    numaNodes: [0, 1],
  });
  assert.ok(hints.length <= 3);
  for (const affinity of [undefined, 1n, 3n]) {
    const choice = chooseDevices({ count: 1, reusable: [], available, devices: known, affinity });
    if (choice.kind === "query") assert.equal(choice.choose(["a", "x"]).length, 1);
    else assert.equal(choice.kind, available.length === 0 ? "unavailable" : "chosen");
  }
}

function allocated(responses: readonly ContainerAllocateResponse[]): void {
  const { devices: result } = combineResponses(new Map(responses.map((response, i) => [`r${i}`, response])));
  const paths = result.mounts.map(({ containerPath }) => containerPath);
  assert.equal(new Set(paths).size, paths.length);
  for (const text of [...result.env.values(), ...Object.values(result.annotations)])
    assert.equal(typeof text, "string");
}

async function prepared(response: unknown): Promise<void> {
  if (response === undefined) return;
  const calls = driverCalls({
    name: "d",
    service: DRAPlugin,
    channel: { call: async () => response as never },
    metrics: { timedCall: (_: string, __: string, work: () => Promise<unknown>) => work() } as never,
  });
  const found = await calls
    .prepare(claims, signal)
    .catch((error: unknown) => assert.ok(isKubeletError(error), String(error)));
  if (found) assert.deepEqual([...found.keys()], ["u"]);
}

async function usage(response: unknown): Promise<void> {
  if (response === undefined) return;
  const client = {
    capabilities: async () => ({ stats: true, condition: true }),
    stats: async () => response,
  };
  const deps = { drivers: { client: () => client }, volumeHealth: true };
  const result = await volumeUsage(deps as never, { driverName: "d", volumeHandle: "h" }, "/v", signal);
  for (const value of Object.values(result ?? {})) assert.ok(!Number.isNaN(value));
}

async function registered(info: unknown): Promise<void> {
  if (info === undefined) return;
  let handled = 0;
  const handler = { validate: () => {}, register: () => void handled++, deregister: () => {} };
  const channel = {
    connected: async () => {},
    call: async ({ name }: { name: string }) => (name === "GetInfo" ? info : {}),
    close: () => {},
  };
  const handlers = { CSIPlugin: handler, DevicePlugin: handler, DRAPlugin: handler };
  const result = await registerPlugin("/s.sock", handlers as never, () => channel as never, signal).catch(
    (error: unknown) => {
      assert.ok(isKubeletError(error), String(error));
      return undefined;
    },
  );
  if (result) assert.equal(result.handler as unknown, handler, "not a handler");
}
