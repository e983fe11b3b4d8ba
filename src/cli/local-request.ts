import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { KubeletError, messageOf } from "../lib/base/errors.ts";

export interface LocalAnswer {
  readonly status: number;
  readonly bytes: Buffer;
}

/** A disk that is slow to sync is waited for; an agent that was stopped is not. */
const withinMs = 30_000;

/** One request to the agent on its socket. */
export async function localRequest(
  socketPath: string,
  method: string,
  path: string,
  body?: string,
): Promise<LocalAnswer> {
  try {
    return await new Promise<LocalAnswer>((resolve, reject) => {
      const headers = { ...(body !== undefined && { "content-type": "application/yaml" }) };
      const signal = AbortSignal.timeout(withinMs);
      const call = request({ socketPath, method, path, headers, signal }, (response) => {
        buffer(response).then((bytes) => resolve({ status: response.statusCode ?? 0, bytes }), reject);
      });
      call.on("error", reject);
      call.end(body);
    });
  } catch (error) {
    throw new KubeletError("NotRunning", `no kubelet answers on ${socketPath}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
