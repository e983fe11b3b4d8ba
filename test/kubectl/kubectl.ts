import assert from "node:assert/strict";
import { type ChildProcess, execFile as execFileBack, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { repoDir } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";

const execFile = promisify(execFileBack);

export type KubectlVersion = "1.32" | "1.36";

/** The kubectl that `npm test` unpacks. */
export function kubectlFile(version: KubectlVersion): string {
  return join(repoDir, `.cache/kubectl-${version}/usr/bin/kubectl`);
}

export function kubectlAvailable(version: KubectlVersion): true | string {
  return existsSync(kubectlFile(version)) || `kubectl ${version} is not in the cache`;
}

export interface KubectlOptions {
  /** The standard input, for example for `-f -`. */
  readonly input?: string | Buffer | object;
  /** Keeps standard input open for more input. */
  readonly open?: boolean;
  /** Runs it in a terminal of 24 rows and 80 columns. */
  readonly terminal?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  /** How many arguments come before the flags for access: the name of a plugin is the first argument. */
  readonly leading?: number;
}

export interface KubectlResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let written = 0;
/** A command that takes longer is killed. */
const withinMs = 90_000;

/** Runs kubectl as a user would, in one namespace. */
export class Kubectl {
  readonly version: KubectlVersion;
  readonly namespace: string;
  readonly #kubeconfig: string;
  readonly #dir: string;

  constructor(version: KubectlVersion, kubeconfig: string, namespace = "default", dir?: string) {
    this.version = version;
    this.namespace = namespace;
    this.#kubeconfig = kubeconfig;
    this.#dir = dir ?? mkdtempSync(join(tmpdir(), "kubectl-"));
  }

  /** The same kubectl in another namespace. */
  in(namespace: string): Kubectl {
    return new Kubectl(this.version, this.#kubeconfig, namespace, this.#dir);
  }

  /** The same kubectl as another user. A token on the command line is not enough, since a client certificate takes precedence. */
  async as(user: Record<string, string>): Promise<Kubectl> {
    const config = JSON.parse(await this.ok(["config", "view", "--raw", "-o", "json"]));
    for (const one of config.users) one.user = user;
    const path = this.file(`kubeconfig-${++written}`, config);
    return new Kubectl(this.version, path, this.namespace, this.#dir);
  }

  /** Writes a manifest, or any other file. */
  file(name: string, content: string | object): string {
    const path = join(this.#dir, name);
    writeFileSync(path, text(content));
    return path;
  }

  async run(args: readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
    const running = this.start(args, options);
    const timer = setTimeout(() => running.child.kill("SIGKILL"), withinMs);
    const status = await running.exited;
    clearTimeout(timer);
    return { status, stdout: running.stdout, stderr: running.stderr };
  }

  /** Runs a command that must succeed; returns its output. */
  async ok(args: readonly string[], options: KubectlOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(args, options);
    assert.equal(status, 0, `kubectl ${args.join(" ")}: ${stderr}${stdout}`);
    return stdout;
  }

  /** Runs a command that must fail; returns its error output. */
  async fails(args: readonly string[], options: KubectlOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(args, options);
    assert.equal(status, 1, `kubectl ${args.join(" ")} should have failed: ${stdout}${stderr}`);
    return stderr;
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever was requested.
  async json(args: readonly string[]): Promise<any> {
    return JSON.parse(await this.ok([...args, "-o", "json"]));
  }

  /** Starts a command that runs until it is stopped. */
  start(args: readonly string[], options: KubectlOptions = {}): RunningKubectl {
    const access = ["--kubeconfig", this.#kubeconfig, "-n", this.namespace];
    const { leading = 0 } = options;
    const kubectlArgs = [...args.slice(0, leading), ...access, ...args.slice(leading)];
    const command: readonly [string, ...string[]] = [kubectlFile(this.version), ...kubectlArgs];
    const [program, ...programArgs] = options.terminal ? onTerminal(command) : command;
    const child = spawn(program, programArgs, {
      stdio: ["pipe", "pipe", "pipe"],
      // The discovery cache must not be shared with other nodes.
      env: {
        ...process.env,
        KUBECACHEDIR: join(this.#dir, "cache"),
        TMPDIR: this.#dir,
        // Hundreds of short commands: they end before garbage collection would pay off.
        GOGC: "off",
        GOMEMLIMIT: "256MiB",
        GOMAXPROCS: "1",
        ...options.env,
      },
    });
    child.stdin.on("error", () => {}); // it may exit before it has read everything
    if (options.input !== undefined) child.stdin.write(text(options.input));
    if (!options.open) child.stdin.end();
    return new RunningKubectl(child);
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

export class RunningKubectl {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  stderr = "";
  readonly #output: Buffer[] = [];

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.on("data", (chunk) => this.#output.push(chunk));
    child.stderr?.setEncoding("utf8").on("data", (chunk) => {
      this.stderr += chunk;
    });
    this.exited = once(child, "close").then(() => child.exitCode);
  }

  /** Standard output as bytes. */
  get output(): Buffer {
    return Buffer.concat(this.#output);
  }

  get stdout(): string {
    return this.output.toString();
  }

  /** The complete lines of standard output. */
  get lines(): string[] {
    return this.stdout.split("\n").slice(0, -1);
  }

  async prints(what: RegExp): Promise<void> {
    await waitFor(() => assert.match(this.stdout, what, this.stderr));
  }

  /** Writes to standard input. */
  write(input: string): void {
    this.child.stdin?.write(input);
  }

  /** Resizes the terminal. */
  async resize(rows: number, columns: number): Promise<void> {
    const inside = await waitFor(() => {
      const [pid = ""] = readFileSync(
        `/proc/${this.child.pid}/task/${this.child.pid}/children`,
        "utf8",
      ).split(" ");
      return readlinkSync(`/proc/${pid}/fd/0`);
    });
    await execFile("stty", ["-F", inside, "rows", `${rows}`, "cols", `${columns}`]);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await this.exited;
  }
}

/** Runs the command in a terminal whose input is a pipe. */
function onTerminal(command: readonly string[]): [string, ...string[]] {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  return ["script", "-qfec", `stty rows 24 cols 80; exec ${quoted}`, "/dev/null"];
}

/** The rows of a table, by column name. */
export function rows(table: string): Record<string, string>[] {
  const [head = "", ...lines] = table.trimEnd().split("\n");
  const columns = [...head.matchAll(/\S+(?: \S+)*\s*/g)].map((m) => ({ name: m[0].trim(), at: m.index }));
  return lines.map((line) =>
    Object.fromEntries(columns.map(({ name, at }, i) => [name, line.slice(at, columns[i + 1]?.at).trim()])),
  );
}

/** The column names of a table. */
export function columns(table: string): string[] {
  return Object.keys(rows(`${table.split("\n", 1)[0]}\nx`)[0] ?? {});
}

function text(content: string | Buffer | object): string | Buffer {
  return typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content);
}
