import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { loadKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { freePort } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { removeDir } from "../node/remove-dir.ts";

/** `kubelet api` as a process that is started, killed and started again on the same files and the same port. */
export class KillableApi {
  readonly dir: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #clients: HttpKubeTransport[] = [];

  static async create(node: string): Promise<KillableApi> {
    return new KillableApi(await mkdtemp(join(tmpdir(), "killable-api-")), node, await freePort());
  }

  private constructor(dir: string, node: string, port: number) {
    this.dir = dir;
    this.#args = ["api", "--dir", dir, "--port", String(port), "--node", node, "--until-eof"];
  }

  get nodeKubeconfig(): string {
    return join(this.dir, "kubelet.kubeconfig");
  }

  /** Resolves as soon as the process exists; it may not accept requests yet. */
  start(): void {
    const log = openSync(join(this.dir, "log"), "a");
    // It is killed with this process.
    this.#child = spawn(process.execPath, [kubeletProgram, ...this.#args], { stdio: ["pipe", log, log] });
    this.#child.stdin?.on("error", () => {});
    closeSync(log);
  }

  /** SIGSTOP and SIGCONT: connected, but not responding. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** An administrator. */
  async admin(): Promise<HttpKubeTransport> {
    const access = await waitFor(() => loadKubeconfig(join(this.dir, "kubeconfig")));
    const client = new HttpKubeTransport({
      access,
      userAgent: "admin",
      qps: 0,
      burst: 0,
      clock: systemClock,
      logger: silentLogger,
    });
    this.#clients.push(client);
    return client;
  }

  log(): Promise<string> {
    return readFile(join(this.dir, "log"), "utf8");
  }

  async destroy(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.kill();
    await removeDir(this.dir);
  }
}
