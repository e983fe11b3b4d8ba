import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { podRuntimeOnFake as setUp } from "../../../../test/builders/pod-runtime.ts";
import { aContainer, aPod, testUid } from "../../../../test/builders/pods.ts";
import { fakeImages } from "../../../../test/fake-runtime/fake-runtime.ts";
import type { Container } from "../../../lib/model/pod.ts";

/** Ends with 0 when it is told to, as if its work were done. */
const polite = (name: string, more: Partial<Container> = {}) =>
  aContainer(name, {
    image: fakeImages.busybox,
    command: ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep inf"],
    ...more,
  });

for (const restartPolicy of ["OnFailure", "Never"] as const)
  test(`${restartPolicy}: a container with a new image takes the place of one that ended with 0 for it`, async (t) => {
    const s = await setUp(t);
    await s.sync(aPod({ restartPolicy, containers: [polite("a")] }));
    await s.sync(aPod({ restartPolicy, containers: [polite("a", { image: fakeImages.pause })] }));
    assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
    assert.ok(s.output.includes("Killing: Container a definition changed, will be restarted"));
  });

test("OnFailure: what a new sandbox cut short runs again, though it ended with 0", async (t) => {
  const s = await setUp(t);
  const pod = aPod({ restartPolicy: "OnFailure", containers: [polite("a")] });
  await s.sync(pod);
  await s.sync({ ...pod, spec: { ...pod.spec, hostNetwork: true } });
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
  assert.deepEqual(s.sandboxes(), ["#0 stopped", "#1 ready"]);
});

test("RestartAllContainers: all begins again in the same sandbox, and the logs stay", async (t) => {
  const s = await setUp(t);
  const all = {
    restartPolicy: "Never",
    restartPolicyRules: [
      { action: "RestartAllContainers", exitCodes: { operator: "In" as const, values: [42] } },
    ],
  };
  const pod = aPod({
    restartPolicy: "Never",
    initContainers: [polite("s", { restartPolicy: "Always" })],
    containers: [polite("a", all), polite("b")],
  });
  await s.sync(pod);
  const first = [...s.fake.pods.containers.keys()];
  // The logs of a removed container go with their rotated files; these here are to stay.
  const rotated = ["a", "b", "s"].map((name) =>
    join(s.dir, "logs", `default_p_${testUid}`, name, "0.log.20260101-000000"),
  );
  await Promise.all(rotated.map((file) => writeFile(file, "")));
  await s.exit("a", 42);
  await s.sync(pod);
  const now = [...s.fake.pods.containers.values()];
  assert.equal(now.filter((c) => first.includes(c.id)).length, 0, "all are new");
  assert.deepEqual(
    now.map((c) => c.config.metadata?.name),
    ["s", "a", "b"],
  );
  assert.ok(s.names().every((name) => name.endsWith(" running")));
  assert.deepEqual(s.sandboxes(), ["#0 ready"]);
  assert.deepEqual(
    rotated.filter((file) => !existsSync(file)),
    [],
  );
});
