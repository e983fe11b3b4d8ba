import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountsBelow, parseMountinfo, readMounts } from "../../src/lib/host/mount-table.ts";
import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { NodeWithApi, type NodeWithApiOptions, podsPath } from "../cluster/node-with-api.ts";
import { sleeper } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { removeDir } from "../node/remove-dir.ts";
import { busyboxName, type ContainerdVersion } from "../node/test-node.ts";

export interface VolumePod {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly spec: Omit<Partial<PodSpec>, "containers"> & { containers?: Partial<Container>[] };
}

/** The type of the filesystem, as returned by statfs. */
export const tmpfsMagic = 0x01021994;

/** A node with the embedded API whose pods are inspected from inside their containers, and from the node. */
export class VolumeNode {
  readonly apiNode: NodeWithApi;
  /** A directory on the node for test files. */
  readonly dir: string;
  /** Run in reverse order before the directory is removed. */
  readonly cleanups: (() => Promise<void>)[] = [];

  static async start(containerd: ContainerdVersion, o: NodeWithApiOptions = {}): Promise<VolumeNode> {
    const dir = await mkdtemp(join(tmpdir(), "volumes-"));
    return new VolumeNode(await NodeWithApi.start(containerd, o), dir);
  }

  private constructor(apiNode: NodeWithApi, dir: string) {
    this.apiNode = apiNode;
    this.dir = dir;
  }

  async destroy(): Promise<void> {
    for (const step of this.cleanups.reverse()) await step();
    await this.apiNode.destroy();
    await removeDir(this.dir);
  }

  create<T>(path: string, body: object): Promise<T> {
    return this.apiNode.admin.request<T>({ method: "POST", path, body });
  }

  patch(path: string, body: object): Promise<unknown> {
    const contentType = "application/merge-patch+json";
    return this.apiNode.admin.request({ method: "PATCH", path, body, contentType });
  }

  configMap(name: string, data: Record<string, string>, more: object = {}): Promise<unknown> {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data, ...more };
    return this.create("/api/v1/namespaces/default/configmaps", body);
  }

  secret(name: string, stringData: Record<string, string>): Promise<unknown> {
    const data = Object.fromEntries(
      Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    );
    const body = { apiVersion: "v1", kind: "Secret", metadata: { name }, data };
    return this.create("/api/v1/namespaces/default/secrets", body);
  }

  /** Name, image and command of containers have defaults. */
  addPod(name: string, { labels, annotations, spec }: VolumePod): Promise<Pod> {
    const complete = (container: Partial<Container>) => ({
      name: "c",
      image: busyboxName,
      imagePullPolicy: "Never",
      command: sleeper,
      ...container,
    });
    const containers = (spec.containers ?? [{}]).map(complete);
    const common = { terminationGracePeriodSeconds: 1, dnsPolicy: "Default" };
    const metadata = { name, labels, annotations };
    const body = { apiVersion: "v1", kind: "Pod", metadata, spec: { ...common, ...spec, containers } };
    return this.create<Pod>(podsPath, body);
  }

  /** Waits until all containers of the pod are ready. */
  async runs(name: string, withinMs = 60_000): Promise<Pod> {
    return waitFor(async () => {
      const pod = await this.apiNode.pod(name);
      const states = pod.status?.containerStatuses ?? [];
      const ready = states.length > 0 && states.every((status) => status.ready);
      const why = async () =>
        `${name}: ${JSON.stringify(pod.status)}\n${(await this.eventsOf(name)).join("\n")}`;
      if (!ready) assert.fail(await why());
      return pod;
    }, withinMs);
  }

  async eventsOf(name: string, reason?: string): Promise<string[]> {
    const { items } = await this.apiNode.get<{ items: ClusterEvent[] }>("/api/v1/namespaces/default/events");
    return items
      .filter((event) => event.involvedObject.name === name && (!reason || event.reason === reason))
      .map((event) => (reason ? event.message : `${event.reason}: ${event.message}`));
  }

  /** Waits for an event with this message. */
  async hasEvent(name: string, reason: string, what: string | RegExp, withinMs?: number): Promise<void> {
    await waitFor(async () => {
      const output = await this.eventsOf(name, reason);
      const found = output.some((text) => (typeof what === "string" ? text === what : what.test(text)));
      assert.ok(found, `${what}\nis not in\n${(await this.eventsOf(name)).join("\n")}`);
    }, withinMs);
  }

  /** Runs a shell line in a container and returns its output; it must succeed. */
  async inside(name: string, script: string, container = "c"): Promise<string> {
    const { stdout, stderr, exitCode } = await this.#exec(name, script, container);
    assert.equal(exitCode, 0, `${script}: ${stderr}`);
    return stdout.trimEnd();
  }

  /** Runs a shell line in a container and returns its error output; it must fail. */
  async failsInside(name: string, script: string, container = "c"): Promise<string> {
    const { stdout, stderr, exitCode } = await this.#exec(name, script, container);
    assert.notEqual(exitCode, 0, `${script} succeeded: ${stdout}`);
    return stderr;
  }

  /** Sends SIGTERM to its PID 1; the kill command may be killed with it. */
  async terminateContainer(name: string, container = "c"): Promise<void> {
    await this.#exec(name, "kill -TERM 1", container);
  }

  async #exec(name: string, script: string, container: string) {
    const running = await this.apiNode.runtime.listContainers({
      labelSelector: { "io.kubernetes.pod.name": name, "io.kubernetes.container.name": container },
      state: { state: 1 },
    });
    assert.equal(running.length, 1, `${name} has ${running.length} running containers ${container}`);
    const result = await this.apiNode.runtime.execSync(running[0]!.id as never, ["sh", "-c", script], 10);
    return {
      stdout: Buffer.from(result.stdout).toString(),
      stderr: Buffer.from(result.stderr).toString(),
      exitCode: result.exitCode,
    };
  }

  /** The mounts of a container, as it sees them itself. */
  async mountsInside(name: string, container = "c") {
    return parseMountinfo(await this.inside(name, "cat /proc/1/mountinfo", container));
  }

  podDir({ metadata: { uid } }: Pod): string {
    return join(this.apiNode.node.rootDir, "pods", uid);
  }

  volumeDir(pod: Pod, plugin: string, volume: string): string {
    return join(this.podDir(pod), "volumes", `kubernetes.io~${plugin}`, volume);
  }

  /** Mounts of the node for pods and for volumes that pods share: path and id. */
  mountIds(): Map<string, number> {
    const roots = ["pods", "plugins"].map((name) => `${join(this.apiNode.node.rootDir, name)}/`);
    const found = readMounts().filter(({ path }) => roots.some((root) => path.startsWith(root)));
    return new Map(found.map(({ path, id }) => [path, id]));
  }

  /** The directory of a pod and the mounts in it, if they still exist. */
  remainsOf(pod: Pod): string[] {
    const dir = this.podDir(pod);
    return [...(existsSync(dir) ? [dir] : []), ...mountsBelow(readMounts(), [dir])];
  }

  async deletePod(name: string): Promise<void> {
    await this.apiNode.deletePod(name);
  }

  /** Waits until the pod is gone from the API, and from the node. */
  async isGone(pod: Pod): Promise<void> {
    await this.apiNode.isGone(pod.metadata.name);
    await waitFor(() => assert.deepEqual(this.remainsOf(pod), []), 60_000);
  }
}

interface ClusterEvent {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string };
}

/** The tests of some volume types, with the pods that use these volumes. */
export interface VolumeSuite {
  readonly title: string;
  prepare(n: VolumeNode, version: ContainerdVersion): Promise<void>;
  tests(node: () => VolumeNode, version: ContainerdVersion): void;
}
