import assert from "node:assert/strict";
import { type ChildProcess, execFile as execFileBack, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { CriClient } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { removeAbandonedNodes } from "../../src/single-node/abandoned.ts";
import { cleanUpNode } from "../../src/single-node/cleanup.ts";
import { type NodeFiles, nodeFiles } from "../../src/single-node/node-files.ts";
import type { OciImage } from "../../src/single-node/oci-image.ts";
import { firstAddress } from "../../src/single-node/subnet.ts";
import { runtimeClient } from "../e2e/agent-process.ts";
import { CliProcess, environmentFor } from "../e2e/cli-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { ContainerdVersion } from "../node/test-node.ts";

const execFile = promisify(execFileBack);
/** Longer than any test; the node is stopped after the tests. */
const lifetimeMs = 1_200_000;
/** Logs are rotated as often as the configuration allows. */
const configuration = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  containerLogMaxSize: "100Ki",
  containerLogMonitorInterval: "3s",
};

/** A node of `kubelet up` with a unique name, and direct access to its runtime. */
export class UpNode {
  readonly files: NodeFiles;
  readonly cri: CriClient;
  readonly #up: CliProcess;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(files: NodeFiles, up: CliProcess, env: NodeJS.ProcessEnv) {
    this.files = files;
    this.#env = env;
    this.#up = up;
    this.cri = runtimeClient(`unix://${files.containerd.socket}`);
  }

  /** The suffix of the name, for tests with several nodes. */
  static async start(containerd: ContainerdVersion, suffix = ""): Promise<UpNode> {
    await removeAbandonedNodes(/^kubectl-(\d+)(-[a-z]+)?$/);
    const files = nodeFiles(`kubectl-${process.pid}${suffix}`);
    const env = environmentFor(containerd);
    const config = join(mkdtempSync(join(tmpdir(), "kubectl-node-")), "config.json");
    writeFileSync(config, JSON.stringify(configuration));
    const up = new CliProcess(["up", "--name", files.name, "--config", config], {
      env,
      // If the tests are killed, the node stops on its own.
      launcher: ["setpriv", "--pdeathsig", "TERM", process.execPath],
      withinMs: lifetimeMs,
    });
    const node = new UpNode(files, up, env);
    try {
      await waitFor(() => {
        assert.equal(up.child.exitCode, null, up.stderr);
        assert.match(up.stdout, /default\/demo-\S+: Running, 1\/1 ready/, up.stderr);
      }, 60_000);
    } catch (error) {
      await node.stop();
      throw error;
    } finally {
      rmSync(dirname(config), { recursive: true });
    }
    return node;
  }

  /** The kubeconfig that it prints for kubectl. */
  get kubeconfig(): string {
    const reported = /export KUBECONFIG=(\S+)/.exec(this.#up.stdout)?.[1];
    assert.ok(reported, this.#up.stdout);
    return reported;
  }

  /** The link to the console that it prints. */
  get consoleLink(): string {
    const reported = /Console: +(\S+)/.exec(this.#up.stdout)?.[1];
    assert.ok(reported, this.#up.stdout);
    return reported;
  }

  /** The range of service addresses: "10.64.16.0/20". */
  get serviceRange(): string {
    return readFileSync(this.files.serviceRange, "utf8").trim();
  }

  /** The API address for pods. */
  get apiAddress(): string {
    return firstAddress(this.serviceRange);
  }

  /** The running containers of a pod. */
  async running(uid: string) {
    const all = await this.cri.listContainers({ labelSelector: { "io.kubernetes.pod.uid": uid } });
    return all.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  }

  /** The ready sandboxes of a pod. */
  async sandboxes(uid: string) {
    const all = await this.cri.listPodSandboxes({ labelSelector: { "io.kubernetes.pod.uid": uid } });
    return all.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
  }

  async nothingRuns(uid: string): Promise<void> {
    assert.deepEqual([await this.running(uid), await this.sandboxes(uid)], [[], []]);
  }

  /** Adds a name to an image of the node. */
  async tag(image: string, name: string): Promise<void> {
    const socket = this.files.containerd.socket;
    await execFile("ctr", ["-a", socket, "-n", "k8s.io", "images", "tag", image, name], { env: this.#env });
    await waitFor(async () => assert.ok(await this.cri.imageStatus({ image: name })));
  }

  async import(image: OciImage): Promise<void> {
    const { root, socket } = this.files.containerd;
    const archive = join(root, "image.tar");
    writeFileSync(archive, image.archive);
    await execFile("ctr", ["-a", socket, "-n", "k8s.io", "images", "import", archive], { env: this.#env });
    rmSync(archive);
    const [name = ""] = image.names;
    await waitFor(async () => assert.ok(await this.cri.imageStatus({ image: name })));
  }

  /** The output of the containers of a pod. */
  log(uid: string): string {
    return this.logFiles(uid)
      .map((path) => readFileSync(path, "utf8"))
      .join("");
  }

  /** The log files of the pod. */
  logFiles(uid: string): string[] {
    const dir = readdirSync(this.files.podLogs).find((name) => name.endsWith(`_${uid}`));
    if (!dir) return [];
    const root = join(this.files.podLogs, dir);
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }

  /** Runs a program of this machine in the network of a pod. */
  async inNetworkOf(uid: string, command: readonly string[]): Promise<ChildProcess> {
    const [container] = await this.running(uid);
    const socket = this.files.containerd.socket;
    const listed = await execFile("ctr", ["-a", socket, "-n", "k8s.io", "task", "list"], { env: this.#env });
    const line = listed.stdout.split("\n").find((row) => row.startsWith(`${container?.id} `));
    const pid = line?.split(/\s+/)[1];
    assert.ok(pid, listed.stdout);
    return spawn("setpriv", ["--pdeathsig", "TERM", "nsenter", "--net", "--target", pid, ...command]);
  }

  /** SIGKILL: all resources of the node remain. */
  async kill(): Promise<void> {
    this.cri.close();
    this.#up.child.kill("SIGKILL");
    await this.#up.exited();
  }

  /** Stops it as Ctrl-C does; throws if it failed or left something behind. */
  async stop(): Promise<void> {
    this.cri.close();
    this.#up.child.kill("SIGTERM");
    const { status, stdout, stderr } = await this.#up.exited();
    const { remaining: left } = await cleanUpNode(this.files, { keep: "nothing" });
    assert.deepEqual([status, left], [0, []], stdout + stderr);
  }
}
