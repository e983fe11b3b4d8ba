import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGrowth } from "../../../../../test/growth.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import { usedVolumes } from "./pod-volumes.ts";

const podWith = (names: readonly string[]) =>
  fakePod({
    spec: {
      volumes: names.map((name) => ({ name, emptyDir: {} })),
      containers: [{ volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) }],
    },
  });

test("each volume that a container mounts is used, in the order of the mounts", () => {
  const pod = podWith(["a", "b"]);
  pod.spec.containers[0]!.volumeMounts!.unshift({ name: "missing", mountPath: "/m" });
  assert.deepEqual(
    usedVolumes(pod).map(({ name, volume }) => [name, volume?.name]),
    [
      ["missing", undefined],
      ["a", "a"],
      ["b", "b"],
    ],
  );
});

test("any number of volumes takes linear time", () =>
  assertGrowth(1, 200, (size) => {
    const pod = podWith(Array.from({ length: size }, (_, index) => `volume-${index}`));
    return () => usedVolumes(pod);
  }));
