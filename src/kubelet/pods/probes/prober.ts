import type { Clock } from "../../../lib/base/clock.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import type { Container } from "../../../lib/model/pod.ts";
import { type AttemptResult, type ProbeLimits, probeError } from "./attempt-result.ts";
import { probeCommand, probeExec } from "./exec-probe.ts";
import { probeGrpc } from "./grpc-probe.ts";
import { probeHttp } from "./http-probe.ts";
import { httpRequest } from "./http-request.ts";
import { portNumber } from "./probe-target.ts";
import { probeTcp } from "./tcp-probe.ts";

export type Probe = NonNullable<Container["livenessProbe"]>;

export interface ProbeRequest {
  probe: Probe;
  container: Container;
  id: ContainerId;
  podIp: string | undefined;
  signal: AbortSignal;
}

/** Probes a container once. Rejects only when it is aborted. */
export type Prober = (request: ProbeRequest) => Promise<AttemptResult>;

/** The number of attempts for a probe that ends with an error. */
const maxAttempts = 3;

export function createProber(o: { clock: Clock; runtime: Pick<RuntimeService, "execSync"> }): Prober {
  return async (request) => {
    const limits: ProbeLimits = {
      clock: o.clock,
      timeoutMs: (request.probe.timeoutSeconds || 1) * 1000,
      signal: request.signal,
    };
    let result = await probeOnce(o.runtime, request, limits);
    for (let i = 1; i < maxAttempts && result.kind === "error"; i++)
      result = await probeOnce(o.runtime, request, limits);
    return result;
  };
}

function probeOnce(
  runtime: Pick<RuntimeService, "execSync">,
  { probe, container, id, podIp }: ProbeRequest,
  limits: ProbeLimits,
): Promise<AttemptResult> {
  try {
    if (probe.exec)
      return probeExec(
        runtime,
        { id, command: probeCommand(probe.exec.command ?? [], container.env) },
        limits,
      );
    if (probe.httpGet) return probeHttp(httpRequest(probe.httpGet, container, podIp), limits);
    if (probe.tcpSocket) {
      const host = requireHost(probe.tcpSocket.host || podIp);
      return probeTcp({ host, port: portNumber(probe.tcpSocket.port, container) }, limits);
    }
    if (probe.grpc) {
      const { port, service = "" } = probe.grpc;
      return probeGrpc({ host: requireHost(podIp), port, service }, limits);
    }
    return Promise.resolve(probeError("missing probe handler"));
  } catch (error) {
    return Promise.resolve(probeError(messageOf(error)));
  }
}

function requireHost(host: string | undefined): string {
  if (!host) throw new Error("the pod has no IP address");
  return host;
}
