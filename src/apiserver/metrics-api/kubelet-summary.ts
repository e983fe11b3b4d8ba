import type { IncomingMessage } from "node:http";
import { whenAborted } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { abortError, KubeletError } from "../../lib/base/errors.ts";
import type { Summary } from "../../lib/model/stats-summary.ts";
import { type Backend, openRequest, responseOf } from "../proxy/backend.ts";

const path = "/stats/summary?only_cpu_and_memory=true";
/** A kubelet may wait one second for another sample, so a request times out only after ten. */
const timeoutMs = 10_000;
const maxBytes = 64 * 1024 * 1024;

/** The stats of a kubelet about its node and pods. */
export async function kubeletSummary(backend: Backend, clock: Clock, signal: AbortSignal): Promise<Summary> {
  const request = openRequest(
    backend,
    { method: "GET", path, headers: { accept: "application/json" } },
    clock,
  );
  const settle = (error: Error) => () => request.destroy(error);
  const cancel = clock.after(timeoutMs, settle(new Error(`no response within ${timeoutMs / 1000} s`)));
  using _ = whenAborted(signal, () => request.destroy(abortError(signal.reason)));
  try {
    const received = responseOf(request);
    if (!signal.aborted) request.end();
    const response = await received;
    const text = await textOf(response);
    if (response.statusCode !== 200)
      throw new KubeletError(
        "Kubelet",
        `the kubelet responded with ${response.statusCode}: ${text.slice(0, 200)}`,
      );
    return asSummary(JSON.parse(text));
  } finally {
    cancel();
    request.destroy();
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new KubeletError("Kubelet", "the kubelet's response is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function asSummary(value: unknown): Summary {
  const summary = value as Partial<Summary> | null;
  if (!summary?.node || !Array.isArray(summary.pods))
    throw new KubeletError("Kubelet", "unexpected response from /stats/summary");
  return summary as Summary;
}
