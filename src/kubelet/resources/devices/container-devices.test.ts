import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ContainerAllocateResponseSchema } from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import { combineResponses } from "./container-devices.ts";

type Response = MessageInitShape<typeof ContainerAllocateResponseSchema>;
const combine = (responses: Record<string, Response>) =>
  combineResponses(
    new Map(Object.entries(responses).map(([name, r]) => [name, create(ContainerAllocateResponseSchema, r)])),
  );

describe("the responses of plugins", () => {
  it("become environment, mounts, devices, annotations and CDI devices of the container", () => {
    const { devices, conflicts } = combine({
      "v/b": { envs: { B: "2" }, cdiDevices: [{ name: "v/c=1" }, { name: "v/c=2" }] },
      "v/a": {
        envs: { A: "1" },
        mounts: [{ containerPath: "/lib", hostPath: "/opt/lib", readOnly: true }],
        devices: [{ containerPath: "/dev/x", hostPath: "/dev/null", permissions: "rw" }],
        annotations: { note: "n" },
        cdiDevices: [{ name: "v/c=1" }],
      },
    });
    assert.deepEqual(devices, {
      env: new Map([
        ["A", "1"],
        ["B", "2"],
      ]),
      mounts: [{ containerPath: "/lib", hostPath: "/opt/lib", readonly: true }],
      devices: [{ containerPath: "/dev/x", hostPath: "/dev/null", permissions: "rw" }],
      annotations: { note: "n" },
      cdiDevices: ["v/c=1", "v/c=2"],
    });
    assert.deepEqual(conflicts, []);
  });

  it("the first by resource name wins where they differ, and the conflict is reported", () => {
    const { devices, conflicts } = combine({
      "v/b": { envs: { A: "2" }, devices: [{ containerPath: "/dev/x", hostPath: "/dev/zero" }] },
      "v/a": { envs: { A: "1" }, devices: [{ containerPath: "/dev/x", hostPath: "/dev/null" }] },
    });
    assert.equal(devices.env.get("A"), "1");
    assert.deepEqual(
      devices.devices.map(({ hostPath }) => hostPath),
      ["/dev/null"],
    );
    assert.deepEqual(
      conflicts.map(({ kind, key, used, ignored }) => [kind, key, used, ignored]),
      [
        ["environment variable", "A", "1", "2"],
        ["device", "/dev/x", "/dev/null", "/dev/zero"],
      ],
    );
  });

  it("equal settings do not conflict", () => {
    const same: Response = { envs: { A: "1" }, mounts: [{ containerPath: "/l", hostPath: "/l" }] };
    const { devices, conflicts } = combine({ "v/a": same, "v/b": same });
    assert.deepEqual([devices.mounts.length, conflicts.length], [1, 0]);
  });
});
