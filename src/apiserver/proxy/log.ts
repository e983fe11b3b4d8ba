import type { IncomingMessage } from "node:http";
import { systemClock } from "../../lib/base/clock.ts";
import type { ConnectSubresource } from "../definition.ts";
import { badRequest } from "../rest/problems.ts";
import { StatusError } from "../status-error.ts";
import { type KubeletConnectionOptions, kubeletOf, podOf, queryOf } from "./connection-options.ts";
import { chooseContainer } from "./container-choice.ts";
import { dialMessage } from "./dial-message.ts";
import { handBack, sendRequest } from "./forward-request.ts";
import { hostPort } from "./kubelet-address.ts";
import { parseLogOptions } from "./log-options.ts";
import { refusedLog } from "./refused-log.ts";

/** The maximum length of a refusal that is passed on. */
const longestRefusal = 50_000;

export function logConnection(options: KubeletConnectionOptions): ConnectSubresource {
  const { clock = systemClock } = options;
  return {
    how: "connect",
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
      let answer: IncomingMessage;
      try {
        const headers = { "user-agent": request.headers["user-agent"] ?? "" };
        answer = await sendRequest(kubelet, { method: "GET", path, headers }, exchange);
      } catch (error) {
        if (response.destroyed) return;
        context.signal.throwIfAborted();
        throw describe(base + path, dialMessage(error, kubelet));
      }
      const status = answer.statusCode ?? 0;
      if (status < 200 || status > 206) {
        const elsewhere = status < 400 ? answer.headers.location : undefined;
        const body = await textOf(answer);
        if (elsewhere !== undefined) throw describe(new URL(elsewhere, base).href, "redirects forbidden");
        throw refusedLog(status, body, ref.name);
      }
      response.writeHead(200, { "content-type": "text/plain" });
      await handBack(answer, exchange);
    },
  };
}

/** The beginning of a refusal. What is cut off or breaks off is not worth another failure. */
async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= longestRefusal) break;
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, longestRefusal).toString();
}
