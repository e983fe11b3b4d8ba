import { systemClock } from "../../lib/base/clock.ts";
import type { Pod } from "../../lib/model/pod.ts";
import type { ConnectSubresource, ObjectRef, RequestContext } from "../definition.ts";
import { badRequest, forbidden } from "../rest/problems.ts";
import { StatusError } from "../status-error.ts";
import { type KubeletConnectionOptions, kubeletOf, podOf, queryOf } from "./connection-options.ts";
import { chooseContainer } from "./container-choice.ts";
import { unreachable } from "./dial-message.ts";
import { forwardUpgrade } from "./forward-upgrade.ts";
import { requestHeaders } from "./forwarded-headers.ts";
import { encodeQuery, flag, parseInteger } from "./query-values.ts";

type StreamName = "exec" | "attach" | "portforward";

/** Path and query at the kubelet. */
const targets: Readonly<Record<StreamName, (pod: Pod, ref: ObjectRef, query: URLSearchParams) => string>> = {
  exec: (pod, ref, query) => `/exec/${containerPath(pod, ref, query)}${execQuery(query)}`,
  attach: (pod, ref, query) => `/attach/${containerPath(pod, ref, query)}${attachQuery(query)}`,
  portforward: (_, ref, query) => `/portForward/${ref.namespace}/${ref.name}${portForwardQuery(query)}`,
};

function containerPath(pod: Pod, ref: ObjectRef, query: URLSearchParams): string {
  const container = chooseContainer(ref.name, pod.spec, query.get("container") ?? "");
  return `${ref.namespace}/${ref.name}/${container}`;
}

/** Streams over SPDY or WebSocket, passed through between client and kubelet. */
export function streamConnection(name: StreamName, options: KubeletConnectionOptions): ConnectSubresource {
  const { clock = systemClock } = options;
  return {
    type: "connect",
    verbs: ["get", "create"],
    async connect(ref, _rest, given, context) {
      const { request } = given;
      if (request.method === "GET") await mayCreate(name, ref, context, options);
      const pod = await podOf(context, ref);
      const path = targets[name](pod, ref, queryOf(request.url));
      if (!pod.spec.nodeName) throw badRequest(`pod ${ref.name} does not have a host assigned`);
      const kubelet = await kubeletOf(context, pod.spec.nodeName, options);
      if (given.kind === "request") throw badRequest("Upgrade request required");
      const { socket, head } = given;
      const headers = requestHeaders(request, true);
      const requested = { method: request.method ?? "GET", path, headers };
      try {
        await forwardUpgrade(kubelet, requested, { socket, head, signal: context.signal, clock });
      } catch (error) {
        if (socket.destroyed) return;
        context.signal.throwIfAborted();
        throw error instanceof StatusError ? error : unreachable(error, kubelet);
      }
    },
  };
}

/** SPDY starts with a POST and WebSocket with a GET; both require the same permission. */
async function mayCreate(
  subresource: StreamName,
  { namespace, name }: ObjectRef,
  { caller }: RequestContext,
  { authorizer }: KubeletConnectionOptions,
): Promise<void> {
  const attributes = {
    verb: "create",
    group: "",
    version: "v1",
    resource: "pods",
    subresource,
    namespace,
    name,
  };
  const decision = await authorizer.allows(caller, attributes);
  if (!decision.allowed) throw forbidden({ name: "pods", group: "" }, "pods", name, decision.reason ?? "");
}

const streams = [
  ["stdin", "input"],
  ["stdout", "output"],
  ["stderr", "error"],
  ["tty", "tty"],
] as const;

/** Maps the API's parameter names to the kubelet's: stdin to input, and so on. */
export function execQuery(query: URLSearchParams): string {
  const forwarded = streamsOf(query);
  for (const argument of query.getAll("command")) forwarded.append("command", argument);
  return encodeQuery(forwarded);
}

export function attachQuery(query: URLSearchParams): string {
  return encodeQuery(streamsOf(query));
}

function streamsOf(query: URLSearchParams): URLSearchParams {
  const forwarded = new URLSearchParams();
  for (const [name, kubeletName] of streams) if (flag(query, name)) forwarded.append(kubeletName, "1");
  return forwarded;
}

export function portForwardQuery(query: URLSearchParams): string {
  const ports = query.getAll("ports").map((port) => {
    const number = parseInteger(port);
    if (number > 0x7fffffffn || number < -0x80000000n)
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(port)}: value out of range`);
    return String(number);
  });
  return encodeQuery(new URLSearchParams(ports.length > 0 ? { port: ports.join(",") } : {}));
}
