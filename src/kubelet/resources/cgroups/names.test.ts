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

  it("a directory name yields the pod UID, in both namings", () => {
    const anyUid = fc.uuid().map((text) => text as PodUid);
    fc.assert(
      fc.property(anyUid, fc.constantFrom<CgroupNaming>("cgroupfs", "systemd"), (some, naming) => {
        const dir = toPath(podName(root, "Burstable", some), naming)
          .split("/")
          .at(-1)!;
        assert.equal(uidOfDir(dir, naming), some);
      }),
    );
  });
  it("other directories are not pods", () => {
    for (const dir of ["burstable", "besteffort", "system", "pod"])
      assert.equal(uidOfDir(dir, "cgroupfs"), undefined);
    for (const dir of ["kubepods-burstable.slice", "podx", "cri-abc.scope"])
      assert.equal(uidOfDir(dir, "systemd"), undefined);
  });
  it("a name that would be another cgroup is rejected", () => {
    assert.throws(() => podName(root, "Burstable", "../x" as PodUid), /cannot be the name of a cgroup/);
    assert.throws(() => parseRoot("/a/../b"), /must not contain/);
  });
});
