import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";

/** Files that Go kubelets wrote. */
const recorded = [
  '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}',
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["GPU-0650a168-e770-3ea8-8ac3-8a1d419763e0"]}},"Checksum":3952659280}',
];

describe("the checkpoint of devices", () => {
  for (const [index, text] of recorded.entries())
    it(`file ${index + 1} of the reference kubelet is read, and written with the same bytes`, () =>
      assert.equal(encodeCheckpoint(decodeCheckpoint(text)), text));

  it("an entry has pod, container, resource, devices by NUMA node and the response", () => {
    const [entry] = decodeCheckpoint(recorded[0] ?? "").entries;
    assert.deepEqual(
      { ...entry, response: Buffer.from(entry?.response ?? []).toString("latin1") },
      {
        podUID: "bf52b2cd-b611-4e79-86b1-280b283185c3",
        container: "check",
        resource: "nvidia.com/gpu",
        devices: new Map([[-1, ["tegra"]]]),
        response: "\n\x1f\n\x16NVIDIA_VISIBLE_DEVICES\x12\x05tegra",
      },
    );
  });

  const corrupt: [rule: string, text: string][] = [
    ["a changed device", (recorded[0] ?? "").replace("tegra", "tegrb")],
    ["another checksum", (recorded[1] ?? "").replace("3952659280", "3952659281")],
    [
      "the form before 1.20",
      '{"Data":{"PodDeviceEntries":[{"PodUID":"a","ContainerName":"b","ResourceName":"c","DeviceIDs":["d"],"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1}',
    ],
    ["an empty file", ""],
    ["no object", "7"],
    ["a truncated file", (recorded[0] ?? "").slice(0, 100)],
  ];
  for (const [rule, text] of corrupt)
    it(`${rule} is an error`, () => assert.throws(() => decodeCheckpoint(text)));

  it("what is written is read", () => {
    const id = fc.string({ minLength: 1, maxLength: 5, unit: "grapheme" });
    const entry = fc.record({
      podUID: id,
      container: id,
      resource: id,
      devices: fc
        .array(fc.tuple(fc.integer({ min: -1, max: 12 }), fc.array(id, { maxLength: 3 })), { maxLength: 3 })
        .map((pairs) => new Map(pairs)),
      response: fc.uint8Array({ maxLength: 20 }),
    });
    const registered = fc
      .array(fc.tuple(id, fc.array(id, { maxLength: 3 })), { maxLength: 3 })
      .map((pairs) => new Map(pairs));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 4 }), registered, (entries, names) => {
        const read = decodeCheckpoint(encodeCheckpoint({ entries, registered: names }));
        assert.deepEqual(new Map(read.registered), names);
        assert.deepEqual(
          read.entries.map((e) => ({ ...e, devices: sorted(e.devices), response: [...e.response] })),
          entries.map((e) => ({ ...e, devices: sorted(e.devices), response: [...e.response] })),
        );
      }),
    );
  });
});

/** JSON objects sort keys that are numbers. */
function sorted(map: ReadonlyMap<number, readonly string[]>): [number, readonly string[]][] {
  return [...map].sort(([a], [b]) => a - b);
}
