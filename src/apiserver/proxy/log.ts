import type { IncomingMessage } from "node:http";
import { systemClock } from "../../lib/base/clock.ts";
import type { ConnectSubresource } from "../definition.ts";
import { badRequest } from "../rest/problems.ts";
import { StatusError } from "../status-error.ts";
import { type KubeletConnectionOptions, kubeletOf, podOf, queryOf } from "./connection-options.ts";
import { chooseContainer } from "./container-choice.ts";
import { dialMessage } from "./dial-message.ts";
import { sendRequest, sendResponse } from "./forward-request.ts";
import { hostPort } from "./kubelet-address.ts";
import { logError } from "./log-error.ts";
import { parseLogOptions } from "./log-options.ts";

/** The maximum length of an error response that is passed on. */
const maxErrorBodyBytes = 50_000;

export function logConnection(options: KubeletConnectionOptions): ConnectSubresource {
  const { clock = systemClock } = options;
  return {
    type: "connect",
    verbs: ["get"],
    async connect(ref, _rest, given, context) {
      if (given.kind === "upgrade") throw badRequest("logs are not offered over WebSocket");
      const { request, response } = given;
      const requested = parseLogOptions(ref.name, queryOf(request.url));
      const pod = await podOf(context, ref);
      const container = chooseContainer(ref.name, pod.spec, requested.container);
      if (!pod.spec.nodeName) {
        response.writeHead(204).end();
        return;
      }
      const known = await kubeletOf(context, pod.spec.nodeName, options);
      const { ca: _, ...anyServer } = known.credentials;
      const kubelet = requested.insecure ? { ...known, credentials: anyServer } : known;
      const path = `/containerLogs/${ref.namespace}/${ref.name}/${container}${requested.query}`;
      const exchange = { request, response, signal: context.signal, clock };
      const describe = (url: string, why: string) =>
        new StatusError(500, "", `Get ${JSON.stringify(url)}: ${why}`);
      const base = `https://${hostPort(kubelet)}`;
      let backendResponse: IncomingMessage;
      try {
        const headers = { "user-agent": request.headers["user-agent"] ?? "" };
        backendResponse = await sendRequest(kubelet, { method: "GET", path, headers }, exchange);
      } catch (error) {
        if (response.destroyed) return;
        context.signal.throwIfAborted();
        throw describe(base + path, dialMessage(error, kubelet));
      }
      const status = backendResponse.statusCode ?? 0;
      if (status < 200 || status > 206) {
        const redirect = status < 400 ? backendResponse.headers.location : undefined;
        const body = await textOf(backendResponse);
        if (redirect !== undefined) throw describe(new URL(redirect, base).href, "redirects forbidden");
        throw logError(status, body, ref.name);
      }
      response.writeHead(200, { "content-type": "text/plain" });
      await sendResponse(backendResponse, exchange);
    },
  };
}

/** The start of an error response. A truncated or aborted body is not another error. */
async function textOf(backendResponse: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of backendResponse as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxErrorBodyBytes) break;
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, maxErrorBodyBytes).toString();
}
