import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Container, Pod, PodStatus } from "../../src/lib/model/pod.ts";
import { comparable, recorded } from "../builders/recorded-status.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { MutablePods, type MutablePodsAgent, startMutablePodsAgent } from "./mutable-pods.ts";

/** The pod without its node, and without volumes and API objects, which this agent does not have. */
function withoutVolumes(pod: Pod): Pod {
  const strip = ({ volumeMounts: _, envFrom: __, ...container }: Container): Container => ({
    ...container,
    env: container.env?.filter((v) => !v.valueFrom?.secretKeyRef && !v.valueFrom?.configMapKeyRef),
    command: container.command?.map((word) => word.replace("> /e/x", "> /dev/null")),
  });
  const { volumes: _, nodeName: __, initContainers, containers, ...spec } = pod.spec;
  return {
    ...pod,
    spec: { ...spec, initContainers: initContainers?.map(strip), containers: containers.map(strip) },
  };
}

/** The recorded status, without volumes; image IDs are normalized, and the pod's resources come from its cgroup. */
function reportable(status: PodStatus, version: ContainerdVersion): unknown {
  const { resources: _, ...rest } = comparable(status) as Record<string, unknown>;
  return JSON.parse(
    JSON.stringify(rest, (key, value: unknown) => {
      if (key === "volumeMounts") return undefined;
      // An old runtime does not report these for a container.
      if (version === "1.6" && (key === "user" || key === "resources")) return undefined;
      return key === "imageID" ? "id" : value;
    }),
  );
}

describeOnContainerd("statuses equal those recorded from kubelet v1.36", (version) => {
  let node: TestNode;
  let agent: MutablePodsAgent;
  const source = new MutablePods();

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await startMutablePodsAgent(node, source);
  });

  after(async () => {
    await agent?.stop();
    await node?.stop();
  });

  for (const [name, what] of [
    ["running", "of a pod with a completed init container and a running container with probes"],
    ["full", "of a pod with a sidecar, users, probes and hooks"],
    ["hostnet", "of a failed pod on the host network"],
  ] as const) {
    test(what, async () => {
      const { pod, status } = recorded(name);
      source.addPod(withoutVolumes(pod));
      await agent.waitForPod(pod.metadata.name, (row) =>
        assert.deepEqual(reportable(row.status!, version), reportable(status, version)),
      );
    });
  }
});
