import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import type {
  ContainerConfigInit,
  ContainerId,
  CriClient,
  PodSandboxConfigInit,
  SandboxId,
} from "../../src/clients/cri/cri.ts";
import { CriError, hasGrpcCode, nameHolderOf } from "../../src/clients/cri/cri-error.ts";
import {
  type ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  PodSandboxState,
} from "../../src/gen/runtime/v1/api_pb.js";
import { eventually } from "./eventually.ts";

/** A runtime to hold the contract against. */
export interface ContractRuntime {
  client: CriClient;
  /** An image with /bin/sh, /bin/sleep, /bin/true and /bin/echo. */
  busybox: string;
  /** A folder for the logs of pods. */
  logDir: string;
  /** Where the cgroups of pods go. */
  cgroupParent?: string;
  /** Whether pods can have a network of their own. */
  podNetwork: boolean;
  stop(): Promise<void>;
}

const UNKNOWN_ID = "f".repeat(64);
const FOREVER = ["/bin/sleep", "3600"];
const OBEDIENT = sh("trap 'exit 0' TERM; while true; do sleep 0.1; done");

function sh(script: string): string[] {
  return ["/bin/sh", "-c", script];
}

/** What the agent relies on, whatever the runtime. Real runtimes and the fake pass the same suite. */
export function describeRuntimeContract(name: string, setup: () => Promise<ContractRuntime>): void {
  describe(`CRI contract: ${name}`, () => {
    let runtime: ContractRuntime;
    let client: CriClient;

    before(async () => {
      runtime = await setup();
      client = runtime.client;
    });
    after(() => runtime?.stop());

    /** A pod of its own for one test, gone after it. */
    const newPod = async (
      t: TestContext,
      attempt = 0,
      uid: string = randomUUID(),
      network = NamespaceMode.NODE,
    ) => {
      const logDirectory = join(runtime.logDir, `contract_pod_${uid}`);
      await mkdir(logDirectory, { recursive: true });
      const config = {
        metadata: { name: "pod", namespace: "contract", uid, attempt },
        logDirectory,
        labels: { "io.kubernetes.pod.uid": uid, suite: "contract" },
        annotations: { "example.com/note": "a = b; ü" },
        linux: {
          cgroupParent: runtime.cgroupParent ?? "",
          securityContext: { namespaceOptions: { network, pid: NamespaceMode.CONTAINER } },
        },
      } satisfies PodSandboxConfigInit;
      const id = await client.runPodSandbox(config, "");
      t.after(async () => {
        await client.removePodSandbox(id);
        await rm(logDirectory, { recursive: true, force: true });
      });
      return { id, uid, config, logDirectory };
    };
    type Pod = Awaited<ReturnType<typeof newPod>>;

    const newContainer = (
      pod: Pod,
      command: string[],
      extra: Partial<ContainerConfigInit> & { attempt?: number } = {},
    ) => {
      const { attempt = 0, ...config } = extra;
      return client.createContainer(
        pod.id,
        {
          metadata: { name: "main", attempt },
          image: { image: runtime.busybox },
          command,
          labels: { "io.kubernetes.container.name": "main" },
          annotations: { "example.com/hash": "1234" },
          logPath: `main/${attempt}.log`,
          linux: {
            securityContext: {
              namespaceOptions: { network: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER },
            },
          },
          ...config,
        } as ContainerConfigInit,
        pod.config,
      );
    };
    const startNew = async (pod: Pod, command: string[], extra: Parameters<typeof newContainer>[2] = {}) => {
      const id = await newContainer(pod, command, extra);
      await client.startContainer(id);
      return id;
    };
    const statusOf = async (id: ContainerId): Promise<ContainerStatus> => {
      const { status } = await client.containerStatus(id);
      assert.ok(status);
      return status;
    };
    const exitOf = (id: ContainerId) =>
      eventually(async () => {
        const status = await statusOf(id);
        return status.state === ContainerState.CONTAINER_EXITED ? status : undefined;
      });
    const refused = async (call: Promise<unknown>): Promise<CriError> => {
      const error = await call.then(
        () => assert.fail("the runtime did what it should have refused"),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof CriError, String(error));
      return error;
    };

    it("says its name and that it is ready", async () => {
      const version = await client.version();
      assert.notEqual(version.runtimeName, "");
      assert.equal(version.runtimeApiVersion, "v1");
      const { status } = await client.status(false);
      assert.equal(status?.conditions.find(({ type }) => type === "RuntimeReady")?.status, true);
      assert.ok(status?.conditions.some(({ type }) => type === "NetworkReady"));
    });

    describe("sandboxes", () => {
      it("are ready once run, with what they were given", async (t) => {
        const pod = await newPod(t);
        const { status } = await client.podSandboxStatus(pod.id);
        assert.equal(status?.id, pod.id);
        assert.equal(status.state, PodSandboxState.SANDBOX_READY);
        assert.ok(status.createdAt > 0n);
        assert.deepEqual(
          { ...status.metadata, $typeName: undefined },
          { ...pod.config.metadata, $typeName: undefined },
        );
        assert.deepEqual(status.labels, pod.config.labels);
        assert.deepEqual(status.annotations, pod.config.annotations);
        assert.equal(status.linux?.namespaces?.options?.network, NamespaceMode.NODE);
      });

      it("are listed with the same id, metadata, labels and annotations", async (t) => {
        const pod = await newPod(t);
        const [item, ...others] = await client.listPodSandboxes({ id: pod.id });
        assert.deepEqual(others, []);
        assert.equal(item?.id, pod.id);
        assert.equal(item.metadata?.uid, pod.uid);
        assert.deepEqual(item.labels, pod.config.labels);
        assert.deepEqual(item.annotations, pod.config.annotations);
      });

      it("are found by id, label and state", async (t) => {
        const ready = await newPod(t);
        const stopped = await newPod(t);
        await client.stopPodSandbox(stopped.id);
        const ids = async (filter: Parameters<CriClient["listPodSandboxes"]>[0]) =>
          new Set((await client.listPodSandboxes(filter)).map(({ id }) => id as SandboxId));
        const suite = { suite: "contract" };
        const mine = (all: Set<SandboxId>) => new Set([ready.id, stopped.id].filter((id) => all.has(id)));
        const uidLabel = { "io.kubernetes.pod.uid": ready.uid };
        assert.deepEqual(await ids({ labelSelector: { ...suite, ...uidLabel } }), new Set([ready.id]));
        assert.deepEqual(mine(await ids({ labelSelector: suite })), new Set([ready.id, stopped.id]));
        assert.deepEqual(await ids({ labelSelector: { suite: "none" } }), new Set());
        const isReady = { state: PodSandboxState.SANDBOX_READY };
        assert.deepEqual(mine(await ids({ state: isReady })), new Set([ready.id]));
        const isNot = { state: PodSandboxState.SANDBOX_NOTREADY };
        assert.deepEqual(mine(await ids({ state: isNot })), new Set([stopped.id]));
        assert.deepEqual(await ids({ id: UNKNOWN_ID }), new Set());
      });

      it("can be stopped twice, and stay listed as not ready", async (t) => {
        const pod = await newPod(t);
        await client.stopPodSandbox(pod.id);
        await client.stopPodSandbox(pod.id);
        const { status } = await client.podSandboxStatus(pod.id);
        assert.equal(status?.state, PodSandboxState.SANDBOX_NOTREADY);
      });

      it("can be removed twice, running or not, and are gone", async (t) => {
        const pod = await newPod(t);
        await client.removePodSandbox(pod.id);
        await client.removePodSandbox(pod.id);
        assert.deepEqual(await client.listPodSandboxes({ id: pod.id }), []);
        assert.equal((await refused(client.podSandboxStatus(pod.id))).grpcCode, "NOT_FOUND");
      });

      it("take their containers along when they are stopped or removed", async (t) => {
        const pod = await newPod(t);
        const running = await startNew(pod, FOREVER);
        const created = await newContainer(pod, FOREVER, { attempt: 1 });
        await client.stopPodSandbox(pod.id);
        const status = await exitOf(running);
        assert.equal(status.exitCode, 137);
        assert.equal((await client.listContainers({ podSandboxId: pod.id })).length, 2);
        await client.removePodSandbox(pod.id);
        assert.deepEqual(await client.listContainers({ podSandboxId: pod.id }), []);
        for (const id of [running, created]) {
          assert.equal((await refused(client.containerStatus(id))).grpcCode, "NOT_FOUND");
        }
      });

      it("refuse a second one with the same name and attempt, and name the first", async (t) => {
        const pod = await newPod(t);
        const error = await refused(client.runPodSandbox(pod.config, ""));
        assert.equal(nameHolderOf(error), pod.id);
        const next = await newPod(t, 1, pod.uid);
        assert.notEqual(next.id, pod.id);
      });

      it("free their name when they are removed", async (t) => {
        const pod = await newPod(t);
        await client.removePodSandbox(pod.id);
        const again = await newPod(t, 0, pod.uid);
        assert.notEqual(again.id, pod.id);
      });

      it("on the host's network have no address, others have one of their own", async (t) => {
        const onHost = await newPod(t);
        assert.equal((await client.podSandboxStatus(onHost.id)).status?.network?.ip ?? "", "");
        if (!runtime.podNetwork) return t.skip("the runtime under test has no pod network");
        const ips = new Set<string>();
        for (let n = 0; n < 2; n++) {
          const pod = await newPod(t, 0, randomUUID(), NamespaceMode.POD);
          ips.add((await client.podSandboxStatus(pod.id)).status?.network?.ip ?? "");
        }
        assert.equal(ips.size, 2);
        for (const ip of ips) assert.notEqual(isIP(ip), 0, `"${ip}" is not an address`);
      });

      it("refuse an unknown runtime handler", async (t) => {
        const pod = await newPod(t);
        const config = { ...pod.config, metadata: { ...pod.config.metadata, attempt: 9 } };
        const error = await refused(client.runPodSandbox(config, "no-such-handler"));
        assert.match(error.message, /no runtime for "no-such-handler" is configured/);
        assert.equal(
          (await client.listPodSandboxes({ labelSelector: { "io.kubernetes.pod.uid": pod.uid } })).length,
          1,
        );
      });
    });

    describe("containers", () => {
      it("go from created to running to exited, with times in that order", async (t) => {
        const pod = await newPod(t);
        const id = await newContainer(pod, sh("sleep 0.3; exit 7"));
        const created = await statusOf(id);
        assert.equal(created.state, ContainerState.CONTAINER_CREATED);
        assert.ok(created.createdAt > 0n);
        assert.equal(created.startedAt, 0n);
        assert.equal(created.finishedAt, 0n);
        await client.startContainer(id);
        const running = await statusOf(id);
        assert.equal(running.state, ContainerState.CONTAINER_RUNNING);
        assert.ok(running.startedAt >= running.createdAt);
        assert.equal(running.finishedAt, 0n);
        const exited = await exitOf(id);
        assert.equal(exited.exitCode, 7);
        assert.equal(exited.reason, "Error");
        assert.equal(exited.createdAt, created.createdAt);
        assert.equal(exited.startedAt, running.startedAt);
        assert.ok(exited.finishedAt >= exited.startedAt);
      });

      it("that exit with 0 are Completed", async (t) => {
        const pod = await newPod(t);
        const exited = await exitOf(await startNew(pod, ["/bin/true"]));
        assert.equal(exited.exitCode, 0);
        assert.equal(exited.reason, "Completed");
      });

      it("keep what they were given", async (t) => {
        const pod = await newPod(t);
        const labels = { "io.kubernetes.container.name": "main", "io.kubernetes.pod.uid": pod.uid };
        const annotations = { "io.kubernetes.container.restartCount": "3", "example.com/json": '{"a":"ü"}' };
        const id = await newContainer(pod, FOREVER, { labels, annotations, attempt: 3 });
        const status = await statusOf(id);
        const [item] = await client.listContainers({ id });
        for (const seen of [status, item!]) {
          assert.equal(seen.id, id);
          assert.equal(seen.metadata?.name, "main");
          assert.equal(seen.metadata?.attempt, 3);
          assert.deepEqual(seen.labels, labels);
          assert.deepEqual(seen.annotations, annotations);
          assert.notEqual(seen.imageRef, "");
        }
        assert.equal(item?.podSandboxId, pod.id);
        assert.equal(item.image?.image, runtime.busybox);
        assert.equal(status.logPath, join(pod.logDirectory, "main/3.log"));
      });

      it("are found by id, sandbox, label and state", async (t) => {
        const pod = await newPod(t);
        const other = await newPod(t);
        const running = await startNew(pod, FOREVER, { labels: { role: "a" } });
        const created = await newContainer(pod, FOREVER, { attempt: 1, labels: { role: "b" } });
        const elsewhere = await newContainer(other, FOREVER, { labels: { role: "a" } });
        const ids = async (filter: Parameters<CriClient["listContainers"]>[0]) =>
          new Set((await client.listContainers(filter)).map(({ id }) => id as ContainerId));
        assert.deepEqual(await ids({ id: running }), new Set([running]));
        assert.deepEqual(await ids({ id: UNKNOWN_ID }), new Set());
        assert.deepEqual(await ids({ podSandboxId: pod.id }), new Set([running, created]));
        assert.deepEqual(
          await ids({ podSandboxId: pod.id, labelSelector: { role: "a" } }),
          new Set([running]),
        );
        assert.deepEqual(await ids({ podSandboxId: other.id }), new Set([elsewhere]));
        const state = { state: ContainerState.CONTAINER_CREATED };
        assert.deepEqual(await ids({ podSandboxId: pod.id, state }), new Set([created]));
      });

      it("get the stop signal and may end by themselves within the grace period", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, OBEDIENT);
        // The shell must have set its trap before it is asked to stop.
        await eventually(async () =>
          (await client.execSync(id, ["/bin/true"], 5)).exitCode === 0 ? true : undefined,
        );
        const began = Date.now();
        await client.stopContainer(id, 60);
        assert.ok(Date.now() - began < 30_000, "it was waited for although it had ended");
        assert.equal((await statusOf(id)).exitCode, 0);
      });

      it("that ignore the stop signal are killed after the grace period", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, sh("trap '' TERM; while true; do sleep 0.1; done"));
        const began = Date.now();
        await client.stopContainer(id, 1);
        assert.ok(Date.now() - began >= 900, "it was not given its grace period");
        const status = await statusOf(id);
        assert.equal(status.state, ContainerState.CONTAINER_EXITED);
        assert.equal(status.exitCode, 137);
      });

      it("are killed at once without a grace period", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, OBEDIENT);
        await client.stopContainer(id, 0);
        assert.equal((await statusOf(id)).exitCode, 137);
      });

      it("can be stopped in any state, and again", async (t) => {
        const pod = await newPod(t);
        const created = await newContainer(pod, FOREVER);
        await client.stopContainer(created, 0);
        assert.equal((await statusOf(created)).state, ContainerState.CONTAINER_CREATED);
        const exited = await startNew(pod, ["/bin/true"], { attempt: 1 });
        await exitOf(exited);
        await client.stopContainer(exited, 1);
        await client.stopContainer(exited, 1);
        assert.equal((await statusOf(exited)).exitCode, 0);
      });

      it("can be removed while they run, and again", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, FOREVER);
        await client.removeContainer(id);
        await client.removeContainer(id);
        assert.deepEqual(await client.listContainers({ id }), []);
        assert.equal((await refused(client.containerStatus(id))).grpcCode, "NOT_FOUND");
      });

      it("refuse a second one with the same name and attempt, and name the first", async (t) => {
        const pod = await newPod(t);
        const id = await newContainer(pod, FOREVER);
        assert.equal(nameHolderOf(await refused(newContainer(pod, FOREVER))), id);
        await newContainer(pod, FOREVER, { attempt: 1 });
        await client.removeContainer(id);
        assert.notEqual(await newContainer(pod, FOREVER), id);
      });

      it("cannot be started twice", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, FOREVER);
        assert.match((await refused(client.startContainer(id))).message, /CONTAINER_RUNNING/);
        await client.stopContainer(id, 0);
        assert.match((await refused(client.startContainer(id))).message, /CONTAINER_EXITED/);
      });

      it("that cannot be started are exited with 128, StartError and the reason", async (t) => {
        const pod = await newPod(t);
        const id = await newContainer(pod, ["/no/such/program"]);
        assert.match((await refused(client.startContainer(id))).message, /\/no\/such\/program.*no such file/);
        const status = await statusOf(id);
        assert.equal(status.state, ContainerState.CONTAINER_EXITED);
        assert.equal(status.exitCode, 128);
        assert.equal(status.reason, "StartError");
        assert.equal(status.startedAt, 0n);
        assert.ok(status.finishedAt >= status.createdAt);
        assert.match(status.message, /no such file/);
      });

      it("do not start in a stopped sandbox", async (t) => {
        const pod = await newPod(t);
        const id = await newContainer(pod, FOREVER);
        await client.stopPodSandbox(pod.id);
        assert.match((await refused(client.startContainer(id))).message, /not running/);
        assert.equal((await statusOf(id)).state, ContainerState.CONTAINER_EXITED);
      });

      it("cannot be created without their image, and leave their name free", async (t) => {
        const pod = await newPod(t);
        const image = { image: "localhost/kubelet-ts/no-such-image:1" };
        assert.equal((await refused(newContainer(pod, FOREVER, { image }))).grpcCode, "NOT_FOUND");
        await newContainer(pod, FOREVER);
      });

      it("can be created from the id of an image", async (t) => {
        const pod = await newPod(t);
        const known = await client.imageStatus({ image: runtime.busybox });
        assert.ok(known);
        const id = await startNew(pod, ["/bin/true"], {
          image: { image: known.id, userSpecifiedImage: runtime.busybox },
        });
        assert.equal((await exitOf(id)).exitCode, 0);
      });

      it("write their log in the CRI format, each stream by its name", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, sh("echo one; echo two >&2; echo three"));
        const { logPath } = await exitOf(id);
        const lines = await eventually(async () => {
          const text = await readFile(logPath, "utf8");
          return text.split("\n").length > 3 ? text.trimEnd().split("\n") : undefined;
        });
        for (const line of lines)
          assert.match(
            line,
            /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d) std(out|err) F \w+$/,
          );
        const of = (stream: string) =>
          lines.filter((l) => l.includes(` ${stream} `)).map((l) => l.split(" ").at(-1));
        assert.deepEqual(of("stdout"), ["one", "three"]);
        assert.deepEqual(of("stderr"), ["two"]);
      });

      it("make the folder of their log, and reopen a log that was moved away", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, FOREVER);
        const { logPath } = await statusOf(id);
        await rename(logPath, `${logPath}.old`);
        await client.reopenContainerLog(id);
        assert.equal(await readFile(logPath, "utf8"), "");
        await client.stopContainer(id, 0);
        assert.match((await refused(client.reopenContainerLog(id))).message, /not running/);
      });

      it("run commands and give back output and exit code", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, FOREVER);
        const answer = await client.execSync(id, sh("echo out; echo err >&2; exit 4"), 10);
        assert.equal(Buffer.from(answer.stdout).toString(), "out\n");
        assert.equal(Buffer.from(answer.stderr).toString(), "err\n");
        assert.equal(answer.exitCode, 4);
        assert.match((await refused(client.execSync(id, ["/no/such/program"], 10))).message, /no such file/);
      });

      it("end a command that takes longer than its timeout", async (t) => {
        const pod = await newPod(t);
        const id = await startNew(pod, FOREVER);
        const error = await refused(client.execSync(id, ["/bin/sleep", "60"], 1));
        assert.equal(error.grpcCode, "DEADLINE_EXCEEDED");
        assert.match(error.message, /timeout 1s exceeded/);
        await client.stopContainer(id, 0);
        assert.match((await refused(client.execSync(id, ["/bin/true"], 1))).message, /CONTAINER_EXITED/);
      });
    });

    describe("what does not exist", () => {
      const container = UNKNOWN_ID as ContainerId;
      const sandbox = UNKNOWN_ID as SandboxId;
      const missing: [string, () => Promise<unknown>][] = [
        ["ContainerStatus", () => client.containerStatus(container)],
        ["StartContainer", () => client.startContainer(container)],
        ["PodSandboxStatus", () => client.podSandboxStatus(sandbox)],
        ["ReopenContainerLog", () => client.reopenContainerLog(container)],
        ["ExecSync", () => client.execSync(container, ["/bin/true"], 1)],
        ["UpdateContainerResources", () => client.updateContainerResources(container, { cpuShares: 10n })],
        ["CreateContainer", () => client.createContainer(sandbox, { metadata: { name: "x" } }, {})],
      ];
      for (const [method, call] of missing) {
        it(`${method} says NOT_FOUND`, async () => {
          const error = await refused(call());
          assert.equal(error.grpcCode, "NOT_FOUND");
          assert.equal(error.method, method);
        });
      }
      it("can be stopped and removed all the same", async () => {
        await client.stopContainer(container, 1);
        await client.removeContainer(container);
        await client.stopPodSandbox(sandbox);
        await client.removePodSandbox(sandbox);
        await client.removeImage({ image: "localhost/kubelet-ts/no-such-image:1" });
      });
    });

    describe("images", () => {
      it("are listed and found by name and by id", async () => {
        const byName = await client.imageStatus({ image: runtime.busybox });
        assert.match(byName?.id ?? "", /^sha256:[0-9a-f]{64}$/);
        assert.ok(byName!.size > 0n);
        assert.ok(byName!.repoTags.includes(runtime.busybox));
        assert.equal((await client.imageStatus({ image: byName!.id }))?.id, byName!.id);
        assert.ok((await client.listImages()).some(({ id }) => id === byName!.id));
      });

      it("are undefined when the runtime does not have them", async () => {
        assert.equal(await client.imageStatus({ image: "localhost/kubelet-ts/no-such-image:1" }), undefined);
      });

      it("that cannot be pulled are named in the error", async () => {
        // Port 9 of the loopback: nobody answers, and no name is looked up.
        const image = "127.0.0.1:9/no-such-image:1";
        const error = await refused(client.pullImage({ image }, undefined, undefined));
        assert.match(error.message, /failed to pull and unpack image "127\.0\.0\.1:9\/no-such-image:1"/);
      });

      it("have a file system", async () => {
        const { imageFilesystems } = await client.imageFsInfo();
        assert.notEqual(imageFilesystems[0]?.fsId?.mountpoint ?? "", "");
      });
    });

    describe("events", () => {
      it("tell of each change of a container, or the runtime says that it has none", async (t) => {
        const ended = new AbortController();
        t.after(() => ended.abort());
        const seen: ContainerEventResponse[] = [];
        let failure: unknown;
        const reading = (async () => {
          for await (const event of client.containerEvents(ended.signal)) seen.push(event);
        })().catch((error: unknown) => {
          failure = error;
        });
        const pod = await newPod(t);
        const id = await startNew(pod, ["/bin/true"]);
        await exitOf(id);
        await client.removeContainer(id);
        const types = await eventually(() => {
          if (failure) return "none" as const;
          const mine = seen.filter((event) => event.containerId === id);
          return mine.some((event) => event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT)
            ? mine.map((event) => ContainerEventType[event.containerEventType])
            : undefined;
        });
        if (types === "none") {
          assert.ok(hasGrpcCode(failure, "UNIMPLEMENTED"), String(failure));
          return t.diagnostic("the runtime offers no events");
        }
        assert.deepEqual(types, [
          "CONTAINER_CREATED_EVENT",
          "CONTAINER_STARTED_EVENT",
          "CONTAINER_STOPPED_EVENT",
          "CONTAINER_DELETED_EVENT",
        ]);
        assert.ok(seen.every(({ createdAt }) => createdAt > 0n));
        const started = seen.find(
          (e) => e.containerId === id && e.containerEventType === ContainerEventType.CONTAINER_STARTED_EVENT,
        );
        assert.equal(started?.podSandboxStatus?.id, pod.id);
        ended.abort();
        await reading;
        assert.equal(failure, undefined);
      });
    });
  });
}
