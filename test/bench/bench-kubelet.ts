import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, openSync, readFileSync, statSync } from "node:fs";
import { get } from "node:https";
import { parsePrometheus } from "../metrics/prometheus-text.ts";
import { UsageError } from "./options.ts";
import { preciseNow } from "./statistics.ts";

/** An executable that is measured. */
export interface KubeletProgram {
  /** The name of its column. */
  readonly name: string;
  readonly path: string;
  readonly version: string;
  /** The output of --help: flags that it does not list are omitted. */
  readonly help: string;
}

/** Throws a UsageError if this is not a kubelet. */
export function kubeletProgram(name: string, path: string): KubeletProgram {
  try {
    accessSync(path, constants.X_OK);
    if (!statSync(path).isFile()) throw new Error("it is not a file");
    const run = (arg: string) => execFileSync(path, [arg], { encoding: "utf8", maxBuffer: 1 << 24 });
    const version = run("--version").trim();
    if (!version.startsWith("Kubernetes ")) throw new Error(`--version prints "${version.slice(0, 80)}"`);
    return { name, path, version: version.slice("Kubernetes ".length), help: run("--help") };
  } catch (error) {
    throw new UsageError(`${path} is not a kubelet: ${(error as Error).message}`);
  }
}

export interface RunningKubeletOptions {
  /** Flags that the kubelet does not know are omitted. */
  readonly flags: readonly string[];
  /** The port of its API. */
  readonly port: number;
  readonly logFile: string;
  /** Called if it exits on its own. */
  readonly onFailure: (error: Error) => void;
}

/** A kubelet as a process. */
export class RunningKubelet {
  readonly startedAt = preciseNow();
  readonly #child: ChildProcess;
  readonly #port: number;
  #isStopping = false;

  constructor(program: KubeletProgram, o: RunningKubeletOptions) {
    const log = openSync(o.logFile, "w");
    const known = o.flags.filter((flag) => program.help.includes(flag.split("=")[0]!));
    this.#child = spawn(program.path, known, { stdio: ["ignore", log, log] });
    closeSync(log);
    this.#port = o.port;
    this.#child.once("exit", () => {
      if (this.#isStopping) return;
      const lastLines = readFileSync(o.logFile, "utf8").slice(-2000);
      o.onFailure(new Error(`${program.name} has exited:\n${lastLines}`));
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Requests to the API server so far, except renewals of the lease. */
  async requests(): Promise<number> {
    const samples = parsePrometheus(await httpsText(this.#port, "/metrics")).get(
      "rest_client_requests_total",
    );
    const counted = samples?.samples.filter(({ labels }) => labels.method !== "PUT") ?? [];
    return counted.reduce((sum, { value }) => sum + value, 0);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
  }
}

/** The body of a response of a server on this machine, whose certificate may be its own. */
export function httpsText(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: false };
    get(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () =>
        response.statusCode === 200 ? resolve(body) : reject(new Error(`${path}: ${response.statusCode}`)),
      );
    }).on("error", reject);
  });
}
