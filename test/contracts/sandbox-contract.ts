import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, it } from "node:test";
import type { CriClient, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import { NamespaceMode, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type ContractPods, errorOf, FOREVER, UNKNOWN_ID } from "./contract-pods.ts";
import { eventually } from "./eventually.ts";
import { nameHolderOf } from "./name-holder.ts";

/** The behavior of pod sandboxes that the agent relies on. */
export function sandboxContract(pods: ContractPods): void {
  /** CRI-O adds the name of the container that it omits. */
  const labelsOf = (labels: Record<string, string>) =>
    pods.runtime.isCrio ? { ...labels, "io.kubernetes.container.name": "POD" } : labels;
  describe("sandboxes", () => {
    it("are ready once run, with their configuration", async (t) => {
      const pod = await pods.pod(t);
      const { status } = await pods.client.podSandboxStatus(pod.id);
      assert.equal(status?.id, pod.id);
      assert.equal(status.state, PodSandboxState.SANDBOX_READY);
      assert.ok(status.createdAt > 0n);
      assert.deepEqual(
        { ...status.metadata, $typeName: undefined },
        { ...pod.config.metadata, $typeName: undefined },
      );
      assert.deepEqual(status.labels, labelsOf(pod.config.labels!));
      assert.deepEqual(status.annotations, pod.config.annotations);
      assert.equal(status.linux?.namespaces?.options?.network, NamespaceMode.NODE);
    });

    it("are listed with the same id, metadata, labels and annotations", async (t) => {
      const pod = await pods.pod(t);
      const [item, ...others] = await pods.client.listPodSandboxes({ id: pod.id });
      assert.deepEqual(others, []);
      assert.equal(item?.id, pod.id);
      assert.equal(item.metadata?.uid, pod.uid);
      assert.deepEqual(item.labels, labelsOf(pod.config.labels!));
      assert.deepEqual(item.annotations, pod.config.annotations);
    });

    it("are found by id, label and state", async (t) => {
      const ready = await pods.pod(t);
      const stopped = await pods.pod(t);
      await pods.client.stopPodSandbox(stopped.id);
      await notReady(pods.client, stopped.id);
      const ids = async (filter: Parameters<CriClient["listPodSandboxes"]>[0]) =>
        new Set((await pods.client.listPodSandboxes(filter)).map(({ id }) => id as SandboxId));
      const suite = { suite: "contract" };
      const known = (all: Set<SandboxId>) => new Set([ready.id, stopped.id].filter((id) => all.has(id)));
      const uidLabel = { "io.kubernetes.pod.uid": ready.uid };
      assert.deepEqual(await ids({ labelSelector: { ...suite, ...uidLabel } }), new Set([ready.id]));
      assert.deepEqual(known(await ids({ labelSelector: suite })), new Set([ready.id, stopped.id]));
      assert.deepEqual(await ids({ labelSelector: { suite: "none" } }), new Set());
      const isReady = { state: PodSandboxState.SANDBOX_READY };
      assert.deepEqual(known(await ids({ state: isReady })), new Set([ready.id]));
      const isNotReady = { state: PodSandboxState.SANDBOX_NOTREADY };
      assert.deepEqual(known(await ids({ state: isNotReady })), new Set([stopped.id]));
      assert.deepEqual(await ids({ id: UNKNOWN_ID }), new Set());
    });

    it("can be stopped twice, and remain listed as not ready", async (t) => {
      const pod = await pods.pod(t);
      await pods.client.stopPodSandbox(pod.id);
      await pods.client.stopPodSandbox(pod.id);
      await notReady(pods.client, pod.id);
    });

    it("can be removed twice, running or not", async (t) => {
      const pod = await pods.pod(t);
      await pods.client.removePodSandbox(pod.id);
      await pods.client.removePodSandbox(pod.id);
      assert.deepEqual(await pods.client.listPodSandboxes({ id: pod.id }), []);
      assert.equal((await errorOf(pods.client.podSandboxStatus(pod.id))).grpcCode, "NOT_FOUND");
    });

    it("can be stopped and removed by two callers at once", async (t) => {
      const pod = await pods.pod(t);
      await pods.start(pod, FOREVER);
      const remove = async () => {
        await pods.client.stopPodSandbox(pod.id);
        await pods.client.removePodSandbox(pod.id);
      };
      await Promise.all([remove(), remove()]);
      assert.deepEqual(await pods.client.listPodSandboxes({ id: pod.id }), []);
    });

    it("stop and remove their containers with them", async (t) => {
      const pod = await pods.pod(t);
      const running = await pods.start(pod, FOREVER);
      const created = await pods.create(pod, FOREVER, { attempt: 1 });
      await pods.client.stopPodSandbox(pod.id);
      const status = await pods.exit(running);
      assert.equal(status.exitCode, 137);
      assert.equal((await pods.client.listContainers({ podSandboxId: pod.id })).length, 2);
      await pods.client.removePodSandbox(pod.id);
      assert.deepEqual(await pods.client.listContainers({ podSandboxId: pod.id }), []);
      for (const id of [running, created]) {
        assert.equal((await errorOf(pods.client.containerStatus(id))).grpcCode, "NOT_FOUND");
      }
    });

    it("cannot be created twice with the same name and attempt; the response names the first", async (t) => {
      const pod = await pods.pod(t);
      const again = pods.client.runPodSandbox(pod.config, "");
      // For CRI-O it is the same request again.
      assert.equal(pods.runtime.isCrio ? await again : nameHolderOf(await errorOf(again)), pod.id);
      const next = await pods.pod(t, { attempt: 1, uid: pod.uid });
      assert.notEqual(next.id, pod.id);
    });

    it("free their name when they are removed", async (t) => {
      const pod = await pods.pod(t);
      await pods.client.removePodSandbox(pod.id);
      const again = await pods.pod(t, { uid: pod.uid });
      assert.notEqual(again.id, pod.id);
    });

    it("on the host network have no address, others have their own", async (t) => {
      const onHost = await pods.pod(t);
      assert.equal((await pods.client.podSandboxStatus(onHost.id)).status?.network?.ip ?? "", "");
      if (!pods.runtime.podNetwork) return t.skip("the runtime under test has no pod network");
      const ips = new Set<string>();
      for (let n = 0; n < 2; n++) {
        const pod = await pods.pod(t, { network: NamespaceMode.POD });
        ips.add((await pods.client.podSandboxStatus(pod.id)).status?.network?.ip ?? "");
      }
      assert.equal(ips.size, 2);
      for (const ip of ips) assert.notEqual(isIP(ip), 0, `"${ip}" is not an address`);
    });

    it("reject an unknown runtime handler", async (t) => {
      const pod = await pods.pod(t);
      const config = { ...pod.config, metadata: { ...pod.config.metadata, attempt: 9 } };
      const error = await errorOf(pods.client.runPodSandbox(config, "no-such-handler"));
      assert.match(
        error.message,
        /no runtime for "no-such-handler" is configured|failed to find runtime handler no-such-handler/,
      );
      assert.equal(
        (await pods.client.listPodSandboxes({ labelSelector: { "io.kubernetes.pod.uid": pod.uid } })).length,
        1,
      );
    });
  });
}

/** containerd 2.x may list a sandbox as ready for a moment after StopPodSandbox has returned. */
async function notReady(client: CriClient, id: SandboxId): Promise<void> {
  await eventually(async () => {
    const { status } = await client.podSandboxStatus(id);
    return status?.state === PodSandboxState.SANDBOX_NOTREADY || undefined;
  });
}
