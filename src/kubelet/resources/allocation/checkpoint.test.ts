import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint, encodeCheckpoint, type PodResourceInfo } from "./checkpoint.ts";

const uid = "07aa3d1f-6c5a-4a6b-9b0f-2b3b6a1f7c11" as PodUid;
const info: PodResourceInfo = {
  containers: new Map([
    ["b", {}],
    ["a", { requests: { memory: "16Mi", cpu: "20m" }, limits: { memory: "64Mi" } }],
  ]),
};

describe("the checkpoint of pod resources", () => {
  it("is entries in a string, sorted, with the checksum of that string", () => {
    const data = `{"entries":{"${uid}":{"ContainerResources":{"a":{"limits":{"memory":"64Mi"},"requests":{"cpu":"20m","memory":"16Mi"}},"b":{}},"PodLevelResources":null}}}`;
    const { data: written, checksum } = JSON.parse(encodeCheckpoint(new Map([[uid, info]])));
    assert.equal(written, data);
    assert.equal(typeof checksum, "number");
  });

  it("round-trips, with pod-level resources", () => {
    const pod = { limits: { cpu: "1" }, requests: { cpu: "500m" } };
    const infos = new Map([[uid, { ...info, pod }]]);
    assert.deepEqual(decodeCheckpoint(encodeCheckpoint(infos)), infos);
    assert.deepEqual(decodeCheckpoint(encodeCheckpoint(new Map())), new Map());
  });

  const corruptions: [string, (text: string) => string][] = [
    ["a changed number", (text) => text.replace("64Mi", "65Mi")],
    ["another checksum", (text) => text.replace(/\d+\}$/, "1}")],
    ["a truncated file", (text) => text.slice(0, text.length / 2)],
    ["nothing", () => ""],
    ["no object", () => "null"],
  ];
  for (const [what, corrupt] of corruptions)
    it(`is rejected if it is corrupt: ${what}`, () => {
      assert.throws(() => decodeCheckpoint(corrupt(encodeCheckpoint(new Map([[uid, info]])))));
    });
});
