import { orAbort, whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { abortError, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import type { ContainerPort } from "../../../lib/gen/kubernetes/core.d.ts";
import { type Lifecycle, type Pod, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import { type HookRequest, hookRequest, hostPort } from "./hook-request.ts";
import { httpGet, NotTlsError } from "./http-get.ts";

export type LifecycleHandler = NonNullable<Lifecycle["preStop"]>;
type Port = Pick<ContainerPort, "name" | "containerPort">;

/** How much a hook adds to the status of its pod and to the log, and how much of each output of its command. */
const maxDetails = 32 * 1024;
const maxOutputBytes = 10 * 1024;

/** How long the command of an aborted hook may continue; it exits with its container. */
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
  /** Addresses of pods in the host's network. */
  hostIps: () => readonly string[];
}

/** Runs the lifecycle hooks of containers: postStart right after the start, preStop before the stop. */
export class LifecycleHooks {
  readonly #o: LifecycleHooksOptions;
  readonly #fallbacks;
  readonly #sleepsTerminatedEarly;

  constructor(options: LifecycleHooksOptions) {
    this.#o = options;
    this.#fallbacks = options.metrics.counter({
      name: "kubelet_lifecycle_handler_http_fallbacks_total",
      help: "The number of times lifecycle handlers successfully fell back to http from https.",
    });
    this.#sleepsTerminatedEarly = options.metrics.counter({
      name: "kubelet_sleep_action_terminated_early_total",
      help: "The number of times lifecycle sleep handler got terminated before it finishes",
    });
  }

  /**
   * Resolves when the hook has completed. The error of a failed hook has details that may be secret: they are for the status and
   * the log, not for events. Rejects with an AbortError as soon as the signal is aborted.
   */
  async run(hook: Hook): Promise<void> {
    const { pod, container, signal } = hook;
    if (signal.aborted) throw abortError(signal.reason);
    try {
      // A pod must be able to terminate, whatever its hook waits for.
      await orAbort(this.#perform(hook), signal);
    } catch (error) {
      if (signal.aborted) throw abortError(signal.reason);
      const details = shortened(messageOf(error), maxDetails);
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
      throw new Error(`Cannot run handler: invalid handler: ${describeHandler(handler)}`);
    }
  }

  /**
   * Stops waiting immediately when aborted. The call continues for a while: a runtime whose call is canceled while it starts a
   * command may not notice the exit of the container for half a minute.
   */
  async #unlessAborted<T>(signal: AbortSignal, call: (lingering: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw abortError(signal.reason);
    const lingering = new AbortController();
    let cancelTimer = () => {};
    const aborted = whenAborted(signal, () => {
      cancelTimer = this.#o.clock.after(lingerMs, () => lingering.abort(abortError(signal.reason)));
    });
    const work = call(lingering.signal).finally(() => {
      aborted[Symbol.dispose]();
      cancelTimer();
    });
    return orAbort(work, signal);
  }

  /** The command has no timeout; the caller has one. */
  async #exec({ id, signal }: Hook, command: string[]): Promise<{ output: string; failure?: unknown }> {
    try {
      const { stdout, stderr, exitCode } = await this.#unlessAborted(signal, (lingering) =>
        this.#o.runtime.execSync(id, command, 0, { signal: lingering }),
      );
      const stderrText = startOf(stderr);
      const output = startOf(stdout) + stderrText;
      if (exitCode === 0) return { output };
      return {
        output,
        failure: new Error(`command '${command.join(" ")}' exited with ${exitCode}: ${stderrText}`),
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
      this.#sleepsTerminatedEarly.inc();
      throw error;
    }
  }
}

/** The credentials were meant for an encrypted connection. */
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

function startOf(output: Uint8Array): string {
  return Buffer.from(output.subarray(0, maxOutputBytes)).toString("utf8");
}

function longName({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}

function bracketed(args: readonly string[]): string {
  return `[${args.join(" ")}]`;
}

/** Formats a handler as Go prints it. */
function describeHandler({ tcpSocket }: LifecycleHandler): string {
  const port = typeof tcpSocket?.port === "string" ? `{1 0 ${tcpSocket.port}}` : `{0 ${tcpSocket?.port} }`;
  const tcp = tcpSocket ? `&TCPSocketAction{Port:${port},Host:${tcpSocket.host ?? ""},}` : "nil";
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${tcp},Sleep:nil,}`;
}
