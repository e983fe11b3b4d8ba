import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type CgroupNaming, parseRoot, podName, qosName, toPath, uidOfDir } from "./names.ts";

const uid = "3fdc9486-faef-4296" as PodUid;
const root = [...parseRoot("/"), "kubepods"];

describe("cgroup names", () => {
  const rows: [rule: string, path: string, want: string][] = [
    [
      "Guaranteed is right below kubepods",
      toPath(podName(root, "Guaranteed", uid), "cgroupfs"),
      "/kubepods/pod3fdc9486-faef-4296",
    ],
    [
      "Burstable has a tier",
      toPath(podName(root, "Burstable", uid), "cgroupfs"),
      "/kubepods/burstable/pod3fdc9486-faef-4296",
    ],
    [
      "cgroupRoot comes first",
      toPath(qosName([...parseRoot("/a/b/"), "kubepods"], "BestEffort"), "cgroupfs"),
      "/a/b/kubepods/besteffort",
    ],
    [
      "systemd repeats the path in each slice and writes - as _",
      toPath(podName(root, "Burstable", uid), "systemd"),
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3fdc9486_faef_4296.slice",
    ],
    ["the root is the root", toPath([], "systemd"), "/"],
  ];
  for (const [rule, path, want] of rows) it(rule, () => assert.equal(path, want));

  it("a folder name gives back the pod's uid, in both namings", () => {
    const anyUid = fc.uuid().map((text) => text as PodUid);
    fc.assert(
      fc.property(anyUid, fc.constantFrom<CgroupNaming>("cgroupfs", "systemd"), (some, naming) => {
        const folder = toPath(podName(root, "Burstable", some), naming)
          .split("/")
          .at(-1)!;
        assert.equal(uidOfDir(folder, naming), some);
      }),
    );
  });
  it("folders of others are no pods", () => {
    for (const folder of ["burstable", "besteffort", "system", "pod"])
      assert.equal(uidOfDir(folder, "cgroupfs"), undefined);
    for (const folder of ["kubepods-burstable.slice", "podx", "cri-abc.scope"])
      assert.equal(uidOfDir(folder, "systemd"), undefined);
  });
  it("a name that would be another cgroup is refused", () => {
    assert.throws(() => podName(root, "Burstable", "../x" as PodUid), /cannot be the name of a cgroup/);
    assert.throws(() => parseRoot("/a/../b"), /must not contain/);
  });
});
