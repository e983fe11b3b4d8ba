import { httpHeaderName, portName, portNumber } from "../../base/name-rules.ts";
import { core } from "../../schema/types/core/core.ts";
import type { Container, Lifecycle, PodSpec } from "../pod.ts";
import type { Problems } from "./problem.ts";
import { oneOf } from "./security.ts";

type Probe = NonNullable<Container["livenessProbe"]>;
type Hook = NonNullable<Lifecycle["preStop"]>;
type Handlers = Pick<Probe, "exec" | "httpGet" | "tcpSocket" | "grpc"> & { sleep?: { seconds: number } };

export function checkProbes(container: Container, at: string, spec: PodSpec, problems: Problems): void {
  const probes = [
    ["livenessProbe", container.livenessProbe],
    ["readinessProbe", container.readinessProbe],
    ["startupProbe", container.startupProbe],
  ] as const;
  for (const [name, probe] of probes) {
    if (!probe) continue;
    const path = `${at}.${name}`;
    checkProbe(probe, path, spec, problems);
    if (name === "readinessProbe") {
      if (probe.terminationGracePeriodSeconds !== undefined)
        problems.invalid(
          `${path}.terminationGracePeriodSeconds`,
          probe.terminationGracePeriodSeconds,
          "must not be set for readinessProbes",
        );
    } else if (probe.successThreshold !== 1) {
      problems.invalid(`${path}.successThreshold`, probe.successThreshold, "must be 1");
    }
  }
}

export function checkLifecycle(container: Container, at: string, spec: PodSpec, problems: Problems): void {
  const lifecycle = container.lifecycle as Lifecycle | undefined;
  if (!lifecycle) return;
  for (const name of ["postStart", "preStop"] as const) {
    const hook: Hook | undefined = lifecycle[name];
    if (hook) checkHandler(hook, `${at}.lifecycle.${name}`, spec, problems);
  }
  const { stopSignal } = lifecycle;
  if (stopSignal === undefined) return;
  const path = `${at}.lifecycle.stopSignal`;
  if (!spec.os) problems.forbidden(path, "may not be set for containers with empty `spec.os.name`");
  else oneOf(stopSignal, core.values("Signal"), path, problems);
}

function checkProbe(probe: Probe, at: string, spec: PodSpec, problems: Problems): void {
  checkHandler(probe, at, spec, problems);
  for (const field of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ] as const) {
    const value = probe[field] ?? 0;
    if (value < 0) problems.invalid(`${at}.${field}`, value, "must be greater than or equal to 0");
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    problems.invalid(`${at}.terminationGracePeriodSeconds`, grace, "must be greater than 0");
}

/** Exactly one handler of a probe or hook. */
function checkHandler(handlers: Handlers, at: string, spec: PodSpec, problems: Problems): void {
  const kinds = (["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const).filter((kind) => handlers[kind]);
  if (kinds.length === 0) problems.required(at, "must specify a handler type");
  for (const kind of kinds.slice(1))
    problems.forbidden(`${at}.${kind}`, "may not specify more than 1 handler type");
  const { exec, httpGet, tcpSocket, grpc, sleep } = handlers;
  if (exec && !exec.command?.length) problems.required(`${at}.exec.command`);
  if (httpGet) {
    checkPort(httpGet.port, `${at}.httpGet.port`, problems);
    const schemes = core.values("URIScheme");
    if (!schemes.includes(httpGet.scheme ?? ""))
      problems.unsupported(`${at}.httpGet.scheme`, httpGet.scheme, schemes);
    for (const [i, header] of (httpGet.httpHeaders ?? []).entries()) {
      const name = header.name ?? "";
      problems.check(`${at}.httpGet.httpHeaders[${i}].name`, name, httpHeaderName(name));
    }
  }
  if (tcpSocket) checkPort(tcpSocket.port, `${at}.tcpSocket.port`, problems);
  if (grpc) checkPort(grpc.port, `${at}.grpc.port`, problems);
  if (sleep) {
    const grace = spec.terminationGracePeriodSeconds ?? 30;
    const { seconds = 0 } = sleep as { seconds?: number };
    if (seconds < 0 || seconds > grace)
      problems.invalid(
        `${at}.sleep.seconds`,
        seconds,
        `must be non-negative and less than terminationGracePeriodSeconds (${grace})`,
      );
  }
}

function checkPort(port: number | string | undefined, at: string, problems: Problems): void {
  if (typeof port === "string") problems.check(at, port, portName(port));
  else problems.check(at, port ?? 0, portNumber(port ?? 0));
}
