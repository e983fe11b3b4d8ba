import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KernelTunables } from "../bench/kernel-tunables.ts";
import { type AgentProcess, get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";

export type Kind = "ours" | "reference";

/** Runs one of the two kubelets at a time, with the same files, flags and configuration. */
export class Kubelets {
  readonly #agent: AgentProcess;
  readonly #flags: readonly string[];
  readonly #reference: string | undefined;
  #child: ChildProcess | undefined;
  /** The settings of the machine, which the reference kubelet changes. */
  #tunables: KernelTunables | undefined;

  constructor(agent: AgentProcess, flags: readonly string[], reference: string | undefined) {
    this.#agent = agent;
    this.#flags = flags;
    this.#reference = reference;
  }

  async start(kind: Kind): Promise<void> {
    if (kind === "ours") this.#agent.start(this.#flags);
    else this.#startReference();
    await waitFor(async () => {
      const response = await get({ host: "127.0.0.1", port: this.#agent.healthPort, path: "/healthz" });
      if (response?.status !== 200) throw new Error(`${kind} is not healthy: ${response?.body}`);
    }, 60_000);
  }

  async stop(): Promise<void> {
    await this.#agent.end("SIGTERM");
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
    this.#tunables?.restore();
  }

  log(kind: Kind): string {
    return kind === "ours" ? this.#agent.log() : readFileSync(this.#referenceLog, "utf8");
  }

  get #referenceLog(): string {
    return join(this.#agent.node.rootDir, "../reference.log");
  }

  #startReference(): void {
    if (this.#reference === undefined) throw new Error("KUBELET_REFERENCE is not set");
    this.#tunables ??= new KernelTunables();
    const { rootDir } = this.#agent.node;
    const log = openSync(this.#referenceLog, "a");
    const flags = [
      `--config=${this.#agent.configFile}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(rootDir, "pki")}`,
      "-v=4",
      ...this.#flags,
    ];
    this.#child = spawn(this.#reference, flags, { stdio: ["ignore", log, log] });
  }
}
