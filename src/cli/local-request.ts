import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { KubeletError, messageOf } from "../lib/base/errors.ts";

export interface LocalResponse {
  readonly status: number;
  readonly bytes: Buffer;
}

/** Long enough for a slow fsync, short enough for an agent whose process is stopped (SIGSTOP). */
const timeoutMs = 30_000;

/** Sends a request to the agent on its socket. */
export async function localRequest(
  socketPath: string,
  method: string,
  path: string,
  body?: string,
): Promise<LocalResponse> {
  try {
    return await new Promise<LocalResponse>((resolve, reject) => {
      const headers = { ...(body !== undefined && { "content-type": "application/yaml" }) };
      const signal = AbortSignal.timeout(timeoutMs);
      const call = request({ socketPath, method, path, headers, signal }, (response) => {
        buffer(response).then((bytes) => resolve({ status: response.statusCode ?? 0, bytes }), reject);
      });
      call.on("error", reject);
      call.end(body);
    });
  } catch (error) {
    throw new KubeletError(
      "NotRunning",
      `cannot connect to the kubelet at ${socketPath}: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}
