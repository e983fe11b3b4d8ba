import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { PodUid } from "../../../lib/model/pod.ts";
import {
  type CgroupDriver,
  childName,
  parseName,
  parseRoot,
  podName,
  qosName,
  toPath,
  uidOf,
} from "./names.ts";

const uid = "3fdc9486-faef-4296" as PodUid;
const root = [...parseRoot("/"), "kubepods"];

describe("cgroup names", () => {
  const rows: [rule: string, path: string, want: string][] = [
    [
      "a Guaranteed pod is a direct child of kubepods",
      toPath(podName(root, "Guaranteed", uid), "cgroupfs"),
      "/kubepods/pod3fdc9486-faef-4296",
    ],
    [
      "Burstable has its own cgroup",
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

  const anyDriver = fc.constantFrom<CgroupDriver>("cgroupfs", "systemd");
  it("a directory yields the pod UID, with both drivers", () => {
    const anyUid = fc.uuid().map((text) => text as PodUid);
    fc.assert(
      fc.property(anyUid, anyDriver, (some, driver) => {
        const name = podName(root, "Burstable", some);
        const dir = toPath(name, driver).split("/").at(-1)!;
        const child = childName(qosName(root, "Burstable"), dir, driver);
        assert.deepEqual(child, name);
        assert.equal(uidOf(child!), some);
      }),
    );
  });
  it("a path yields its name, with both drivers", () => {
    const part = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), anyDriver, (name, driver) => {
        assert.deepEqual(parseName(toPath(name, driver), driver), name);
      }),
    );
    assert.deepEqual(parseName("system-services.slice", "systemd"), ["system", "services"]);
  });
  it("other directories are not pods", () => {
    for (const dir of ["burstable", "besteffort", "system", "pod"])
      assert.equal(uidOf(childName(root, dir, "cgroupfs")!), undefined);
    assert.equal(uidOf(childName(root, "kubepods-burstable.slice", "systemd")!), undefined);
    for (const dir of ["podx", "cri-abc.scope"]) assert.equal(childName(root, dir, "systemd"), undefined);
  });
  it("a name that would be another cgroup is rejected", () => {
    assert.throws(() => podName(root, "Burstable", "../x" as PodUid), /cannot be the name of a cgroup/);
    assert.throws(() => parseRoot("/a/../b"), /must not contain/);
  });
});
