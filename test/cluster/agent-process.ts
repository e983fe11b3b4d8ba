import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { leavesHostUnchanged } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { nodeName, type TestCluster } from "./cluster-node.ts";

/** The agent as a separate process, on the runtime of a test cluster. */
export class AgentProcess {
  readonly #child;
  readonly #exited: Promise<unknown[]>;
  log = "";

  constructor(cluster: TestCluster, flags: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    const common = [
      `--root-dir=${join(cluster.dir, "root")}`,
      `--container-runtime-endpoint=${cluster.runtime.endpoint}`,
      `--hostname-override=${nodeName}`,
      "--cgroups-per-qos=false",
      "--enforce-node-allocatable=",
      "--fail-cgroupv1=false",
      "--fail-swap-on=false",
      ...leavesHostUnchanged,
      "--resolv-conf=",
      "--healthz-port=0",
      "--read-only-port=0",
      "--image-gc-high-threshold=100",
    ];
    const child = spawn(process.execPath, [kubeletProgram, ...common, ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
      env,
    });
    child.stderr.on("data", (text) => {
      this.log += text;
    });
    this.#child = child;
    this.#exited = once(child, "exit");
    cluster.endFirst(() => {
      child.kill("SIGKILL");
      return this.#exited;
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Waits for a line in the log. */
  async prints(line: RegExp): Promise<void> {
    await waitFor(() => assert.match(this.log, line));
  }

  /** Waits for a condition; on failure the agent's log is part of the error. */
  async until(done: () => Promise<unknown>): Promise<void> {
    await done().catch((error) => {
      throw new Error(`${error}\n${this.log}`, { cause: error });
    });
  }

  /** The exit status, once it has exited on its own. */
  async exits(): Promise<unknown> {
    const [code] = await this.#exited;
    return code;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    assert.equal(await this.exits(), 0, this.log);
  }
}
