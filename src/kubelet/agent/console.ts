import { X509Certificate } from "node:crypto";
import { isIPv6 } from "node:net";
import type { ConsoleAccess, NodeConsole } from "../../console/console-node.ts";
import { whenAborted } from "../../lib/base/abort.ts";
import type { Component } from "../../lib/base/component.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { ServingCertificate } from "../certs/serving-certificate.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import { type AccessFilter, allowAll } from "../server/auth/node-access.ts";
import { AgentServer } from "../server/https/server.ts";
import { replyJson } from "../server/replies.ts";
import type { Route } from "../server/route.ts";
import type { AgentCore } from "./agent-core.ts";
import { type ConsoleParts, consoleNode } from "./console-node.ts";
import type { KubeletServer } from "./kubelet-server.ts";

/** The console as the agent serves it. */
export interface ConsoleServing {
  readonly handlers: Pick<EventHandlers, "console">;
  readonly components: readonly Component[];
  /** On the local socket: a link that logs in once. */
  readonly localRoutes: readonly Route[];
  /** For the kubelet API, with its authentication and authorization. Undefined if the console has a port of its own. */
  route(access: AccessFilter): Route | undefined;
  /** The kubelet API that has this route. */
  servedBy(server: KubeletServer): void;
  link(): string;
}

/** Undefined unless it is enabled. */
export function nodeConsole(core: AgentCore, parts: ConsoleParts): ConsoleServing | undefined {
  const { console: options } = core.options;
  if (!options) return undefined;
  const { loopbackPort } = options;
  const isLoopback = loopbackPort !== undefined;
  let access: ConsoleAccess | undefined;
  let kubeletApi: KubeletServer | undefined;
  const origins = () =>
    isLoopback
      ? // Not localhost: another process may listen on the same port of ::1.
        originsOf("http", ["127.0.0.1"], server?.port)
      : originsOf("https", hostsOf(core, parts.certificate), kubeletApi?.port());
  const console = options.create(
    consoleNode(core, parts, {
      origins,
      linkCommand: options.linkCommand,
      access: () => access,
    }),
  );
  const server = isLoopback
    ? new AgentServer({
        name: "console",
        address: "127.0.0.1",
        port: loopbackPort,
        routes: [consoleRoute(console)],
        access: allowAll,
        clock: core.clock,
        logger: core.logger,
        // Its requests do not belong to the kubelet API.
        metrics: createMetrics(),
      })
    : undefined;
  const link = () => `${origins()[0] ?? ""}${console.link()}`;
  return {
    handlers: { console: consoleHandlers(console) },
    // Stopped in reverse: streams end before the server that would wait for them.
    components: [...(server ? [server] : []), consoleComponent(console)],
    localRoutes: [
      {
        method: "POST",
        path: "/console-link",
        attributes: () => ({ verb: "create", subresources: ["proxy"] }),
        handle: async ({ response }) => replyJson(response, { link: link() }),
      },
    ],
    route(filter) {
      if (isLoopback) return undefined;
      const { authenticate, allows } = filter;
      if (authenticate && allows)
        access = {
          authenticate: (request) => authenticate(request),
          allows: (user, permission) => allows(user, permission),
        };
      return consoleRoute(console);
    },
    servedBy(api) {
      kubeletApi = api;
    },
    link,
  };
}

/** The console checks sessions and permissions itself: the page and the login need none. */
function consoleRoute(console: NodeConsole): Route {
  return {
    method: "*",
    path: "/console/{path...}",
    checksAccess: true,
    attributes: () => ({ verb: "get", subresources: ["proxy"] }),
    handle: (exchange) => console.handle(exchange),
    upgrade: (exchange) => console.upgrade(exchange),
  };
}

/** Ends its streams before the server stops, which would wait for them. */
function consoleComponent(console: NodeConsole): Component {
  const done = Promise.withResolvers<void>();
  return {
    name: "console",
    done: done.promise,
    async start(signal) {
      whenAborted(signal, () => {
        console.stop();
        done.resolve();
      });
    },
  };
}

function consoleHandlers(console: NodeConsole): EventHandlers["console"] {
  const podChanged = ({ uid }: { readonly uid: PodUid }) => console.podChanged(uid);
  const nodeChanged = () => console.nodeChanged();
  return {
    "runtime-observed": podChanged,
    "post-start-done": podChanged,
    "probe-result": podChanged,
    "worker-changed": podChanged,
    "worker-step": podChanged,
    "pull-progress": podChanged,
    "status-changed": podChanged,
    "mirror-changed": podChanged,
    "worker-gone": ({ uid }) => console.podRemoved(uid),
    "runtime-state": nodeChanged,
    "node-changed": nodeChanged,
    "api-reconnected": nodeChanged,
    "pressure-changed": nodeChanged,
    "devices-changed": nodeChanged,
    "shutdown-changed": nodeChanged,
    "event-recorded": ({ event }) => console.event(event),
  };
}

const loopbackHosts = ["127.0.0.1", "localhost", "[::1]"];

/** Names of this node: a browser that sends any other was sent here by DNS rebinding. */
function hostsOf(
  { config, node, hostIps }: AgentCore,
  certificate: ServingCertificate | undefined,
): string[] {
  const names = dnsNamesOf(certificate?.current()?.cert);
  const addresses = hostIps().map((ip) => (isIPv6(ip) ? `[${ip}]` : ip));
  const isAny = config.address === "0.0.0.0" || config.address === "::";
  const own = isIPv6(config.address) ? `[${config.address}]` : config.address;
  return [...new Set([...(isAny ? [] : [own]), ...addresses, node.name, ...names, ...loopbackHosts])];
}

function dnsNamesOf(pem: string | undefined): string[] {
  if (pem === undefined) return [];
  const names = new X509Certificate(pem).subjectAltName?.split(", ") ?? [];
  return names.filter((name) => /^DNS:[\w.-]+$/.test(name)).map((name) => name.slice("DNS:".length));
}

function originsOf(scheme: "http" | "https", hosts: readonly string[], port: number | undefined): string[] {
  const isDefault = port === (scheme === "https" ? 443 : 80);
  return hosts.map((host) => `${scheme}://${host.toLowerCase()}${isDefault ? "" : `:${port}`}`);
}
