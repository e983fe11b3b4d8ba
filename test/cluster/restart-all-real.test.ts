import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Container } from "../../src/lib/model/pod.ts";
import { sh } from "../e2e/lifecycle-suite.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { busyboxName } from "../node/test-node.ts";
import { NodeWithApi } from "./node-with-api.ts";

const rules = {
  restartPolicyRules: [
    { action: "RestartAllContainers", exitCodes: { operator: "In" as const, values: [42] } },
  ],
};
const shared = { volumeMounts: [{ name: "work", mountPath: "/work" }] };
/** Exits once with the code that restarts all containers. */
const triggers = (then: string) =>
  sh(`test -e /work/done && { ${then}; exit 0; }; sleep 1; touch /work/done; exit 42`);

type ContainerType = "regular" | "sidecar" | "init";

describeOnContainerd("a container that restarts all containers of its pod", (version) => {
  let apiNode: NodeWithApi;

  before(async () => {
    apiNode = await NodeWithApi.start(version);
  });

  after(async () => {
    await apiNode?.destroy();
  });

  for (const containerType of ["regular", "sidecar", "init"] as const satisfies ContainerType[])
    test(`may be a ${containerType} container, even with restartPolicy Never`, async () => {
      const image = { image: busyboxName, imagePullPolicy: "Never" as const };
      const sleeps = sh("trap 'exit 0' TERM; sleep 10000 & wait");
      const trigger: Container = {
        name: "trigger",
        ...image,
        ...rules,
        ...shared,
        command: triggers(containerType === "init" ? "true" : "trap 'exit 0' TERM; sleep 10000 & wait"),
        restartPolicy: containerType === "sidecar" ? "Always" : "Never",
      };
      await apiNode.addPod(
        `by-${containerType}`,
        containerType === "regular" ? trigger : { name: "regular", command: sleeps },
        {
          restartPolicy: "Never",
          volumes: [{ name: "work", emptyDir: {} }],
          initContainers: [
            { name: "init", ...image, command: sh("exit 0") },
            { name: "sidecar", ...image, command: sleeps, restartPolicy: "Always" },
            ...(containerType === "regular" ? [] : [trigger]),
          ],
        },
      );
      // An init container exits before the regular container starts.
      const isRestarted = (name: string) => containerType !== "init" || name !== "regular";
      const restarted = await waitFor(async () => {
        const pod = await apiNode.pod(`by-${containerType}`);
        assert.equal(pod.status?.phase, "Running", JSON.stringify(pod.status));
        const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
        for (const status of [...initContainerStatuses, ...containerStatuses].filter((s) =>
          isRestarted(s.name),
        ))
          assert.equal(status.restartCount, 1, JSON.stringify(status));
        for (const { state } of containerStatuses) assert.ok(state?.running);
        return pod;
      }, 60_000);
      const { containerStatuses = [], initContainerStatuses = [] } = restarted.status ?? {};
      for (const { name, lastState } of [...initContainerStatuses, ...containerStatuses])
        if (isRestarted(name)) assert.ok(lastState?.terminated, name);
    });
});
