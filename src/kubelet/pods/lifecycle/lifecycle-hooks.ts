import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { abortError, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import type { ContainerPort } from "../../../lib/gen/kubernetes/core.d.ts";
import { type Lifecycle, type Pod, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import { type HookRequest, hookRequest, hostPort } from "./hook-request.ts";
import { httpGet, NotTlsError } from "./http-get.ts";

export type LifecycleHandler = NonNullable<Lifecycle["preStop"]>;
type Port = Pick<ContainerPort, "name" | "containerPort">;

/** How long a command may go on that nobody waits for any more; the end of its container ends it sooner. */
const lingerMs = 60_000;

export interface Hook {
  pod: Pod;
  container: { name: string; ports?: readonly Port[] };
  id: ContainerId;
  handler: LifecycleHandler;
  /** The addresses of the pod's sandbox; none if it uses the host's network. */
  podIps: readonly string[];
  signal: AbortSignal;
}

export interface LifecycleHooksOptions {
  runtime: Pick<RuntimeService, "execSync">;
  events: PodEvents;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Where pods listen that use the host's network. */
  hostIps: () => readonly string[];
}

/** Runs what a container asked for: postStart right after its start, preStop before it is stopped. */
export class LifecycleHooks {
  readonly #o: LifecycleHooksOptions;
  readonly #fallbacks;
  readonly #sleepsCut;

  constructor(options: LifecycleHooksOptions) {
    this.#o = options;
    this.#fallbacks = options.metrics.counter({
      name: "kubelet_lifecycle_handler_http_fallbacks_total",
      help: "Lifecycle hooks that were asked for with HTTPS and delivered with HTTP.",
    });
    this.#sleepsCut = options.metrics.counter({
      name: "kubelet_sleep_action_terminated_early_total",
      help: "Sleep hooks that ended before their time was over.",
    });
  }

  /**
   * Resolves when the hook is done. The error of one that failed has details that may be secret: they are for the
   * status and the log, not for events. Rejects with an AbortError as soon as the signal is aborted.
   */
  async run(hook: Hook): Promise<void> {
    const { pod, container, signal } = hook;
    if (signal.aborted) throw abortError(signal.reason);
    try {
      await this.#perform(hook);
    } catch (error) {
      if (signal.aborted) throw abortError(signal.reason);
      const details = messageOf(error);
      const fields = { pod: podRef(pod), container: container.name, err: details };
      this.#o.logger.debug(1, "Lifecycle hook failed", fields);
      throw new KubeletError("LifecycleHookError", details, { cause: error });
    }
  }

  async #perform(hook: Hook): Promise<void> {
    const { handler } = hook;
    const where = `for Container ${JSON.stringify(hook.container.name)} in Pod ${JSON.stringify(longName(hook.pod))}`;
    const named = (what: string, error: unknown, more = "") =>
      new Error(`${what} ${where} failed - error: ${messageOf(error)}${more}`, { cause: error });
    if (handler.exec) {
      const command = handler.exec.command ?? [];
      const { output, failure } = await this.#exec(hook, command);
      const more = `, message: ${JSON.stringify(output)}`;
      if (failure) throw named(`Exec lifecycle hook (${bracketed(command)})`, failure, more);
    } else if (handler.httpGet) {
      const { path = "" } = handler.httpGet;
      await this.#httpGet(hook).catch((error) => {
        throw named(`HTTP lifecycle hook (${path})`, error);
      });
    } else if (handler.sleep) {
      await this.#sleep(handler.sleep.seconds, hook.signal);
    } else {
      throw new Error(`Cannot run handler: invalid handler: ${described(handler)}`);
    }
  }

  /**
   * Stops waiting at once when aborted. The call gets a while more: a runtime that is cut off while it starts a command
   * may not notice the end of the container for half a minute.
   */
  async #unlessAborted<T>(signal: AbortSignal, call: (late: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw abortError(signal.reason);
    const late = new AbortController();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    let cancelTimer = () => {};
    const onAbort = () => {
      cancelTimer = this.#o.clock.after(lingerMs, () => late.abort(abortError(signal.reason)));
      reject(abortError(signal.reason));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const work = call(late.signal).finally(() => {
      signal.removeEventListener("abort", onAbort);
      cancelTimer();
    });
    return Promise.race([work, aborted]);
  }

  /** A hook's command may take as long as it likes; who waits for it may not. */
  async #exec({ id, signal }: Hook, command: string[]): Promise<{ output: string; failure?: unknown }> {
    try {
      const { stdout, stderr, exitCode } = await this.#unlessAborted(signal, (late) =>
        this.#o.runtime.execSync(id, command, 0, { signal: late }),
      );
      const said = Buffer.from(stderr).toString("utf8");
      const output = Buffer.from(stdout).toString("utf8") + said;
      if (exitCode === 0) return { output };
      return {
        output,
        failure: new Error(`command '${command.join(" ")}' exited with ${exitCode}: ${said}`),
      };
    } catch (failure) {
      return { output: "", failure };
    }
  }

  async #httpGet({ pod, container, handler, podIps, signal }: Hook): Promise<void> {
    const ips = podIps.length > 0 || !pod.spec.hostNetwork ? podIps : this.#o.hostIps();
    const request = hookRequest(handler.httpGet!, container.ports ?? [], ips[0]);
    try {
      await httpGet(request, signal);
    } catch (error) {
      if (!(error instanceof NotTlsError) || !(await delivered(withoutTls(request), signal))) throw error;
      this.#fallbacks.inc();
      const to = hostPort(request.host, request.port);
      this.#o.events.warning(
        pod,
        "LifecycleHTTPFallback",
        `request to HTTPS lifecycle hook ${to} got HTTP response, retry with HTTP succeeded`,
      );
    }
  }

  async #sleep(seconds: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(this.#o.clock, seconds * 1000, signal);
    } catch (error) {
      this.#sleepsCut.inc();
      throw error;
    }
  }
}

/** The credentials were meant for a server that shows who it is. */
function withoutTls(request: HookRequest): HookRequest {
  const headers = request.headers.filter(([name]) => name.toLowerCase() !== "authorization");
  return { ...request, scheme: "http", headers };
}

async function delivered(request: HookRequest, signal: AbortSignal): Promise<boolean> {
  try {
    await httpGet(request, signal);
    return true;
  } catch {
    return false;
  }
}

function longName({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}

function bracketed(words: readonly string[]): string {
  return `[${words.join(" ")}]`;
}

/** As it has always been written, down to the braces. */
function described({ tcpSocket }: LifecycleHandler): string {
  const port = typeof tcpSocket?.port === "string" ? `{1 0 ${tcpSocket.port}}` : `{0 ${tcpSocket?.port} }`;
  const tcp = tcpSocket ? `&TCPSocketAction{Port:${port},Host:${tcpSocket.host ?? ""},}` : "nil";
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${tcp},Sleep:nil,}`;
}
