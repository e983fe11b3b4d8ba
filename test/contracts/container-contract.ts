import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { type ContractPods, EXITS_ON_TERM, errorOf, FOREVER, sh, UNKNOWN_ID } from "./contract-pods.ts";
import { eventually } from "./eventually.ts";
import { nameHolderOf } from "./name-holder.ts";

/** The behavior of containers that the agent relies on. */
export function containerContract(pods: ContractPods): void {
  /** A shell that has written "ready": before that it would not get to its trap. */
  const hasSetTrap = async (id: ContainerId) => {
    const { logPath } = await pods.status(id);
    await eventually(async () => ((await readFile(logPath, "utf8")).includes("ready") ? true : undefined));
  };
  describe("containers", () => {
    it("go from created to running to exited, with times in that order", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.create(pod, sh("sleep 0.3; exit 7"));
      const created = await pods.status(id);
      assert.equal(created.state, ContainerState.CONTAINER_CREATED);
      assert.ok(created.createdAt > 0n);
      assert.equal(created.startedAt, 0n);
      assert.equal(created.finishedAt, 0n);
      await pods.client.startContainer(id);
      const running = await pods.status(id);
      assert.equal(running.state, ContainerState.CONTAINER_RUNNING);
      assert.ok(running.startedAt >= running.createdAt);
      assert.equal(running.finishedAt, 0n);
      const exited = await pods.exit(id);
      assert.equal(exited.exitCode, 7);
      assert.equal(exited.reason, "Error");
      assert.equal(exited.createdAt, created.createdAt);
      assert.equal(exited.startedAt, running.startedAt);
      assert.ok(exited.finishedAt >= exited.startedAt);
    });

    it("that exit with 0 are Completed", async (t) => {
      const pod = await pods.pod(t);
      const exited = await pods.exit(await pods.start(pod, ["/bin/true"]));
      assert.equal(exited.exitCode, 0);
      assert.equal(exited.reason, "Completed");
    });

    it("keep their configuration", async (t) => {
      const pod = await pods.pod(t);
      const labels = { "io.kubernetes.container.name": "main", "io.kubernetes.pod.uid": pod.uid };
      const annotations = { "io.kubernetes.container.restartCount": "3", "example.com/json": '{"a":"ü"}' };
      const id = await pods.create(pod, FOREVER, { labels, annotations, attempt: 3 });
      const status = await pods.status(id);
      const [item] = await pods.client.listContainers({ id });
      for (const found of [status, item!]) {
        assert.equal(found.id, id);
        assert.equal(found.metadata?.name, "main");
        assert.equal(found.metadata?.attempt, 3);
        assert.deepEqual(found.labels, labels);
        assert.deepEqual(found.annotations, annotations);
        assert.notEqual(found.imageRef, "");
      }
      assert.equal(item?.podSandboxId, pod.id);
      assert.equal(item.image?.image, pods.runtime.busybox);
      assert.equal(status.logPath, join(pod.logDirectory, "main/3.log"));
    });

    it("are found by ID, sandbox, label and state", async (t) => {
      const pod = await pods.pod(t);
      const other = await pods.pod(t);
      const running = await pods.start(pod, FOREVER, { labels: { role: "a" } });
      const created = await pods.create(pod, FOREVER, { attempt: 1, labels: { role: "b" } });
      const elsewhere = await pods.create(other, FOREVER, { labels: { role: "a" } });
      const ids = async (filter: Parameters<CriClient["listContainers"]>[0]) =>
        new Set((await pods.client.listContainers(filter)).map(({ id }) => id as ContainerId));
      assert.deepEqual(await ids({ id: running }), new Set([running]));
      assert.deepEqual(await ids({ id: UNKNOWN_ID }), new Set());
      assert.deepEqual(await ids({ podSandboxId: pod.id }), new Set([running, created]));
      assert.deepEqual(await ids({ podSandboxId: pod.id, labelSelector: { role: "a" } }), new Set([running]));
      assert.deepEqual(await ids({ podSandboxId: other.id }), new Set([elsewhere]));
      const state = { state: ContainerState.CONTAINER_CREATED };
      assert.deepEqual(await ids({ podSandboxId: pod.id, state }), new Set([created]));
    });

    it("get the stop signal and may exit within the grace period", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, EXITS_ON_TERM);
      await hasSetTrap(id);
      const startedAt = Date.now();
      await pods.client.stopContainer(id, 60);
      assert.ok(Date.now() - startedAt < 30_000, "the call waited after the container had exited");
      assert.equal((await pods.status(id)).exitCode, 0);
    });

    it("that ignore the stop signal are killed after the grace period", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, sh("trap '' TERM; echo ready; while true; do sleep 0.1; done"));
      await hasSetTrap(id);
      const startedAt = Date.now();
      await pods.client.stopContainer(id, 1);
      assert.ok(Date.now() - startedAt >= 900, "the container was killed before its grace period");
      const status = await pods.status(id);
      assert.equal(status.state, ContainerState.CONTAINER_EXITED);
      assert.equal(status.exitCode, 137);
    });

    it("are killed immediately without a grace period", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, EXITS_ON_TERM);
      await pods.client.stopContainer(id, 0);
      assert.equal((await pods.status(id)).exitCode, 137);
    });

    it("can be stopped in any state, and again", async (t) => {
      const pod = await pods.pod(t);
      const created = await pods.create(pod, FOREVER);
      await pods.client.stopContainer(created, 0);
      const { isCrio } = pods.runtime;
      // CRI-O kills the process that waits for the start.
      const { CONTAINER_CREATED, CONTAINER_EXITED } = ContainerState;
      assert.equal((await pods.status(created)).state, isCrio ? CONTAINER_EXITED : CONTAINER_CREATED);
      const exited = await pods.start(pod, ["/bin/true"], { attempt: 1 });
      await pods.exit(exited);
      await pods.client.stopContainer(exited, 1);
      await pods.client.stopContainer(exited, 1);
      assert.equal((await pods.status(exited)).exitCode, 0);
    });

    it("can be removed while they run, and again", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, FOREVER);
      await pods.client.removeContainer(id);
      await pods.client.removeContainer(id);
      assert.deepEqual(await pods.client.listContainers({ id }), []);
      assert.equal((await errorOf(pods.client.containerStatus(id))).grpcCode, "NOT_FOUND");
    });

    it("cannot be created twice with the same name and attempt; the response names the first", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.create(pod, FOREVER);
      const again = pods.create(pod, FOREVER);
      assert.equal(pods.runtime.isCrio ? await again : nameHolderOf(await errorOf(again)), id);
      await pods.create(pod, FOREVER, { attempt: 1 });
      await pods.client.removeContainer(id);
      assert.notEqual(await pods.create(pod, FOREVER), id);
    });

    it("cannot be started twice", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.start(pod, FOREVER);
      assert.match((await errorOf(pods.client.startContainer(id))).message, /CONTAINER_RUNNING|: running$/);
      await pods.client.stopContainer(id, 0);
      assert.match((await errorOf(pods.client.startContainer(id))).message, /CONTAINER_EXITED|: stopped$/);
    });

    it("that cannot be started are exited with 128, StartError and the reason, or cannot be created", async (t) => {
      const pod = await pods.pod(t);
      if (pods.runtime.isCrio) {
        const error = await errorOf(pods.create(pod, ["/no/such/program"]));
        assert.match(error.message, /\/no\/such\/program.*no such file/i);
        assert.deepEqual(await pods.client.listContainers({ podSandboxId: pod.id }), []);
        await pods.create(pod, FOREVER);
        return;
      }
      const id = await pods.create(pod, ["/no/such/program"]);
      assert.match(
        (await errorOf(pods.client.startContainer(id))).message,
        /\/no\/such\/program.*no such file/,
      );
      const status = await pods.status(id);
      assert.equal(status.state, ContainerState.CONTAINER_EXITED);
      assert.equal(status.exitCode, 128);
      assert.equal(status.reason, "StartError");
      assert.equal(status.startedAt, 0n);
      assert.ok(status.finishedAt >= status.createdAt);
      assert.match(status.message, /no such file/);
    });

    it("do not start in a stopped sandbox", async (t) => {
      const pod = await pods.pod(t);
      const id = await pods.create(pod, FOREVER);
      await pods.client.stopPodSandbox(pod.id);
      // containerd 2.x learns of the end of the sandbox from an event: until then it fails when it connects to the shim.
      assert.match(
        (await errorOf(pods.client.startContainer(id))).message,
        /not running|can't find shim for sandbox|not in created state: stopped/,
      );
      assert.equal((await pods.status(id)).state, ContainerState.CONTAINER_EXITED);
    });

    it("cannot be created without their image, and leave their name free", async (t) => {
      const pod = await pods.pod(t);
      const image = { image: "localhost/kubelet-ts/no-such-image:1" };
      assert.equal((await errorOf(pods.create(pod, FOREVER, { image }))).grpcCode, "NOT_FOUND");
      await pods.create(pod, FOREVER);
    });

    it("can be created from an image ID", async (t) => {
      const pod = await pods.pod(t);
      const known = await pods.client.imageStatus({ image: pods.runtime.busybox });
      assert.ok(known);
      const id = await pods.start(pod, ["/bin/true"], {
        image: { image: known.id, userSpecifiedImage: pods.runtime.busybox },
      });
      assert.equal((await pods.exit(id)).exitCode, 0);
    });
  });
}
