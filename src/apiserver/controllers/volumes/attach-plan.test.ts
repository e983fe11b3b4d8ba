import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import type { ApiObject } from "../../storage/object.ts";
import { type AttachState, planAttachments } from "./attach-plan.ts";

const disk = "kubernetes.io/csi/d.example.com^h^1";
const name = `csi-${createHash("sha256").update("h^1d.example.comn").digest("hex")}`;
const node = (inUse: string[], attached: string[] = []): ApiObject => ({
  metadata: { name: "n", uid: "u" },
  status: { volumesInUse: inUse, volumesAttached: attached.map((name) => ({ name, devicePath: "" })) },
});
const volume: ApiObject = {
  metadata: { name: "pv", uid: "v" },
  spec: { csi: { driver: "d.example.com", volumeHandle: "h^1" } },
};
const driver = (attachRequired: boolean): ApiObject => ({
  metadata: { name: "d.example.com", uid: "d" },
  spec: { attachRequired },
});
const attachment = (attached: boolean, metadata: object = {}): ApiObject => ({
  metadata: { name, uid: "a", ...metadata },
  status: { attached },
});

describe("attaching volumes", () => {
  const cases: [string, Partial<AttachState>, string[]][] = [
    [
      "without volumes in use nothing is attached",
      { nodes: [node([])], attachments: [attachment(true)] },
      [],
    ],
    ["a volume in use is attached", { nodes: [node([disk])] }, [`attach ${name} to n for pv`]],
    ["an unknown volume is not attached", { nodes: [node([disk])], volumes: [] }, []],
    [
      "a volume of a driver without attachRequired gets no VolumeAttachment",
      { nodes: [node([disk])], drivers: [driver(false)] },
      [],
    ],
    ["a VolumeAttachment is created once", { nodes: [node([disk])], attachments: [attachment(false)] }, []],
    [
      "the node is updated when the volume is attached",
      { nodes: [node([disk])], attachments: [attachment(true)] },
      [`attached: ${disk}`],
    ],
    ["the node is updated once", { nodes: [node([disk], [disk])], attachments: [attachment(true)] }, []],
    [
      "a VolumeAttachment that is being deleted does not count as attached",
      { nodes: [node([disk], [disk])], attachments: [attachment(true, { deletionTimestamp: "now" })] },
      ["attached: ", `detach ${name}`],
    ],
    [
      "an unused volume is removed from the node status before it is detached",
      { nodes: [node([], [disk])], attachments: [attachment(true)] },
      ["attached: ", `detach ${name}`],
    ],
    [
      "a volume that needs no attacher is attached immediately",
      { nodes: [node(["kubernetes.io/iscsi/x"])] },
      ["attached: kubernetes.io/iscsi/x"],
    ],
  ];
  for (const [title, state, steps] of cases)
    test(title, () => {
      const all = { nodes: [], volumes: [volume], drivers: [driver(true)], attachments: [], ...state };
      const planned = planAttachments(all).map((step) => {
        if (step.do === "report") return `attached: ${step.attached.join()}`;
        if (step.do === "detach") return `detach ${step.name}`;
        const spec = step.spec as { nodeName: string; source: { persistentVolumeName: string } };
        return `attach ${step.name} to ${spec.nodeName} for ${spec.source.persistentVolumeName}`;
      });
      assert.deepEqual(planned, steps);
    });
});
