import { KubeletError } from "../../lib/base/errors.ts";
import { startProgram } from "../../lib/host/start-program.ts";

export interface ApiReader {
  /** The JSON at a path of the API server. Throws a KubeletError whose code is the server's reason, such as NotFound. */
  get<T>(path: string, limit?: { readonly timeoutS: number }): Promise<T>;
}

/** Reads the API server with kubectl, which has the credentials and knows the server. */
export class Kubectl implements ApiReader {
  /** Flags for each call, such as --context. */
  readonly #flags: readonly string[];
  readonly #program: string;

  constructor(flags: readonly string[], program = "kubectl") {
    this.#flags = flags;
    this.#program = program;
  }

  async get<T>(path: string, limit?: { readonly timeoutS: number }): Promise<T> {
    // Flags of the user come later, and so take precedence.
    const timeout = limit ? [`--request-timeout=${limit.timeoutS}s`] : [];
    return JSON.parse(await this.#run(["get", "--raw", path, ...timeout])) as T;
  }

  /** The namespace of the context. */
  async namespace(): Promise<string> {
    const text = await this.#run(["config", "view", "--minify", "-o", "jsonpath={..namespace}"]).catch(
      () => "",
    );
    return text.trim() || "default";
  }

  #run(args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const verbatim = [...args, ...this.#flags];
      // An exec plugin of the kubeconfig may prompt on the terminal.
      const child = startProgram(
        { program: this.#program, verbatim },
        { stdio: ["inherit", "pipe", "pipe"] },
      );
      const [out, problems]: [Buffer[], Buffer[]] = [[], []];
      child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
      child.stderr?.on("data", (chunk: Buffer) => problems.push(chunk));
      child.on("error", (error) =>
        reject(new KubeletError("NoKubectl", `kubectl cannot be run: ${error.message}`)),
      );
      child.on("close", (code) => {
        if (code === 0) return resolve(Buffer.concat(out).toString());
        const text = Buffer.concat(problems).toString().trim();
        const [, reason = "Unknown", message = text] =
          /^Error from server(?: \((\w+)\))?: (.*)$/ms.exec(text) ?? [];
        reject(new KubeletError(reason, message || `kubectl exited with ${code}`));
      });
    });
  }
}
