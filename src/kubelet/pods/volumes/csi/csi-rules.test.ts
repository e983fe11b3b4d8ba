import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { abortError } from "../../../../lib/base/errors.ts";
import { RpcError } from "../../../../lib/clients/plugin-rpc/rpc-error.ts";
import { VolumeCapability_AccessMode_Mode as Mode } from "../../../../lib/gen/csi/v1/csi_pb.js";
import { accessModeFor } from "./csi-client.ts";
import { callFailure, isFinalError, transient } from "./csi-failure.ts";
import { highestVersion, showVersion } from "./csi-version.ts";
import { attachmentName, blockPaths, globalMountDir, inlineHandle } from "./names.ts";
import { appliesFsGroup, fsGroupPolicyOf, unsupportedLifecycleMode } from "./publish.ts";
import type { CsiSource } from "./source.ts";

// printf vol1 | sha256sum
const vol1 = "af1f1ed4cf362d576cb22ce9e3e2dcba2733cbde8ab5ae181d2b82d2b1274b66";

describe("names of CSI volumes", () => {
  it("are the same as upstream's", () => {
    // printf vol1driver1node1 | sha256sum
    assert.equal(
      attachmentName("vol1", "driver1", "node1"),
      "csi-277fb9628e864dc71a29d97e84a29d03f19eb560a7cfe7ad08be7306da360ba6",
    );
    assert.match(inlineHandle("uid", "data"), /^csi-[0-9a-f]{64}$/);
    assert.equal(
      globalMountDir("/var/lib/kubelet", "d.example.com", "vol1"),
      `/var/lib/kubelet/plugins/kubernetes.io/csi/d.example.com/${vol1}/globalmount`,
    );
    const { staging, publish, data, global } = blockPaths("/r", "pv-1", "uid-1");
    const base = "/r/plugins/kubernetes.io/csi/volumeDevices";
    assert.deepEqual(
      [staging, publish, data, global],
      [`${base}/staging/pv-1`, `${base}/publish/pv-1/uid-1`, `${base}/pv-1/data`, `${base}/pv-1/dev`],
    );
  });
});

describe("the version of CSI", () => {
  const cases: [readonly string[], string | RegExp][] = [
    [["1.0.0"], "1.0.0"],
    [["v1.0.0", "1.2.0", "1.10.1"], "1.10.1"],
    [["0.3.0", "1.0.0", "2.0.0"], "1.0.0"],
    [["0.3.0"], /^highest supported version reported is 0\.3\.0, must be v1\.x$/],
    [["2.0.0"], /^could not find a highest supported version from versions \(\[2\.0\.0\]\) reported: <nil>$/],
    [["new"], /could not parse "new" as version/],
  ];
  for (const [versions, expected] of cases)
    it(`is ${expected} for ${versions.join(", ")}`, () => {
      if (typeof expected === "string") assert.equal(showVersion(highestVersion(versions)), expected);
      else assert.throws(() => highestVersion(versions), { message: expected });
    });
});

describe("access modes", () => {
  const cases: [string, boolean, Mode][] = [
    ["ReadWriteOnce", false, Mode.SINGLE_NODE_WRITER],
    ["ReadWriteOnce", true, Mode.SINGLE_NODE_MULTI_WRITER],
    ["ReadWriteOncePod", false, Mode.SINGLE_NODE_WRITER],
    ["ReadWriteOncePod", true, Mode.SINGLE_NODE_SINGLE_WRITER],
    ["ReadOnlyMany", true, Mode.MULTI_NODE_READER_ONLY],
    ["ReadWriteMany", false, Mode.MULTI_NODE_MULTI_WRITER],
    ["Other", false, Mode.UNKNOWN],
  ];
  for (const [mode, multiWriter, expected] of cases)
    it(`${mode}, ${multiWriter ? "a driver with SINGLE_NODE_MULTI_WRITER" : "any driver"}: ${Mode[expected]}`, () =>
      assert.equal(accessModeFor(mode, multiWriter), expected));
});

describe("a failed call", () => {
  for (const code of [
    "CANCELLED",
    "DEADLINE_EXCEEDED",
    "UNAVAILABLE",
    "RESOURCE_EXHAUSTED",
    "ABORTED",
  ] as const)
    it(`may still be in progress if the code is ${code}`, () => {
      const failure = callFailure(new RpcError(code, "NodeStageVolume", "x"));
      assert.deepEqual([failure.progress, isFinalError(failure)], ["uncertain", false]);
    });
  for (const code of ["INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND", "UNKNOWN"] as const)
    it(`is final if the code is ${code}`, () => {
      const failure = callFailure(new RpcError(code, "NodeStageVolume", "x"));
      assert.deepEqual([failure.progress, isFinalError(failure)], ["final", true]);
    });
  it("is not final if it was aborted or not sent", () => {
    assert.equal(isFinalError(abortError()), false);
    assert.equal(isFinalError(transient("no driver")), false);
  });
});

describe("a driver supports the lifecycle mode", () => {
  it("Persistent if it has no object", () => {
    assert.equal(unsupportedLifecycleMode("d", undefined, "Persistent"), undefined);
    assert.equal(
      unsupportedLifecycleMode("d", undefined, "Ephemeral"),
      'volume mode "Ephemeral" not supported by driver d (no CSIDriver object)',
    );
  });
  it("that its object lists", () => {
    assert.equal(
      unsupportedLifecycleMode("d", { volumeLifecycleModes: ["Ephemeral"] }, "Ephemeral"),
      undefined,
    );
    assert.equal(
      unsupportedLifecycleMode("d", { volumeLifecycleModes: ["Persistent"] }, "Ephemeral"),
      'volume mode "Ephemeral" not supported by driver d (only supports ["Persistent"])',
    );
  });
});

describe("the fsGroup is applied", () => {
  const persistent: CsiSource = {
    mode: "Persistent",
    driver: "d",
    handle: "h",
    fsType: "ext4",
    attributes: undefined,
    readOnly: false,
    accessModes: ["ReadWriteOnce"],
    mountOptions: [],
    publishSecret: undefined,
    stageSecret: undefined,
    expandSecret: undefined,
  };
  const inline: CsiSource = {
    mode: "Ephemeral",
    driver: "d",
    fsType: "ext4",
    attributes: undefined,
    readOnly: false,
    publishSecret: undefined,
  };
  type Policy = NonNullable<ReturnType<typeof fsGroupPolicyOf>>;
  const cases: [string, CsiSource, number | undefined, Policy, boolean][] = [
    ["to a ReadWriteOnce volume with an fsType", persistent, 1, "ReadWriteOnceWithFSType", true],
    ["not without an fsGroup", persistent, undefined, "File", false],
    ["not with policy None", persistent, 1, "None", false],
    ["not to a read-only volume", { ...persistent, readOnly: true }, 1, "File", false],
    ["not without an fsType", { ...persistent, fsType: "" }, 1, "ReadWriteOnceWithFSType", false],
    ["always with policy File", { ...persistent, fsType: "", accessModes: [] }, 1, "File", true],
    [
      "not to a ReadWriteMany volume",
      { ...persistent, accessModes: ["ReadWriteMany"] },
      1,
      "ReadWriteOnceWithFSType",
      false,
    ],
    [
      "to a ReadWriteOncePod volume",
      { ...persistent, accessModes: ["ReadWriteOncePod"] },
      1,
      "ReadWriteOnceWithFSType",
      true,
    ],
    ["to an inline volume", inline, 1, "ReadWriteOnceWithFSType", true],
  ];
  for (const [rule, source, fsGroup, policy, expected] of cases)
    it(rule, () => assert.equal(appliesFsGroup(source, fsGroup, policy), expected));

  it("as with ReadWriteOnceWithFSType if the driver has no object; an object without a policy is invalid", () => {
    assert.equal(fsGroupPolicyOf(undefined), "ReadWriteOnceWithFSType");
    assert.equal(fsGroupPolicyOf({}), undefined);
    assert.equal(fsGroupPolicyOf({ fsGroupPolicy: "File" }), "File");
  });
});
