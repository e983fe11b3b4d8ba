import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { podRuntimeOnFake as setUp } from "../../../../test/builders/pod-runtime.ts";
import { aContainer, aPod, testUid } from "../../../../test/builders/pods.ts";
import { fakeImages } from "../../../../test/fake-runtime/fake-runtime.ts";
import type { Container } from "../../../lib/model/pod.ts";

/** Exits with 0 on SIGTERM, as if its work were done. */
const exitsCleanly = (name: string, more: Partial<Container> = {}) =>
  aContainer(name, {
    image: fakeImages.busybox,
    command: ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep inf"],
    ...more,
  });

for (const restartPolicy of ["OnFailure", "Never"] as const)
  test(`${restartPolicy}: a container whose image changed is replaced, though it exited with 0`, async (t) => {
    const s = await setUp(t);
    await s.sync(aPod({ restartPolicy, containers: [exitsCleanly("a")] }));
    await s.sync(aPod({ restartPolicy, containers: [exitsCleanly("a", { image: fakeImages.pause })] }));
    assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
    assert.ok(s.output.includes("Killing: Container a definition changed, will be restarted"));
  });

test("OnFailure: a container that was stopped for a new sandbox runs again, though it exited with 0", async (t) => {
  const s = await setUp(t);
  const pod = aPod({ restartPolicy: "OnFailure", containers: [exitsCleanly("a")] });
  await s.sync(pod);
  await s.sync({ ...pod, spec: { ...pod.spec, hostNetwork: true } });
  assert.deepEqual(s.names(), ["a#0 exited", "a#1 running"]);
  assert.deepEqual(s.sandboxes(), ["#0 stopped", "#1 ready"]);
});

test("RestartAllContainers: all containers start again in the same sandbox, and the logs are kept", async (t) => {
  const s = await setUp(t);
  const all = {
    restartPolicy: "Never",
    restartPolicyRules: [
      { action: "RestartAllContainers", exitCodes: { operator: "In" as const, values: [42] } },
    ],
  };
  const pod = aPod({
    restartPolicy: "Never",
    initContainers: [exitsCleanly("s", { restartPolicy: "Always" })],
    containers: [exitsCleanly("a", all), exitsCleanly("b")],
  });
  await s.sync(pod);
  const first = [...s.fake.pods.containers.keys()];
  // Logs are normally removed with their container, rotated ones too; here they are kept.
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
