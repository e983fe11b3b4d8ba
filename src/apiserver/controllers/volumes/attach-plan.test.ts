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
    ["nothing is wanted, and nothing is done", { nodes: [node([])], attachments: [attachment(true)] }, []],
    ["a disk is requested", { nodes: [node([disk])] }, [`attach ${name} to n for pv`]],
    ["not if its volume is unknown", { nodes: [node([disk])], volumes: [] }, []],
    ["not if its driver attaches nothing", { nodes: [node([disk])], drivers: [driver(false)] }, []],
    ["requested once", { nodes: [node([disk])], attachments: [attachment(false)] }, []],
    [
      "its node is updated when it is attached",
      { nodes: [node([disk])], attachments: [attachment(true)] },
      [`attached: ${disk}`],
    ],
    ["and once", { nodes: [node([disk], [disk])], attachments: [attachment(true)] }, []],
    [
      "one that is on its way out is attached no more",
      { nodes: [node([disk], [disk])], attachments: [attachment(true, { deletionTimestamp: "now" })] },
      ["attached: ", `detach ${name}`],
    ],
    [
      "first it is reported, then it is done: a disk that is used no more",
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
